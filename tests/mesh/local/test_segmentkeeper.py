"""Deletion of segments: only a node's own ones, safe ones first, and never without a report."""

import os
from pathlib import Path
from typing import Any

import pytest

from mesh.local import segmentfiles, segmentkeeper
from mesh.local.segmentkeeper import LOOK, SegmentKeeper
from mesh.local.troubles import QUIET, Troubles
from mesh.snapshots.segment import Segment
from tests.mesh.local.snapshotting import BROKEN, Told, faulty_os, files, mark, put, put_unfinished
from tests.mesh.snapshots.lines import HOUR, UUID8, segment

LIMIT = 500  # bytes: five segments of this test


class Kept:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.told = Told()
        self.keeper = SegmentKeeper(place, UUID8, LIMIT, Troubles(self.told))

    def begin(self, *numbers: int) -> int:
        for number in numbers:
            put(self.place, segment(number))
        return self.keeper.recover_segments(8, 0.0)

    def close(self, number: int, now: float, **more: Any) -> None:
        it: Segment = segment(number, **{"boot": 8, **more})
        put(self.place, it)
        self.keeper.add(it, now)

    def left(self) -> list[tuple[int, int]]:
        """Return the boot and the number of each remaining segment."""
        found = segmentfiles.find(self.place).closed
        return sorted((it.name.boot, it.name.number) for it in found if it.name.uuid8 == UUID8)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_what_was_left_is_cut_to_its_last_whole_line(kept: Kept) -> None:
    put_unfinished(kept.place, segment(1), b'{"line":1}\n{"line":2}\n{"line":')
    put_unfinished(kept.place, segment(9, boot=3, hour="date=2025-12-31/hour=23"), b'{"line":7}\n')
    assert kept.begin() == 0
    assert files(kept.place) == [
        "date=2025-12-31/hour=23/heron-1a2b3c4d-3-9.jsonl",
        f"{HOUR}/heron-1a2b3c4d-7-1.jsonl",
    ]
    assert (kept.place / segment(1).path).read_bytes() == b'{"line":1}\n{"line":2}\n'
    assert kept.told.take() == (
        "info: Recovered snapshots that an earlier start left unfinished: "
        "heron-1a2b3c4d-3-9.jsonl, heron-1a2b3c4d-7-1.jsonl"
    )


@pytest.mark.parametrize("content", [b"", b'{"line":1', b"\0" * 5000])
def test_what_was_left_without_a_whole_line_goes(kept: Kept, content: bytes) -> None:
    put_unfinished(kept.place, segment(1), content)
    kept.begin()
    assert files(kept.place) == []
    assert kept.told == []


def test_what_is_of_others_is_left_alone(kept: Kept) -> None:
    put(kept.place, segment(1), b"")
    theirs = [
        put_unfinished(kept.place, segment(1, uuid8="99999999"), b"{"),
        put_unfinished(kept.place, segment(1, node="1a2b3c4d", uuid8="99999999"), b"{"),
        put(kept.place, segment(1, uuid8="99999999", size=5000)),
        kept.place / HOUR / "_notes.txt",
        kept.place / HOUR / f"_heron-{UUID8}-7-3.jsonl.part",
        kept.place / "date=2026-01-31" / "_heron-1a2b3c4d-7-2.jsonl",
        kept.place / f"_heron-{UUID8}-7-2.jsonl",
        kept.place / "date=2026-01-31" / "hour=9",
        kept.place / "date=2026-01-31" / "hour=10",
        kept.place / "date=today",
    ]
    for path in theirs:
        if not path.exists():
            path.write_bytes(b"{")
    (kept.place / HOUR / f"_heron-{UUID8}-7-4.jsonl").symlink_to(theirs[-1])
    (kept.place / HOUR / f"_heron-{UUID8}-7-5.jsonl").mkdir()
    before = {path: path.read_bytes() for path in theirs}
    kept.begin()
    for number in range(1, 9):
        kept.close(number, 1000.0 * number)
    assert {path: path.read_bytes() for path in theirs} == before
    assert kept.left() == [(8, number) for number in range(4, 9)]


def test_one_that_cannot_be_recovered_is_told_of_and_the_others_are(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_unfinished(kept.place, segment(1), b"{}\n")
    put_unfinished(kept.place, segment(2), b"{}\n{")
    calls = iter([BROKEN, os.fsync])
    monkeypatch.setattr(segmentfiles, "os", faulty_os(fsync=lambda handle: next(calls)(handle)))
    kept.begin()
    assert len(kept.left()) == 1
    assert kept.told.take().count("cannot be recovered: [Errno 5] Input/output error") == 1


def test_what_exceeds_the_limit_goes_and_that_is_said_once(kept: Kept) -> None:
    kept.begin(1, 2, 3)
    for number in range(1, 9):
        kept.close(number, float(number))
    assert kept.left() == [(8, number) for number in range(4, 9)]
    assert kept.keeper.dropped == 6
    assert kept.told.take() == (
        f"warning: The snapshots in {kept.place} exceed 500 bytes: the oldest are deleted, although "
        "they were not copied or ingested. To keep them: mesh snapshots sync --to DIR"
    )


def test_what_is_safe_goes_first_and_that_is_no_loss(kept: Kept) -> None:
    mark(kept.place, "_ingested.json", (2, 2))
    mark(kept.place, "_synced.json", (4, 4))
    kept.begin(1, 2, 3, 4)
    for number in (1, 2, 3):
        kept.close(number, float(number))
    assert kept.left() == [(7, 1), (7, 3), (8, 1), (8, 2), (8, 3)]
    assert kept.keeper.dropped == 0
    assert kept.told == []


def test_directories_that_are_empty_by_it_go_too(kept: Kept) -> None:
    old, young = "date=2026-01-30/hour=22", "date=2026-01-30/hour=23"
    put(kept.place, segment(1, hour=old))
    put(kept.place, segment(2, hour=young))
    kept.begin()
    for number in (1, 2, 3, 4):
        kept.close(number, 0.0)
    assert not (kept.place / old).exists() and (kept.place / young).exists()
    kept.close(5, 0.0)
    assert os.listdir(kept.place) == ["date=2026-01-31"]


def test_a_marker_that_was_changed_counts_at_once(kept: Kept) -> None:
    kept.begin(1, 2, 3, 4, 5)
    mark(kept.place, "_synced.json", (5, 5))
    kept.close(1, 1.0)
    assert kept.left() == [(7, 1), (7, 2), (7, 3), (7, 4), (8, 1)]
    assert kept.keeper.dropped == 0


def test_when_it_deletes_what_is_safe_again_the_loss_is_over(kept: Kept) -> None:
    kept.begin(1, 2, 3, 4, 5)
    kept.close(1, 1.0)
    kept.told.take()
    mark(kept.place, "_synced.json", (1, 5))
    kept.close(2, 2.0)
    assert kept.told == []
    kept.close(3, 1.0 + QUIET)
    assert kept.told.take() == "info: No more uncopied snapshots are deleted. Segments deleted before: 1."


def test_what_somebody_else_has_deleted_makes_room_but_that_is_not_looked_for_all_the_time(
    kept: Kept,
) -> None:
    kept.begin(1, 2, 3, 4, 5)
    for number in (2, 3, 4):
        (kept.place / segment(number).path).unlink()
    kept.close(1, LOOK - 1)
    assert kept.left() == [(7, 5), (8, 1)]
    kept.close(2, LOOK)
    assert kept.left() == [(7, 5), (8, 1), (8, 2)]
    kept.close(3, LOOK + 1)
    assert kept.left() == [(7, 5), (8, 1), (8, 2), (8, 3)]
    assert kept.keeper.dropped == 1


def test_what_was_gone_already_was_not_dropped(kept: Kept) -> None:
    kept.begin(1, 2, 3, 4, 5)
    (kept.place / segment(1).path).unlink()
    kept.close(1, 1.0)
    assert kept.keeper.dropped == 0
    assert kept.told == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_by_a_damaged_marker_nothing_is_safe_and_that_is_said_once(kept: Kept, content: bytes) -> None:
    (kept.place / "_ingested.json").write_bytes(content)
    kept.begin(1, 2, 3, 4, 5)
    assert f"{kept.place / '_ingested.json'} cannot be read: " in kept.told.take()
    kept.close(1, LOOK)
    assert "_ingested" not in kept.told.take()
    mark(kept.place, "_ingested.json", (5, 5))
    kept.close(2, LOOK + QUIET)
    assert kept.left() == [(7, 2), (7, 3), (7, 4), (8, 1), (8, 2)]
    assert "can be read again" in kept.told.take()


def test_one_that_cannot_be_deleted_is_told_of_and_tried_again_later(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.begin(1, 2, 3, 4, 5)
    with monkeypatch.context() as patch:
        patch.setattr(segmentkeeper, "delete", BROKEN)
        kept.close(1, 1.0)
    assert kept.keeper.dropped == 0
    assert "cannot be deleted: [Errno 5] Input/output error" in kept.told.take()
    kept.close(2, LOOK)
    assert kept.left() == [(7, 3), (7, 4), (7, 5), (8, 1), (8, 2)]
    assert kept.keeper.dropped == 2


def test_a_directory_that_cannot_be_listed_is_tried_again_before_anything_is_dropped(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(segmentfiles, "os", faulty_os(scandir=BROKEN))
        assert kept.begin(1, 2) == 0
        for number in range(1, 6):
            kept.close(number, 1.0)
        assert kept.told.take().count("cannot be listed: [Errno 5]") == 1
        kept.close(6, 2.0)
    assert kept.left() == [(7, 1), (7, 2), *((8, number) for number in range(2, 7))]
    kept.close(7, 3.0)
    assert kept.left() == [(8, number) for number in range(3, 8)]
