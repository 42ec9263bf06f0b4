"""The error of a process that runs out of descriptors, in place of an abort by ZeroMQ."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mesh.errors import DataDirRefused, LocalError
from mesh.local.descriptors import CODE, check_descriptors, of_system
from mesh.local.localnodes import running_nodes


def with_room_for(count: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Allow the process `count` more descriptors, and return the list of the open ones."""
    real: tuple[Callable[..., int], Callable[[int], None]] = (os.open, os.close)
    taken: list[int] = []

    def opened(*args: object) -> int:
        if len(taken) >= count:
            raise OSError(errno.EMFILE, "Too many open files")
        taken.append(real[0](*args))
        return taken[-1]

    def closed(number: int) -> None:
        taken.remove(number)
        real[1](number)

    monkeypatch.setattr("os.open", opened)
    monkeypatch.setattr("os.close", closed)
    return taken


@pytest.mark.parametrize("room", [2, 3, 4])
def test_so_many_are_there_or_it_is_said_and_none_stays_taken(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = with_room_for(room, monkeypatch)
    if room >= 3:
        check_descriptors(3)
    else:
        with pytest.raises(LocalError, match="too few file descriptors left") as caught:
            check_descriptors(3)
        assert caught.value.code == CODE and "ulimit" in caught.value.hint
    assert taken == []


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_another_error_of_the_system_keeps_its_words(number: int) -> None:
    made = of_system(OSError(number, os.strerror(number)), "reading /x")
    assert isinstance(made, DataDirRefused) and os.strerror(number) in made.what and "/x" in made.what


@pytest.mark.parametrize(
    "where", ["pathlib.Path.glob", "pathlib.Path.read_bytes", "mesh.local.localnodes.try_lock"]
)
def test_nodes_that_cannot_be_looked_for_are_not_called_gone(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "nodes" / "heron.json"
    file.parent.mkdir()
    file.write_text(
        '{"name":"heron","uuid":"00","boot":1,"pid":1,"ipc":null,"tcp":null,"data":"/nowhere","cluster":"x"}'
    )

    def none_left(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(where, none_left)
    with pytest.raises(LocalError) as caught:
        running_nodes(tmp_path)
    assert caught.value.code == CODE and file.exists()
