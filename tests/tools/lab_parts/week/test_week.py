"""A week in the lab: its counts, the growth that it detects, and a short run without a violation."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT, commands
from tests.tools.lab_parts.test_lab_parts import came, lab
from tools.lab_parts.ledger import Count
from tools.lab_parts.week.count import Restored, Weekly, count
from tools.lab_parts.week.growth import MIB, Growth, Measure, bounded, judged, looked_at
from tools.lab_parts.week.logs import all_of, rotate
from tools.lab_parts.week.plan import WeekResult

MEMORY = Measure("memory", MIB, 0.1, 5)


def said(*last: int) -> dict[str, Any]:
    """Return the records of heron and stork, whose messages up to these numbers were answered."""
    return {name: {"answered": [[1, number]]} for name, number in zip(("heron", "stork"), last, strict=True)}


def heard(heron: tuple[int, ...], stork: tuple[int, ...]) -> dict[str, Any]:
    return {"came": {"0": came(*heron).described(), "1": came(*stork).described()}}


def test_without_a_restore_all_is_owed_once_and_in_order() -> None:
    found = count(said(3, 2), {"stork": heard((1, 3, 2, 2), (1,))}, None)
    assert found == {"stork": Weekly(Count(owed=5, lost=1, doubled=1, disordered=1))}


@pytest.mark.parametrize(
    ("subscriber", "publisher", "numbers", "found"),
    [
        ("stork", "heron", (1, 2, 3, 4, 5, 6), Weekly(Count(owed=6))),
        ("stork", "heron", (1, 2, 4, 5, 6), Weekly(Count(owed=6), gone=1)),  # answered since the backup
        ("stork", "heron", (1, 3, 4, 5, 6), Weekly(Count(owed=6, lost=1))),  # the backup had it
        ("stork", "heron", (1, 2, 3, 4, 6), Weekly(Count(owed=6, lost=1))),  # the new store answered it
        ("stork", "heron", (1, 2, 3, 4, 5, 6, 2), Weekly(Count(owed=6), again=1)),
        ("heron", "stork", (1, 2, 4, 5, 6), Weekly(Count(owed=6), gone=1)),  # heron had received it
        ("stork", "stork", (1, 2, 4, 5, 6), Weekly(Count(owed=6, lost=1))),  # heron has no part in it
        ("stork", "stork", (1, 2, 3, 4, 5, 6, 2), Weekly(Count(owed=6, doubled=1))),
    ],
)
def test_what_may_be_gone_and_come_again_is_what_the_restored_node_had(
    subscriber: str, publisher: str, numbers: tuple[int, ...], found: Weekly
) -> None:
    """Messages 3 and 4 of each publisher were answered between the backup and the end of heron's disk."""
    all_said: dict[str, Any] = {"heron": {"answered": []}, "stork": {"answered": []}} | {
        publisher: {"answered": [[1, 6]]}
    }
    books = {"heron": ((), numbers)[publisher == "heron"], "stork": ((), numbers)[publisher == "stork"]}
    before = {name: heard((1, 2), (1, 2)) for name in ("heron", "stork")}
    restored = Restored("heron", {"heron": (3, 4), "stork": (3, 4)}, before)
    assert count(all_said, {subscriber: heard(**books)}, restored) == {subscriber: found}


def test_a_number_on_either_edge_of_what_may_be_gone_is_within() -> None:
    restored = Restored("heron", {"heron": (2, 3), "stork": (1, 0)}, {"stork": heard((1,), ())})
    books = {"heron": {"answered": [[1, 1], [3, 3], [4, 4]]}, "stork": {"answered": []}}
    assert count(books, {"stork": heard((1, 4), ())}, restored) == {"stork": Weekly(Count(owed=3), gone=1)}


def test_what_was_doubled_before_the_disk_was_lost_is_wrong() -> None:
    before = {"stork": heard((1, 1), ())}
    restored = Restored("heron", {"heron": (2, 2), "stork": (1, 0)}, before)
    found = count(said(3, 0), {"stork": heard((1, 1, 2, 3, 3), ())}, restored)
    assert found == {"stork": Weekly(Count(owed=3, doubled=1), again=1)}


@pytest.mark.parametrize(
    ("series", "grows"),
    [
        ([100.0] * 9, False),
        ([1, 50, 100] * 3, False),  # the series rises and falls
        ([1, 1, 1, 100, 100, 100, 115, 115, 115], False),  # the growth is at its limit
        ([1, 1, 1, 100, 100, 100, 100, 116, 100], True),
        ([100.0 * step for step in range(1, 10)], True),
        ([1.0, 1000.0], False),  # too few values for a judgment
    ],
)
def test_what_is_higher_in_the_last_third_than_in_the_middle_one_grows(
    series: list[float], grows: bool
) -> None:
    found = judged(series, MEMORY)
    assert (found.grows, found.first, found.highest) == (grows, series[0], max(series))


def test_what_has_a_limit_must_keep_it_in_the_end() -> None:
    assert not bounded([9.0, 5.0, 4.0], 4).grows  # a past value was too large
    assert bounded([1.0, 4.0, 5.0], 4).grows


def test_a_week_with_anything_wrong_is_not_clean() -> None:
    assert WeekResult().is_clean
    for result in (
        WeekResult(wrong=["the log of heron is not whole"]),
        WeekResult(counts={"heron": Weekly(), "stork": Weekly(Count(lost=1))}),
        WeekResult(growth={"memory": {"heron": Growth(1, 2, 2, 3), "stork": Growth(1, 4, 4, 3)}}),
    ):
        assert not result.is_clean
    assert WeekResult(counts={"stork": Weekly(Count(owed=3), gone=1, again=1)}).is_clean


def test_a_log_is_copied_and_emptied_and_whoever_appends_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "heron.err"
    assert not rotate(log, 4, 2)
    with log.open("ab", buffering=0) as writer:
        for word in (b"first", b"second", b"third", b"fourth", b"x"):
            writer.write(word)
            assert rotate(log, 4, 3) is (word != b"x")
    assert [path.read_bytes() for path in all_of(log, 3)] == [b"second", b"third", b"fourth", b"x"]
    assert len(list(tmp_path.iterdir())) == 4


def test_all_that_a_process_has_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "snapshots" / "date=1" / "hour=2").mkdir(parents=True)
    (tmp_path / "snapshots" / "date=1" / "hour=2" / "heron-1.jsonl").write_bytes(bytes(7))
    (tmp_path / "store.sqlite").write_bytes(bytes(5))
    log = tmp_path / "log"
    log.write_bytes(bytes(3))
    memory, descriptors, threads, *rest = looked_at(os.getpid(), tmp_path, [log, tmp_path / "none"]).values()
    assert memory > MIB and descriptors > 2 and threads >= 1 and rest == [2, 8, 7, 3]


@pytest.mark.slow
@pytest.mark.timeout(600)  # each step has a limit of its own
def test_a_short_week_loses_nothing_and_nothing_grows() -> None:
    [command] = [c for c in commands(ROOT / "docs" / "lab.md") if c.startswith("tools/lab week")]
    said = lab(*command.split()[1:], limit=600)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "restored" in said.stdout and "yes" not in said.stdout
