"""Files of segments: found by hour, recovered to the last whole line, deleted with their hour."""

from pathlib import Path

import pytest

from mesh.local.segmentfiles import OpenSegment, delete, find, find_by_hour, read_marker, recover, sizes
from mesh.snapshots.marker import Marker
from tests.mesh.local.snapshotting import files, mark, put, put_unfinished
from tests.mesh.snapshots.lines import HOUR, UUID8, segment

LATER = "date=2026-02-01/hour=00"


def test_segments_are_found_hour_by_hour_and_all_else_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, segment(1))
    put(tmp_path, segment(2, hour=LATER))
    put(tmp_path, segment(3, uuid8="99999999"))
    put_unfinished(tmp_path, segment(4), b"{}\n")
    (tmp_path / HOUR / "notes.txt").write_text("mine")
    (tmp_path / HOUR / "directory.jsonl").mkdir()
    found = find(tmp_path)
    assert sorted(it.name.number for it in found.closed) == [1, 2, 3]
    assert [(it.name.number, it.bytes) for it in found.unfinished] == [(4, 3)]
    mine = [[it.name.number for it in hour.closed] for hour in find_by_hour(tmp_path, UUID8)]
    assert mine == [[1], [2]]


def test_where_no_directory_is_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        assert find(place).closed == [] and sizes(place) == {}


def test_a_marker_that_is_missing_covers_nothing_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "_synced.json"
    assert read_marker(path) == (Marker(), "")
    mark(tmp_path, "_synced.json", (1, 2))
    assert read_marker(path)[0].covers(segment(2).name)
    path.write_text("{")
    marker, wrong = read_marker(path)
    assert marker == Marker() and wrong


@pytest.mark.parametrize(("content", "size"), [(b"{}\n{}\n{", 6), (b"{}\n", 3), (b"{", 0), (b"", 0)])
def test_what_was_left_is_kept_up_to_its_last_whole_line(tmp_path: Path, content: bytes, size: int) -> None:
    put_unfinished(tmp_path, segment(1), content)
    found = recover(tmp_path, segment(1))
    assert (found.bytes if found else 0) == size
    assert files(tmp_path) == ([segment(1).path] if size else [])


def test_a_segment_gets_its_final_name_when_it_is_finished(tmp_path: Path) -> None:
    (tmp_path / HOUR).mkdir(parents=True)
    one = OpenSegment(tmp_path, segment(1).name, HOUR)
    assert files(tmp_path) == [f"{HOUR}/{segment(1).name.unfinished}"]
    one.write([b"{}"])
    assert one.finish() == segment(1, size=3) and files(tmp_path) == [segment(1).path]


def test_an_hour_goes_with_its_last_segment(tmp_path: Path) -> None:
    put(tmp_path, segment(1))
    put(tmp_path, segment(2))
    assert delete(tmp_path, segment(1)) and not delete(tmp_path, segment(1))
    assert (tmp_path / HOUR).is_dir()
    assert delete(tmp_path, segment(2)) and not (tmp_path / HOUR).parent.exists()
