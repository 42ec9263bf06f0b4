"""The lock of a history: one writer at a time, and the end of a killed writer's lock."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mesh.history import lock
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address
from mesh.history.lock import Lock, locked
from tests.waiting import until

pytestmark = pytest.mark.spark


@pytest.fixture
def files(session: SparkSession) -> Files:
    return Files(session)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "BEAT", 0.05)
    monkeypatch.setattr(lock, "LOOK", 0.02)
    monkeypatch.setattr(lock, "STALE", 1.0)


def sign(place: Path, **fields: Any) -> Path:
    """Write the lock of another writer, with these fields."""
    who = {"pid": 1, "host": "elsewhere", "since": "2026-01-02T03:00:00+00:00", "token": "x", "beats": 1}
    path = place / "_lock"
    path.write_text(json.dumps(who | fields))
    return path


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[Path]:
    """The lock of a writer on another machine, which beats all the time."""
    ended = threading.Event()

    def beat() -> None:
        beats = 0
        while not ended.wait(0.05):
            sign(tmp_path, beats=(beats := beats + 1))

    path = sign(tmp_path)
    thread = threading.Thread(target=beat)
    thread.start()
    yield path
    ended.set()
    thread.join()


def test_it_is_there_while_it_is_held_and_then_it_is_gone(files: Files, tmp_path: Path) -> None:
    with locked(files, address(str(tmp_path))):
        assert json.loads((tmp_path / "_lock").read_text())["host"] == socket.gethostname()
    assert list(tmp_path.iterdir()) == []


def test_a_beat_that_is_under_way_at_the_end_does_not_bring_it_back(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, overwrite = threading.Event(), files.overwrite

    def slowly(path: str, text: str) -> None:
        began.set()
        time.sleep(0.3)
        overwrite(path, text)

    monkeypatch.setattr(files, "overwrite", slowly)
    with locked(files, address(str(tmp_path))):
        began.wait()
    time.sleep(0.5)
    assert list(tmp_path.iterdir()) == []


def test_who_is_alive_keeps_it_and_is_named(files: Files, tmp_path: Path, alive: Path) -> None:
    with pytest.raises(SparkJobError, match=r"process 1 on elsewhere, since 2026.*\[IN_USE\]"):
        Lock(files, address(str(tmp_path))).acquire()
    assert json.loads(alive.read_text())["token"] == "x"


def ended_process() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


def test_one_that_was_killed_here_bars_nobody(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "STALE", 1e6)
    sign(tmp_path, pid=ended_process(), host=socket.gethostname(), namespace=lock.namespace())
    with locked(files, address(str(tmp_path))):
        pass


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"pid": "x", "host": 5}', None])
def test_one_that_was_killed_elsewhere_or_left_rubbish_bars_for_a_while(
    files: Files, tmp_path: Path, text: str | None
) -> None:
    path = sign(tmp_path)
    if text is not None:
        path.write_text(text)
    with locked(files, address(str(tmp_path))) as mine:
        mine.check_held()


def test_who_stood_still_for_long_and_lost_it_does_not_write_any_more(files: Files, tmp_path: Path) -> None:
    with locked(files, address(str(tmp_path))) as mine:
        mine.check_held()
        path = sign(tmp_path, token="another's")
        until(lambda: mine._lost)
    assert json.loads(path.read_text())["token"] == "another's"


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        (lambda path: sign(path.parent), r"process 1 on elsewhere, since 2026.*more than 30 s"),
        (Path.unlink, r"_lock was deleted"),
    ],
    ids=["by another", "away"],
)
def test_trial_B8_who_wakes_up_finds_out_before_its_next_beat_and_says_what_became_of_its_lock(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: Callable[[Path], object], why: str
) -> None:
    monkeypatch.setattr(lock, "BEAT", 1e6)
    monkeypatch.setattr(lock, "STALE", 30.0)
    with locked(files, address(str(tmp_path))) as mine:
        mine.check_held()
        taken(tmp_path / "_lock")
        with pytest.raises(SparkJobError, match=rf"{why}.*\[LOCK_LOST\]"):
            mine.check_held()
        path = sign(tmp_path)
    assert path.exists()  # the lock of another writer stays


def test_who_ends_at_once_after_it_woke_up_leaves_the_lock_of_another(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "BEAT", 1e6)
    with locked(files, address(str(tmp_path))):
        path = sign(tmp_path)
    assert path.exists()
