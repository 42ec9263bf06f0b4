"""Copies of segments in another place: each is made once and whole, and only copied ones count as safe."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mesh.errors import DataDirRefused
from mesh.local import syncing
from mesh.local.segmentfiles import find, read_marker
from mesh.local.syncing import SyncTally, sync
from mesh.snapshots.marker import SYNCED, Marker
from tests.mesh.local.snapshotting import BROKEN, FULL, faulty_os, files, put, put_unfinished
from tests.mesh.snapshots.lines import HOUR, segment
from tests.waiting import until

LATER = "date=2026-02-01/hour=00"
COPYING = """
import sys
from pathlib import Path
from mesh.local.syncing import SyncTally, sync
print(flush=True)
sync(Path(sys.argv[1]), Path(sys.argv[2]), SyncTally())
"""


class Way:
    """A node's directory, and the one to which it is copied."""

    def __init__(self, top: Path) -> None:
        self.place, self.to = top / "from", top / "to"
        self.place.mkdir()

    def sync(self) -> SyncTally:
        tally = SyncTally()
        sync(self.place, self.to, tally)
        return tally

    def marker(self) -> Marker:
        found, wrong = read_marker(self.place / SYNCED)
        assert wrong == ""
        return found

    def safe(self, *numbers: int) -> list[int]:
        marker = self.marker()
        return [number for number in numbers if marker.covers(segment(number).name)]


@pytest.fixture
def way(tmp_path: Path) -> Way:
    return Way(tmp_path)


def test_closed_segments_are_copied_to_the_same_path_and_are_safe_then(way: Way) -> None:
    put(way.place, segment(1), b'{"line":1}\n')
    put(way.place, segment(2, hour=LATER, size=50))
    put(way.place, segment(5, node="wren", uuid8="99999999", size=20))
    put_unfinished(way.place, segment(3), b"{}\n")
    put(way.place, segment(4)).rename(way.place / HOUR / "notes.txt")
    assert way.sync() == SyncTally(copied=3, bytes=81)
    assert files(way.to) == [
        f"{HOUR}/heron-1a2b3c4d-7-1.jsonl",
        f"{HOUR}/wren-99999999-7-5.jsonl",
        f"{LATER}/heron-1a2b3c4d-7-2.jsonl",
    ]
    assert (way.to / segment(1).path).read_bytes() == b'{"line":1}\n'
    assert way.marker().ranges == {"heron-1a2b3c4d-7": ((1, 2),), "wren-99999999-7": ((5, 5),)}


def test_a_second_time_copies_only_what_is_new(way: Way) -> None:
    put(way.place, segment(1))
    way.sync()
    before = (way.to / segment(1).path).stat()
    put(way.place, segment(2))
    assert way.sync() == SyncTally(copied=1, bytes=100, present=1)
    assert way.sync() == SyncTally(present=2)
    assert (way.to / segment(1).path).stat().st_ino == before.st_ino
    assert way.safe(1, 2) == [1, 2]


def test_another_place_gets_all_of_them(way: Way, tmp_path: Path) -> None:
    put(way.place, segment(1))
    way.sync()
    way.to = tmp_path / "elsewhere"
    assert way.sync().copied == 1


def test_without_segments_nothing_is_done(way: Way) -> None:
    assert way.sync() == SyncTally()
    assert not way.to.exists()
    assert not (way.place / SYNCED).exists()


def test_one_that_is_there_with_another_size_is_left_and_named(way: Way) -> None:
    put(way.place, segment(1))
    put(way.to, segment(1, size=70))
    put(way.place, segment(2))
    tally = way.sync()
    assert (tally.copied, tally.present) == (1, 0)
    assert [(it.path, it.code) for it in tally.problems] == [(segment(1).path, "OTHER_SIZE")]
    assert tally.problems[0].text == (
        f"{way.to / segment(1).path} exists with 70 bytes, but {way.place} has 100."
    )
    assert (way.to / segment(1).path).stat().st_size == 70
    assert way.safe(1, 2) == [2]


def test_one_that_cannot_be_read_does_not_keep_the_others(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    put(way.place, segment(1))
    put(way.place, segment(2))
    read = Path.read_bytes

    def damaged(path: Path) -> Any:
        return BROKEN() if path.name == str(segment(1).name) else read(path)

    monkeypatch.setattr(Path, "read_bytes", damaged)
    tally = way.sync()
    assert [(it.path, it.code) for it in tally.problems] == [(segment(1).path, "CANNOT_READ")]
    assert tally.problems[0].text.endswith("-7-1.jsonl cannot be read: Input/output error.")
    assert way.safe(1, 2) == [2]


def test_one_that_its_node_deletes_meanwhile_is_no_problem(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    put(way.place, segment(1))

    def find_and_delete(place: Path) -> Any:
        found = find(place)
        (place / segment(1).path).unlink()
        return found

    monkeypatch.setattr(syncing, "find", find_and_delete)
    assert way.sync() == SyncTally()
    assert way.safe(1) == []


def test_when_the_disk_is_full_nothing_half_is_left_and_what_was_done_counts(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(way.place, segment(1))
    way.sync()
    put(way.place, segment(2, hour=LATER))
    put(way.place, segment(3, hour="date=2026-02-01/hour=01"))
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "os", faulty_os(fsync=FULL))
        tally = way.sync()
    assert (tally.copied, tally.present) == (0, 1)
    assert [(it.path, it.code, it.text) for it in tally.problems] == [
        (
            "",
            "CANNOT_WRITE",
            f"{way.to} cannot be written: No space left on device. The other files were not copied.",
        )
    ]
    assert files(way.to) == [segment(1).path]
    assert way.safe(1, 2, 3) == [1]
    assert way.sync().copied == 2


def test_a_file_in_the_place_of_the_directory_is_named(way: Way) -> None:
    put(way.place, segment(1))
    way.to.write_text("mine")
    (problem,) = way.sync().problems
    assert problem.code == "CANNOT_WRITE"
    assert way.to.read_text() == "mine"


def test_what_a_killed_run_has_left_is_replaced(way: Way) -> None:
    put(way.place, segment(1))
    half = way.to / HOUR / f"{segment(1).name.unfinished}.part"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"y" * 500)
    assert way.sync().copied == 1
    assert files(way.to) == [segment(1).path]


def test_a_copy_that_is_under_way_is_no_segment_that_a_node_has_left(way: Way) -> None:
    put(way.place, segment(1))
    seen: list[str] = []
    fsync = os.fsync

    def look(handle: int) -> None:
        seen.extend(files(way.to))
        fsync(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syncing, "os", faulty_os(fsync=look))
        way.sync()
    assert seen == [f"{HOUR}/_heron-1a2b3c4d-7-1.jsonl.part"]


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_nothing_half_under_a_final_name(way: Way) -> None:
    for number in range(1, 301):
        put(way.place, segment(number, size=50_000))
    process = subprocess.Popen(
        [sys.executable, "-c", COPYING, str(way.place), str(way.to)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process:
        process.stdout.readline()
        until(lambda: files(way.to) or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
    left = files(way.to)
    assert len([path for path in left if path.endswith(".part")]) <= 1
    assert {(way.to / path).stat().st_size for path in left if path.endswith(".jsonl")} <= {50_000}
    tally = way.sync()
    assert tally.copied + tally.present == 300 and tally.problems == []
    assert len(files(way.to)) == 300
    assert way.marker().ranges == {"heron-1a2b3c4d-7": ((1, 300),)}


def test_a_damaged_marker_is_made_anew(way: Way) -> None:
    put(way.place, segment(1))
    way.sync()
    (way.place / SYNCED).write_text("{")
    assert way.sync() == SyncTally(present=1)
    assert way.safe(1) == [1]


def test_boots_of_which_nothing_is_left_are_forgotten(way: Way) -> None:
    old = put(way.place, segment(1, boot=6))
    put(way.place, segment(1))
    way.sync()
    old.unlink()
    way.sync()
    assert way.marker().ranges == {"heron-1a2b3c4d-7": ((1, 1),)}


def test_that_what_is_safe_cannot_be_written_down_is_named(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    put(way.place, segment(1))
    monkeypatch.setattr(syncing, "write_private", FULL)
    tally = way.sync()
    assert tally.copied == 1
    assert [(it.path, it.code) for it in tally.problems] == [(SYNCED, "CANNOT_WRITE")]


def test_nobody_can_copy_a_directory_onto_itself(way: Way, tmp_path: Path) -> None:
    put(way.place, segment(1))
    way.to = tmp_path / "link"
    way.to.symlink_to(way.place)
    with pytest.raises(DataDirRefused, match="to which the snapshots are written") as refusal:
        way.sync()
    assert refusal.value.code == "SAME_PLACE"
    assert not (way.place / SYNCED).exists()


def test_two_do_not_copy_the_same_directory_at_once(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    put(way.place, segment(1))
    refusals: list[DataDirRefused] = []

    def find_while_another_comes(place: Path) -> Any:
        with pytest.raises(DataDirRefused) as refusal:
            sync(place, way.to, SyncTally())
        refusals.append(refusal.value)
        return find(place)

    monkeypatch.setattr(syncing, "find", find_while_another_comes)
    assert way.sync().copied == 1
    assert [it.code for it in refusals] == ["SYNC_RUNS"]


def test_a_directory_that_is_not_there_or_cannot_be_listed_is_refused(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataDirRefused, match="cannot be used: No such file or directory"):
        sync(way.place / "nowhere", way.to, SyncTally())
    monkeypatch.setattr(syncing, "find", BROKEN)
    with pytest.raises(DataDirRefused, match="cannot be used: Input/output error"):
        way.sync()
