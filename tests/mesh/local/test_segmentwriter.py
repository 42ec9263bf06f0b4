"""The writing of segments: only whole lines, whatever the disk does."""

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from mesh.local import segmentfiles
from mesh.local.segmentwriter import AGAIN, SegmentWriter
from mesh.local.troubles import QUIET
from mesh.snapshots.segment import BYTES, SECONDS, SegmentName
from tests.mesh.local.snapshotting import (
    BROKEN,
    FULL,
    Told,
    faulty_os,
    files,
    mark,
    names,
    numbers,
    put,
    put_unfinished,
)
from tests.mesh.snapshots.lines import HOUR, UUID8, line, segment

FIRST = SegmentName("heron", UUID8, 7, 1)
PLENTY = 10**9


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "snapshots"


@pytest.fixture
def writer(place: Path, told: Told) -> SegmentWriter:
    made = SegmentWriter(place, FIRST, PLENTY, told)
    made.recover_segments(0.0)
    return made


def counts(writer: SegmentWriter) -> tuple[int, int, int]:
    """Return the numbers of lines in segments, of segments, and of lost lines."""
    return writer.lines, writer.segments, writer.lost


def test_a_segment_appears_when_it_is_old_enough(writer: SegmentWriter, place: Path) -> None:
    assert writer.deadline() is None
    writer.write([line(1), line(2)], 100.0)
    assert writer.deadline() == 100.0 + SECONDS
    writer.write([line(3)], 101.0)
    assert files(place) == [f"{HOUR}/_{FIRST}"]
    writer.write([], 100.0 + SECONDS)
    assert files(place) == [f"{HOUR}/{FIRST}"]
    assert numbers((place / HOUR / str(FIRST)).read_bytes()) == [1, 2, 3]
    assert writer.deadline() is None
    assert counts(writer) == (3, 1, 0)
    assert writer.bytes == (place / HOUR / str(FIRST)).stat().st_size


def test_it_appears_when_it_is_large_enough(writer: SegmentWriter, place: Path) -> None:
    writer.write([line(1, text="x" * BYTES)], 100.0)
    assert names(place) == [str(FIRST)]


def test_it_appears_when_no_more_will_come(writer: SegmentWriter, place: Path) -> None:
    writer.write([line(1)], 100.0, last=True)
    assert names(place) == [str(FIRST)]


def test_what_was_written_is_with_the_operating_system_at_once(writer: SegmentWriter, place: Path) -> None:
    writer.write([line(1)], 100.0)
    writer.write([line(2)], 100.0)
    assert numbers((place / HOUR / FIRST.unfinished).read_bytes()) == [1, 2]


def test_the_next_one_has_the_next_number_and_the_hour_of_its_own_first_line(
    writer: SegmentWriter, place: Path
) -> None:
    writer.write([line(1, ts="2026-01-31T23:59:59.999999Z"), line(2, ts="2026-02-01T00:00:00Z")], 100.0)
    writer.write([], 110.0)
    writer.write([line(3, ts="2026-02-01T00:00:10.000000Z")], 110.0, last=True)
    assert files(place) == [
        "date=2026-01-31/hour=23/heron-1a2b3c4d-7-1.jsonl",
        "date=2026-02-01/hour=00/heron-1a2b3c4d-7-2.jsonl",
    ]


def test_without_lines_there_are_no_segments(writer: SegmentWriter, place: Path) -> None:
    writer.write([], 100.0)
    writer.write([], 200.0, last=True)
    assert files(place) == []


def test_nobody_else_may_read_what_it_makes(writer: SegmentWriter, place: Path) -> None:
    writer.write([line(1)], 100.0, last=True)
    made = [place, place / HOUR / "..", place / HOUR, place / HOUR / str(FIRST)]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700, 0o700, 0o700, 0o600]


def test_the_way_to_its_directory_is_made_at_the_start(tmp_path: Path, told: Told) -> None:
    place = tmp_path / "a" / "b" / "snapshots"
    writer = SegmentWriter(place, FIRST, PLENTY, told)
    writer.recover_segments(0.0)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    writer.write([line(1)], 0.0, last=True)
    assert names(place) == [str(FIRST)]
    assert told == []


def test_a_full_disk_costs_lines_and_nothing_else(
    writer: SegmentWriter, place: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([line(1), line(2)], 100.0)
    with monkeypatch.context() as patch:
        left = [20]  # bytes of free space

        def nearly_full(handle: int, content: bytes) -> int:
            size: int = os.write(handle, bytes(content)[: left[0]]) if left[0] else FULL()
            left[0] = 0
            return size

        patch.setattr(segmentfiles, "os", faulty_os(write=nearly_full))
        writer.write([line(3)], 101.0)
    assert names(place) == [str(FIRST)]
    assert numbers((place / HOUR / str(FIRST)).read_bytes()) == [1, 2]
    assert counts(writer) == (2, 1, 1)
    assert told.take() == (
        f"warning: Snapshots cannot be written to {place}: No space left on device. They are lost "
        "until this is fixed; the node retries every 10 s."
    )


def test_after_a_failure_it_waits_before_it_tries_again_and_says_when_it_is_over(
    writer: SegmentWriter, place: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(segmentfiles, "os", faulty_os(write=FULL))
        writer.write([line(1)], 100.0)
        assert files(place) == []
        writer.write([line(2)], 100.0 + AGAIN)
    writer.write([line(3)], 109.0 + AGAIN)
    assert (files(place), counts(writer)) == ([], (0, 0, 3))
    writer.write([line(4)], 110.0 + AGAIN)
    assert told.take().count("\n") == 0
    writer.write([], 130.0 + AGAIN)
    assert names(place) == ["heron-1a2b3c4d-7-3.jsonl"]
    assert counts(writer) == (1, 1, 3)
    assert told == []
    writer.write([line(5)], 110.0 + QUIET, last=True)
    assert told.take() == "info: Snapshots are written again. 3 lines were lost since this start."


def test_a_disk_that_fails_now_and_then_is_complained_of_once(
    writer: SegmentWriter, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minute in range(0, 600, 20):
        writer.write([line(1)], minute)
        with monkeypatch.context() as patch:
            patch.setattr(segmentfiles, "os", faulty_os(write=FULL))
            writer.write([line(2)], minute + 1)
    assert told.take().count("\n") == 0
    assert counts(writer) == (30, 30, 30)


@pytest.mark.parametrize("call", ["fsync", "ftruncate"])
def test_what_is_not_on_the_disk_for_certain_gets_no_final_name(
    writer: SegmentWriter, place: Path, told: Told, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    writer.write([line(1)], 100.0)
    with monkeypatch.context() as patch:
        patch.setattr(segmentfiles, "os", faulty_os(**{call: FULL}))
        writer.write([], 100.0 + SECONDS)
    assert files(place) == []
    assert counts(writer) == (0, 0, 1)
    assert "No space left" in told.take()
    writer.write([line(2)], 200.0, last=True)
    assert names(place) == ["heron-1a2b3c4d-7-2.jsonl"]


def test_what_cannot_get_its_final_name_is_not_left_either(
    writer: SegmentWriter, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([line(1)], 100.0)
    monkeypatch.setattr(segmentfiles, "appear", BROKEN)
    writer.write([], 100.0 + SECONDS)
    assert files(place) == []
    assert counts(writer) == (0, 0, 1)


def test_a_directory_that_is_removed_under_it_is_made_again(
    writer: SegmentWriter, place: Path, told: Told
) -> None:
    writer.write([line(1)], 100.0)
    shutil.rmtree(place)
    writer.write([line(2)], 100.0 + SECONDS)
    assert counts(writer) == (0, 0, 2)
    assert "No such file or directory" in told.take()
    writer.write([line(3)], 120.0 + SECONDS, last=True)
    assert names(place) == ["heron-1a2b3c4d-7-2.jsonl"]
    assert counts(writer) == (1, 1, 2)


def test_a_place_that_is_away_with_all_around_it_is_waited_for(
    writer: SegmentWriter, place: Path, told: Told
) -> None:
    shutil.rmtree(place.parent)
    writer.write([line(1)], 100.0)
    assert not place.parent.exists()
    assert "No such file or directory" in told.take()
    place.parent.mkdir()
    writer.write([line(2)], 110.0, last=True)
    assert counts(writer) == (1, 1, 1)


def test_a_file_in_the_place_of_its_directory_is_left_alone(tmp_path: Path, told: Told) -> None:
    place = tmp_path / "snapshots"
    place.write_text("mine")
    writer = SegmentWriter(place, FIRST, PLENTY, told)
    writer.recover_segments(0.0)
    assert "File exists" in told.take()
    writer.write([line(1)], 100.0)
    assert counts(writer) == (0, 0, 1)
    assert place.read_text() == "mine"
    place.unlink()
    writer.write([line(2)], 110.0, last=True)
    assert counts(writer) == (1, 1, 1)


def test_a_line_that_cannot_be_written_does_not_take_others_with_it(
    writer: SegmentWriter, place: Path, told: Told
) -> None:
    writer.write([line(1), line(2, text="\ud800"), line(3)], 100.0, last=True)
    assert numbers((place / HOUR / str(FIRST)).read_bytes()) == [1, 3]
    assert counts(writer) == (2, 1, 1)
    assert told.take().startswith("warning: A snapshot of kind 'event' cannot be written and is lost: ")
    writer.write([line(4, text="\ud800")], 200.0, last=True)
    assert counts(writer) == (2, 1, 2)
    assert told == []


def test_what_nobody_thought_of_costs_lines_too(writer: SegmentWriter, told: Told) -> None:
    without_time: Any = line(1)
    without_time.ts = None
    writer.write([without_time], 100.0)
    assert "TypeError" in told.take()
    writer.write([line(2)], 200.0, last=True)
    assert counts(writer) == (1, 1, 1)


def test_a_file_that_stands_where_it_would_write_is_left_alone(
    writer: SegmentWriter, place: Path, told: Told
) -> None:
    path = put(place, segment(1), b"mine").rename(place / HOUR / FIRST.unfinished)
    writer.write([line(1)], 100.0)
    assert path.read_bytes() == b"mine"
    assert "File exists" in told.take()
    writer.write([line(2)], 110.0, last=True)
    assert names(place) == [FIRST.unfinished, "heron-1a2b3c4d-7-2.jsonl"]


def test_at_its_start_it_finishes_what_was_left_and_goes_on_behind_it(place: Path, told: Told) -> None:
    put_unfinished(place, segment(4, boot=6), b'{"line":1}\n{"line":2}\n{"li')
    writer = SegmentWriter(place, FIRST, PLENTY, told)
    writer.recover_segments(0.0)
    assert names(place) == ["heron-1a2b3c4d-6-4.jsonl"]
    assert numbers((place / segment(4, boot=6).path).read_bytes()) == [1, 2]
    writer.write([line(1)], 0.0, last=True)
    assert names(place) == ["heron-1a2b3c4d-6-4.jsonl", str(FIRST)]


def test_a_node_restored_from_a_copy_overwrites_nothing(place: Path, told: Told) -> None:
    put(place, segment(1))
    put_unfinished(place, segment(4), b"{}\n")
    writer = SegmentWriter(place, FIRST, PLENTY, told)
    writer.recover_segments(0.0)
    writer.write([line(1)], 0.0, last=True)
    assert names(place) == [segment(4).name.unfinished, str(segment(1).name), str(segment(5).name)]


def test_closing_a_segment_makes_room_for_it(place: Path, told: Told) -> None:
    for number in (1, 2, 3):
        put(place, segment(number, boot=6, size=1000))
    mark(place, "_ingested.json", (2, 2), boot=6)
    writer = SegmentWriter(place, FIRST, 2500, told)
    writer.recover_segments(0.0)
    writer.write([line(1)], 0.0, last=True)
    assert names(place) == [str(segment(n, boot=6).name) for n in (1, 3)] + [str(FIRST)]
    assert writer.keeper.dropped == 0
