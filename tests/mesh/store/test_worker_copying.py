"""Copies of a store that is in use."""

import errno
import threading
from pathlib import Path
from unittest.mock import patch

import pytest

from mesh.errors import StoreError
from mesh.local.backup import DONE, FOLDER
from mesh.local.private import write_private
from mesh.operations import FIRST_POSITION, Append
from mesh.shell.backing import Backing
from mesh.store.base import Untended
from mesh.store.memory import MemoryStore
from mesh.store.sqlite import SQLiteStore
from mesh.store.worker import StoreWorker
from tests.mesh.running import LIMIT, until

BODY = bytes(100_000)


class Copies:
    """The results of the copies that a worker makes."""

    def __init__(self) -> None:
        self.found: list[StoreError | None] = []
        self.is_over = threading.Event()

    def done(self, error: StoreError | None) -> None:
        self.found.append(error)
        self.is_over.set()


def append(number: int) -> list[Append]:
    return [Append(FIRST_POSITION + number, b"h", BODY)]


def positions(path: Path) -> list[int]:
    store = SQLiteStore(path)
    found = [position for position, _, _ in store.load().envelopes]
    store.close()
    return found


def test_what_is_committed_meanwhile_is_in_the_copy_and_waits_for_nothing(tmp_path: Path) -> None:
    store, copies, committed = SQLiteStore(tmp_path / "store"), Copies(), threading.Event()
    for number in range(60):  # enough for several steps
        store.commit(append(number))
    worker: StoreWorker

    def copy(path: str, meanwhile: object) -> None:
        calls = 0

        def first() -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                worker.submit("one", append(60))
            meanwhile()  # type: ignore[operator]

        store.copy(path, first)
        assert calls > 1 and committed.is_set()

    worker = StoreWorker(store, lambda tokens, error: committed.set(), copy=copy)
    worker.copy(tmp_path / "copy", copies.done)
    assert copies.is_over.wait(LIMIT) and copies.found == [None]
    worker.close(LIMIT)
    assert positions(tmp_path / "copy") == [FIRST_POSITION + number for number in range(61)]
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0


def test_a_second_copy_meanwhile_is_refused(tmp_path: Path) -> None:
    copies, go_on = Copies(), threading.Event()

    def copy(path: str, meanwhile: object) -> None:
        go_on.wait(LIMIT)
        meanwhile()  # type: ignore[operator]

    worker = StoreWorker(MemoryStore(), lambda *_: None, copy=copy)
    worker.copy(tmp_path / "one", copies.done)
    worker.copy(tmp_path / "two", copies.done)
    go_on.set()
    until(lambda: len(copies.found) == 2)
    worker.close(LIMIT)
    assert sorted(error.code if error else "" for error in copies.found) == ["", "BUSY"]


def test_the_end_of_a_node_is_not_kept_waiting_by_a_copy(tmp_path: Path) -> None:
    copies, has_begun, ends = Copies(), threading.Event(), threading.Event()

    def copy(path: str, meanwhile: object) -> None:
        has_begun.set()
        while True:  # this copy never ends by itself
            ends.wait(LIMIT)
            meanwhile()  # type: ignore[operator]

    worker = StoreWorker(MemoryStore(), lambda *_: None, copy=copy)
    worker.copy(tmp_path / "copy", copies.done)
    assert has_begun.wait(LIMIT)
    ends.set()
    worker.close(LIMIT)
    [error] = copies.found
    assert error is not None and error.code == "ENDED"


def test_a_copy_that_has_no_place_hurts_nobody(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store")
    for place in (tmp_path / "nowhere" / "copy", tmp_path / "store"):
        with pytest.raises(StoreError, match=r"copy to .* failed"):
            store.copy(str(place))
    store.commit(append(0))
    store.close()
    assert positions(tmp_path / "store") == [FIRST_POSITION]


def test_of_what_is_no_file_no_backup_is_made_and_that_is_said(tmp_path: Path) -> None:
    store = Untended(MemoryStore())
    worker = StoreWorker(store, lambda *_: None, copy=store.copy)
    backing = Backing(tmp_path, {"": worker})
    backing.start_copy()
    until(lambda: not backing._under_way.locked())
    worker.close(LIMIT)
    assert b"only an SQLite store has a backup" in (tmp_path / "backup" / "done.json").read_bytes()


def test_a_backup_whose_report_finds_no_space_is_removed_and_reported(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store")
    worker = StoreWorker(store, lambda *_: None, copy=store.copy)
    backing, folder, failed = Backing(tmp_path, {"": worker}), tmp_path / FOLDER, list[Path]()

    def full_once(path: Path, content: bytes, *, durable: bool) -> None:
        if not failed:
            failed.extend(folder.iterdir())
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_private(path, content, durable=durable)

    with patch("mesh.shell.backing.write_private", full_once):
        backing.start_copy()
        until(lambda: not backing._under_way.locked())
    worker.close(LIMIT)
    assert failed, "there was a copy"
    assert [path.name for path in folder.iterdir()] == [DONE]
    assert b"No space left on device" in (folder / DONE).read_bytes()
