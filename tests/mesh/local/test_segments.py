"""The snapshot thread: no caller waits for it, it loses almost nothing, and it survives disk errors."""

import itertools
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from mesh.errors import MeshTimeout
from mesh.local import segments
from mesh.local.segmentfiles import OpenSegment
from mesh.local.segments import WAITING, SegmentLog
from mesh.snapshots import segment as segment_module
from tests.mesh.local.snapshotting import Told, names, numbers, put_unfinished
from tests.mesh.snapshots.lines import HOUR, UUID, line, segment
from tests.seeds import scenarios
from tests.waiting import LIMIT, until

PLENTY = 10**9
WRITING = """
import sys
from pathlib import Path
from mesh.local.segments import SegmentLog
from tests.mesh.snapshots.lines import UUID, line
log = SegmentLog(Path(sys.argv[1]), "heron", UUID, 6, 10**9, print)
"""
# Writes until the process ends, at the pace of the disk, so that nothing is lost.
FOR_EVER = """
import time
number = 0
while True:
    number += 1
    log.record(line(number, text="x" * 1000))
    if number % 100 == 0:
        while log._lines.qsize() > 1000:
            time.sleep(0.001)
        print(number, flush=True)
"""
# Limits files to 50,000 bytes, and then removes the limit.
WITHOUT_ROOM = """
import json, resource, time
from mesh.local import segmentwriter
segmentwriter.AGAIN = 0.0
said = []
log._writer.troubles.tell = lambda level, text: said.append(text)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
number = 0
while log.counters()["snapshot_lost"] == 0:
    number += 1
    log.record(line(number))
    if log._lines.qsize() > 100:
        time.sleep(0.001)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
number += 1
log.record(line(number))
log.close(600)
print(json.dumps({"number": number, "said": said, **log.counters()}))
"""

Start = Callable[..., SegmentLog]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "snapshots"


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def start(place: Path, told: Told) -> Iterator[Start]:
    logs: list[SegmentLog] = []

    def started(boot: int = 7, limit: int = PLENTY, tell: Callable[[str, str], None] = told) -> SegmentLog:
        logs.append(SegmentLog(place, "heron", UUID, boot, limit, tell))
        return logs[-1]

    yield started
    for log in logs:
        log.close(LIMIT)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Block writes to the disk until the test sets the event."""
    opened = threading.Event()
    write = OpenSegment.write

    def wait(self: OpenSegment, lines: Any) -> None:
        assert opened.wait(LIMIT)
        write(self, lines)

    monkeypatch.setattr(OpenSegment, "write", wait)
    yield opened
    opened.set()


def content(place: Path) -> bytes:
    """Return the content of all closed segments, in the order in which they were written."""
    paths = sorted(place.rglob("heron-*.jsonl"), key=lambda path: int(path.stem.rpartition("-")[2]))
    return b"".join(path.read_bytes() for path in paths)


def test_what_was_recorded_is_there_after_close(start: Start, place: Path, told: Told) -> None:
    log = start()
    for number in range(1, 101):
        log.record(line(number))
    log.close(LIMIT)
    log.close(LIMIT)
    assert names(place) == ["heron-1a2b3c4d-7-1.jsonl"]
    assert numbers(content(place)) == [*range(1, 101)]
    assert log.counters() == {
        "snapshot_lines": 100,
        "snapshot_bytes": len(content(place)),
        "snapshot_segments": 1,
        "snapshot_lost": 0,
        "snapshot_dropped": 0,
    }
    assert told == []


def test_a_line_is_with_the_operating_system_a_moment_later(start: Start, place: Path) -> None:
    log = start()
    path = place / HOUR / segment(1).name.unfinished
    log.record(line(1))
    until(lambda: path.exists() and path.read_bytes().count(b"\n") == 1)
    log.record(line(2))
    until(lambda: path.read_bytes().count(b"\n") == 2)


def test_a_segment_appears_by_itself_when_its_time_is_over(
    start: Start, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_module, "SECONDS", 0.05)
    log = start()
    log.record(line(1))
    until(lambda: log.counters()["snapshot_segments"] == 1)
    log.record(line(2))
    until(lambda: log.counters()["snapshot_segments"] == 2)
    assert names(place) == ["heron-1a2b3c4d-7-1.jsonl", "heron-1a2b3c4d-7-2.jsonl"]


def test_many_lines_become_many_segments_of_about_a_mebibyte(start: Start, place: Path) -> None:
    log = start()
    for number in range(1, 3001):
        log.record(line(number, text="x" * 1000))
    log.close(LIMIT)
    sizes = [path.stat().st_size for path in place.rglob("*.jsonl")]
    assert len(sizes) >= 2
    assert max(sizes) < 3 * 2**20
    assert numbers(content(place)) == [*range(1, 3001)]


def test_a_disk_that_hangs_keeps_nobody_waiting(
    start: Start, gate: threading.Event, place: Path, told: Told
) -> None:
    log = start()
    count = 2 * WAITING
    for number in range(1, count + 1):
        log.record(line(number))
    lost = log.counters()["snapshot_lost"]
    assert count - WAITING - segments.BATCH <= lost <= count - WAITING
    with pytest.raises(MeshTimeout, match="were not written within 0"):
        log.close(0.0)
    gate.set()
    log.close(LIMIT)
    found = numbers(content(place))
    assert found[:WAITING] == [*range(1, WAITING + 1)]  # the first batch makes room for later lines
    assert found == sorted(set(found)) and len(found) == count - lost
    assert log.counters()["snapshot_lines"] == count - lost
    assert told.take().count("can be written; the excess is lost") == 1


def test_what_comes_after_close_is_lost_and_counted(start: Start) -> None:
    log = start()
    log.close(LIMIT)
    log.record(line(1))
    assert log.counters()["snapshot_lost"] == 1


def test_whoever_cannot_be_told_does_not_end_it(start: Start, place: Path) -> None:
    put_unfinished(place, segment(1, boot=6), b"{}\n")  # this would be reported

    def gone(level: str, text: str) -> None:
        raise RuntimeError("Event loop is closed")

    log = start(tell=gone)
    log.record(line(1))
    log.close(LIMIT)
    assert names(place) == ["heron-1a2b3c4d-6-1.jsonl", "heron-1a2b3c4d-7-1.jsonl"]


def test_while_nothing_comes_it_sleeps(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeps: list[float | None] = []

    class Lines(SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            sleeps.append(timeout)
            return super().get(block, timeout)

    monkeypatch.setattr(segments, "SimpleQueue", Lines)
    log = start()
    until(lambda: sleeps)
    log.record(line(1))
    until(lambda: len(sleeps) > 1)
    first, second, *_ = sleeps
    assert first is None
    assert second is not None and segment_module.SECONDS / 2 < second <= segment_module.SECONDS


@pytest.mark.parametrize("progress", scenarios([23, 1, 7, 60, 104]))
def test_a_killed_node_loses_no_more_than_a_moment(
    start: Start, place: Path, told: Told, progress: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITING + FOR_EVER, str(place)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process:
        said = [int(row) for row in itertools.islice(process.stdout, progress)]
        process.send_signal(signal.SIGKILL)
    assert len(said) == progress
    unfinished = [name for name in names(place) if name.startswith("_")]
    assert len(unfinished) <= 1
    start().close(LIMIT)
    assert not [name for name in names(place) if name.startswith("_")]
    found = numbers(content(place))
    assert found == [*range(1, len(found) + 1)]
    assert len(found) >= said[-1] - 1000 - segments.BATCH
    assert len(told) <= len(unfinished)  # an empty file is not reported


@pytest.mark.slow
def test_when_a_real_file_can_grow_no_further_whole_lines_are_kept(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITING + WITHOUT_ROOM, str(place)], capture_output=True, text=True, check=True
    )
    it = json.loads(done.stdout)
    found = numbers(content(place))
    assert found == sorted(set(found))
    assert len(found) == it["snapshot_lines"]
    assert it["snapshot_lines"] + it["snapshot_lost"] == it["number"]
    assert it["snapshot_lost"] > 0 and it["number"] == found[-1]
    assert [text for text in it["said"] if "File too large" in text] == it["said"]
    assert len(it["said"]) == 1
    assert not [name for name in names(place) if name.startswith("_")]
    sizes = [path.stat().st_size for path in place.rglob("*.jsonl")]
    assert 0 < max(sizes) <= 50_000
