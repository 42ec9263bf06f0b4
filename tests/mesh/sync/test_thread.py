"""The thread of a client whose loop cannot start: it ends, and the error gives the reason."""

import asyncio
import errno

import pytest

from mesh.errors import LocalError
from mesh.local.descriptors import CODE, of_system
from mesh.sync.thread import LoopThread


def none_left(*_: object, **__: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_loop_that_cannot_be_made_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.Runner, "get_loop", none_left)
    thread = LoopThread()
    with pytest.raises(OSError, match="Too many open files"):
        thread.start()
    assert not thread.is_open
    thread.close()


def test_without_descriptors_no_thread_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(needed: int) -> None:
        raise of_system(OSError(errno.EMFILE, ""), "")

    monkeypatch.setattr("mesh.sync.thread.check_descriptors", short)
    thread = LoopThread()
    with pytest.raises(LocalError) as caught:
        thread.start()
    assert caught.value.code == CODE and not thread._thread.is_alive()
