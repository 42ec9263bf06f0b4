"""Compaction makes few files of many, and loses or doubles no row wherever it is killed."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from mesh.history import compaction, reading
from mesh.history.cli import main
from mesh.history.errors import SparkJobError
from mesh.history.files import Files, address, path_here
from mesh.history.ingest import ingest
from tests.spark.comparing import rows
from tests.spark.writing import START, line, segments

pytestmark = pytest.mark.spark

MANY = compaction.FEW + 1
PARTS = [f"kind={kind}/date=2026-01-02/hour=03" for kind in ("event", "link")]


@pytest.fixture(scope="module")
def built(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two kinds with many files each, of an hour that has ended, and its segments."""
    root = tmp_path_factory.mktemp("compaction")
    segments(root / "in", [line(kind) for kind in ("event", "link") for _ in range(20)])
    ingest(session, [str(root / "in")], str(root / "to"))
    for part in PARTS:
        whole = root / "to" / part
        session.read.parquet(str(whole)).repartition(MANY).write.parquet(str(root / "split"))
        shutil.rmtree(whole)
        (root / "split").rename(whole)
    return root


@pytest.fixture(scope="module")
def before(session: SparkSession, built: Path) -> list[Any]:
    """The rows of the history before compaction."""
    return rows(session, built / "to")


@dataclass(frozen=True)
class Rewritten:
    """A history for which Spark has written the few new files, while the many old ones remain."""

    place: Path
    chosen: Mapping[str, Any]
    beside: str


@pytest.fixture(scope="module")
def rewritten(session: SparkSession, built: Path) -> Rewritten:
    place = Path(shutil.copytree(built / "to", built / "rewritten"))
    files, where = Files(session), address(str(place))
    chosen = compaction.parts(files, where)
    return Rewritten(place, chosen, compaction.rewrite(session, files, where, chosen))


@pytest.fixture(scope="module")
def done(
    session: SparkSession, rewritten: Rewritten, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """The files of the history after an undisturbed compaction."""
    to = tmp_path_factory.mktemp("done") / "to"
    Steps(session, to, rewritten).do_all()
    return contents(to)


def contents(to: Path) -> dict[str, bytes]:
    found = (path for path in to.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(to)): path.read_bytes() for path in found}


@pytest.fixture
def to(built: Path, tmp_path: Path) -> Path:
    """A copy of the history."""
    return Path(shutil.copytree(built / "to", tmp_path / "to"))


def files_of(to: Path, part: str = "kind=*/date=*/hour=*") -> int:
    return len(list(to.glob(f"{part}/*.parquet")))


def alone() -> None:
    """Skip the check of the lock: no other job writes."""


def compacted(session: SparkSession, to: Path, now: datetime | None = None) -> int:
    return compaction.compact(session, Files(session), address(str(to)), alone, now)


def test_many_files_become_few_with_the_same_rows(session: SparkSession, to: Path, before: list[Any]) -> None:
    assert (files_of(to), len(before)) == (2 * MANY, 40)
    assert compacted(session, to) == 2 * (MANY - 1)
    assert files_of(to) == 2
    assert rows(session, to) == before
    assert not (to / compaction.STAGE).exists()
    assert compacted(session, to) == 0  # few files stay as they are


def test_the_hour_that_still_goes_on_is_left_alone(session: SparkSession, to: Path) -> None:
    assert compacted(session, to, START + timedelta(minutes=59)) == 0
    assert files_of(to) == 2 * MANY
    assert compacted(session, to, START + timedelta(hours=1)) == 2 * (MANY - 1)


def test_it_is_done_at_the_end_of_an_ingest(
    session: SparkSession, to: Path, built: Path, before: list[Any]
) -> None:
    ingest(session, [str(built / "in")], str(to))
    assert files_of(to) == 2
    assert rows(session, to) == before


def test_directories_that_are_not_ours_are_left_alone(session: SparkSession, to: Path) -> None:
    foreign = [
        to / "kind=mood" / "date=tomorrow" / "hour=07",
        to / "kind=link" / "date=2026-01-02" / "hour=4",
    ]
    for folder in foreign:
        shutil.copytree(to / PARTS[0], folder)
    assert compacted(session, to) == 2 * (MANY - 1)
    for folder in foreign:
        assert len(list(folder.glob("*.parquet"))) == MANY


def test_where_there_is_no_history_none_is_made(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mesh.history.compact_command.session", lambda *_: session)
    assert main(["compact", "--to", str(tmp_path / "typo")]) == 2
    assert "[NO_HISTORY]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_changed_when_the_new_files_do_not_hold_all_rows(
    session: SparkSession, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(path.name for path in to.glob("kind=*/date=*/hour=*/*"))
    monkeypatch.setattr(compaction, "_ordered", lambda rows: rows.limit(3))
    with pytest.raises(SparkJobError, match=r"40 rows.*would become 3.*\[COMPACTION\]"):
        compacted(session, to)
    assert sorted(path.name for path in to.glob("kind=*/date=*/hour=*/*")) == before


def test_nothing_is_changed_when_another_has_removed_the_new_files(session: SparkSession, to: Path) -> None:
    files, where = Files(session), address(str(to))
    chosen = compaction.parts(files, where)
    beside = compaction.rewrite(session, files, where, chosen)
    files.remove(f"{where}/{beside}/{PARTS[1]}")
    with pytest.raises(SparkJobError, match=rf"{PARTS[1]} are missing.*\[COMPACTION\]"):
        compaction.plan(files, where, chosen, beside)
    assert compaction.in_force(files, where) is None
    assert files_of(to) == 2 * MANY


@pytest.mark.parametrize("call", range(1, 6))
def test_who_has_lost_the_lock_goes_not_one_step_further(
    session: SparkSession,
    to: Path,
    before: list[Any],
    rewritten: Rewritten,
    monkeypatch: pytest.MonkeyPatch,
    call: int,
) -> None:
    def rewrite(*_: object) -> str:
        """Copy the new files that Spark has written once for all these tests."""
        shutil.copytree(rewritten.place / rewritten.beside, to / rewritten.beside)
        return rewritten.beside

    monkeypatch.setattr(compaction, "rewrite", rewrite)
    asked: list[list[Path]] = []

    def check() -> None:
        asked.append(sorted(path.relative_to(to) for path in to.rglob("*")))
        if len(asked) == call:
            raise SparkJobError("It is lost.", "Start again.", "LOCK_LOST")

    with pytest.raises(SparkJobError, match="LOCK_LOST"):
        compaction.compact(session, Files(session), address(str(to)), check)
    assert sorted(path.relative_to(to) for path in to.rglob("*")) == asked[-1]
    assert rows(session, to) == before
    assert not any(before == after for before, after in pairwise(asked[:3]))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"old": {}}'])
def test_a_damaged_plan_is_an_error_that_says_what_to_do(session: SparkSession, to: Path, text: str) -> None:
    (to / compaction.STAGE).mkdir()
    (to / compaction.PLAN).write_text(text)
    with pytest.raises(SparkJobError, match=r"plan.json.* is damaged.*\[DAMAGED_PLAN\]"):
        compaction.finish(Files(session), address(str(to)), alone)
    with pytest.raises(SparkJobError, match=r"\[DAMAGED_PLAN\]"):
        rows(session, to)
    assert files_of(to) == 2 * MANY


# --- kills ----------------------------------------------------------------------------------------------


class Steps:
    """The steps of compaction after Spark has written the new files. A kill may come between any two."""

    def __init__(self, session: SparkSession, to: Path, rewritten: Rewritten) -> None:
        shutil.copytree(rewritten.place, to)
        self._files, self._to = Files(session), address(str(to))
        self._chosen, self._beside = rewritten.chosen, rewritten.beside

    def _remove(self, part: str, names: list[str]) -> None:
        for name in names:
            self._files.remove(f"{self._to}/{part}/{name}")

    def all(self) -> list[Callable[[], object]]:
        first, second = PARTS
        names = self._chosen[first]
        return [
            lambda: compaction.plan(self._files, self._to, self._chosen, self._beside),
            lambda: self._files.remove(f"{self._to}/{first}/{names[0]}"),
            lambda: self._remove(first, names[1:]),
            lambda: self._copy(first),
            lambda: self._files.remove(f"{self._to}/{self._beside}/{first}"),
            lambda: self._remove(second, self._chosen[second]),
            lambda: self._copy(second),
            lambda: self._files.remove(f"{self._to}/{self._beside}/{second}"),
            lambda: self._files.replace_file(f"{self._to}/{compaction.DONE}", self._beside),
            lambda: self._files.remove(f"{self._to}/{self._beside}"),
            lambda: self._files.remove(f"{self._to}/{compaction.STAGE}"),
        ]

    def do_all(self) -> None:
        for step in self.all():
            step()

    def _copy(self, part: str) -> None:
        """Copy the files of a part, as an object store does first when it moves files."""
        here = path_here(self._to)
        shutil.copytree(f"{here}/{self._beside}/{part}", f"{here}/{part}", dirs_exist_ok=True)


@pytest.mark.parametrize("count", range(12))
def test_killed_after_any_step_no_row_is_lost_or_doubled_now_or_later(
    session: SparkSession,
    tmp_path: Path,
    built: Path,
    rewritten: Rewritten,
    before: list[Any],
    done: dict[str, bytes],
    count: int,
) -> None:
    to = tmp_path / "to"
    for step in Steps(session, to, rewritten).all()[:count]:
        step()
    assert rows(session, to) == before  # for a reader at this moment
    compaction.finish(Files(session), address(str(to)), alone)
    assert contents(to) == (done if count else contents(built / "to"))


def test_a_finished_compaction_has_the_rows_of_before(
    session: SparkSession, tmp_path: Path, rewritten: Rewritten, before: list[Any]
) -> None:
    to = tmp_path / "to"
    Steps(session, to, rewritten).do_all()
    assert files_of(to) == 2 and not (to / compaction.STAGE).exists()
    assert rows(session, to) == before


def test_who_reads_meanwhile_misses_nothing_of_other_hours_whose_files_have_the_same_name(
    session: SparkSession, to: Path
) -> None:
    first, second = PARTS
    for path in (to / second).glob("*.parquet"):
        path.unlink()
    shutil.copytree(to / first, to / second, dirs_exist_ok=True)
    before = rows(session, to)
    files, where = Files(session), address(str(to))
    chosen = {first: compaction.parts(files, where)[first]}
    compaction.plan(files, where, chosen, compaction.rewrite(session, files, where, chosen))
    assert rows(session, to) == before


@pytest.mark.parametrize(("first", "then"), [(0, 5), (0, 8), (0, 11), (3, 5), (3, 11)])
def test_who_reads_misses_nothing_that_is_moved_while_spark_looks(
    session: SparkSession,
    tmp_path: Path,
    rewritten: Rewritten,
    before: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    then: int,
) -> None:
    """Some steps happen after the search for a plan, and others after Spark has listed all files."""
    to = tmp_path / "to"
    steps, read = Steps(session, to, rewritten).all()[:then], reading._read

    def slowly(session: SparkSession, where: str) -> DataFrame:
        while len(steps) > then - first:
            steps.pop(0)()
        there = read(session, where)
        while steps:
            steps.pop(0)()
        return there

    monkeypatch.setattr(reading, "_read", slowly)
    assert rows(session, to) == before
