"""Calls of `tend` in the store's thread, while no commit waits."""

import shutil
import threading
from collections.abc import Hashable
from pathlib import Path
from queue import Queue

import pytest

from mesh.errors import StoreError
from mesh.operations import Append
from mesh.store.memory import MemoryStore
from mesh.store.room import DiskSpace
from mesh.store.worker import StoreWorker
from tests.waiting import LIMIT


class Tended:
    """A worker, its reports, and its calls of `tend`, which returns each of `pauses` and then None."""

    def __init__(self, *pauses: float | Exception) -> None:
        self.calls: Queue[str] = Queue()
        self.answers: Queue[tuple[list[Hashable], StoreError | None]] = Queue()
        self._pauses = list(pauses)
        self.worker = StoreWorker(MemoryStore(), lambda *told: self.answers.put(told), self._tend)
        assert self.calls.empty(), "until it begins the store is somebody else's"
        self.worker.start()
        self.worker.start()

    def _tend(self) -> float | None:
        self.calls.put(threading.current_thread().name)
        pause = self._pauses.pop(0) if self._pauses else None
        if isinstance(pause, Exception):
            raise pause
        return pause


def test_it_is_called_in_the_thread_before_each_wait_and_after_as_long_as_it_says() -> None:
    tended = Tended(0.001, 0.001)
    assert [tended.calls.get(timeout=LIMIT) for _ in range(3)] == ["mesh-store"] * 3
    tended.worker.submit("a", [Append(1, b"", b"")])
    assert tended.answers.get(timeout=LIMIT) == (["a"], None)
    assert tended.calls.get(timeout=LIMIT)
    tended.worker.close(LIMIT)
    assert tended.calls.empty()


def test_what_it_raises_is_told_once_of_no_job_and_the_thread_lives() -> None:
    failure = StoreError("the disk failed")
    tended = Tended(failure)
    assert tended.answers.get(timeout=LIMIT) == ([], failure)
    tended.worker.submit("a", [Append(1, b"", b"")])
    assert tended.answers.get(timeout=LIMIT) == (["a"], None)
    tended.worker.close(LIMIT)
    assert tended.calls.qsize() == 1, "it is not asked again"


def test_an_unexpected_error_of_it_is_a_store_error() -> None:
    tended = Tended(OSError("no such device"))
    tokens, error = tended.answers.get(timeout=LIMIT)
    assert tokens == [] and isinstance(error, StoreError) and "no such device" in str(error)
    tended.worker.close(LIMIT)


def test_a_directory_that_was_removed_is_no_mistake_to_be_reported(tmp_path: Path) -> None:
    room = DiskSpace(tmp_path, 1, lambda: 0, lambda level, text: None)
    shutil.rmtree(tmp_path)
    with pytest.raises(FileNotFoundError) as gone:
        room.measure()
    tended = Tended(gone.value)
    tokens, error = tended.answers.get(timeout=LIMIT)
    assert tokens == [] and error is not None and f"{tmp_path} was removed" in error.what
    assert "report" not in str(error) and "mesh backup restore" in error.hint
    tended.worker.close(LIMIT)
