"""The choice of a store, and errors that name a store that cannot be opened."""

import contextlib
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.errors import NotAvailable, StoreError
from mesh.operations import Put
from mesh.store.base import NodeStore
from mesh.store.opening import open_guarded, open_store
from tests.waiting import LIMIT


def opened(chosen: str, place: Path, owner: bytes = bytes(16), boot: int = 1) -> NodeStore:
    return open_store(chosen, place, owner, boot, 0, lambda level, text: None)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("memory", {}),
        ("sqlite", {b"k": b"v"}),
        pytest.param("postgres", {b"k": b"v"}, marks=pytest.mark.slow),
    ],
)
def test_each_name_opens_its_store(
    name: str, kept: dict[bytes, bytes], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    owner = secrets.token_bytes(16)
    chosen = request.getfixturevalue("postgres").url() if name == "postgres" else name
    store = opened(chosen, tmp_path, owner)
    store.load()
    store.commit([Put("peer", b"k", b"v")])
    store.close()
    store = opened(chosen, tmp_path, owner, boot=2)
    assert store.load().tables["peer"] == kept
    store.close()


def test_a_file_that_is_not_read_any_more_is_told_of(tmp_path: Path) -> None:
    said: list[str] = []
    for name, told in [("memory", False), ("sqlite", False), ("memory", True)]:
        open_store(name, tmp_path, bytes(16), 1, 0, lambda level, text: said.append(text)).close()
        start = f"{tmp_path / 'store.sqlite'} is not read, because the store is memory"
        assert any(text.startswith(start) for text in said) == told


def test_without_psycopg_it_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mesh.features.postgres.store", "mesh.features.postgres.connection"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with pytest.raises(NotAvailable, match=r"pip install 'heronry\[postgres\]'"):
        opened("postgresql://heron@db/mesh", tmp_path)


def test_nobody_pays_for_psycopg_who_does_not_use_it() -> None:
    program = "import sys, mesh.store.opening; print('psycopg' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT)
    assert result.stdout == "False\n"


def test_a_database_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        opened("postgresql:///mesh?host=/nowhere", tmp_path)


def open_files(directory: Path) -> list[str]:
    """Return the files below `directory` that this process has open."""
    held = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of this listing
            held.append(os.readlink(f"/proc/self/fd/{number}"))
    return [path for path in held if path.startswith(f"{directory}/")]


@pytest.mark.parametrize(
    ("what", "code"), [("witness", "STORE"), ("store.sqlite", "DATA_LOSS"), ("reserve", "STORE")]
)
def test_when_a_part_of_a_store_fails_the_others_are_let_go(tmp_path: Path, what: str, code: str) -> None:
    if what == "store.sqlite":
        (tmp_path / what).write_bytes(b"a letter to a friend\n" * 100)
    else:
        (tmp_path / what).symlink_to("nowhere")  # not followed
    with pytest.raises(StoreError, match=what) as failed:
        open_guarded(tmp_path, bytes(16), 1, 1 << 20, lambda level, text: None)
    assert (failed.value.code, open_files(tmp_path)) == (code, [])
    (tmp_path / what).unlink()
    store = open_guarded(tmp_path, bytes(16), 1, 1 << 20, lambda level, text: None)
    store.load()
    store.close()
