"""Jobs in a database are done once, although programs, node and database are killed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from tests.postgres import binaries
from tools.lab_parts.jobs.command import described
from tools.lab_parts.jobs.databases import Sqlite
from tools.lab_parts.jobs.run import TABLES, JobsPlan, JobsResult, JobsRun, jobs_done

Rows = Sequence[tuple[int, str]]


def judged(place: Path, done: Rows, passed: Rows, restores: int = 0, written: int = 2) -> list[str]:
    source, target = Sqlite(place, "source"), Sqlite(place, "target")
    for database in (source, target):
        with closing(database.connect()) as db:
            for table in TABLES:
                db.execute(table)
            db.executemany("INSERT INTO source VALUES (?)", [(job,) for job in range(written)])
            db.executemany("INSERT INTO jobs VALUES (?, ?)", done)
            db.executemany("INSERT INTO results VALUES (?, ?)", passed)
            db.commit()
    run = JobsRun(JobsPlan(2, 1.0, True, 1, restores), cast("Any", None), source, target)
    run.judge()
    return run.result.anomalies


GOOD = [(0, "a"), (1, "b")]


def test_each_job_once_is_no_anomaly(tmp_path: Path) -> None:
    assert judged(tmp_path, GOOD, GOOD) == []


def test_a_lost_job_and_one_that_was_done_twice_are_found(tmp_path: Path) -> None:
    assert judged(tmp_path, [(0, "a"), (0, "a")], GOOD) == [
        "jobs: lost [1], in all 1", "jobs: done twice ['a'], in all 1", "jobs: jobs twice [0], in all 1",
    ]  # fmt: skip


def test_a_job_that_was_written_again_is_an_anomaly_without_a_restore(tmp_path: Path) -> None:
    assert judged(tmp_path, GOOD, [*GOOD, (1, "c")]) == ["results: jobs twice [1], in all 1"]


def test_a_restore_may_forget_a_row_and_so_write_its_job_again(tmp_path: Path) -> None:
    assert judged(tmp_path, GOOD, [*GOOD, (1, "c")], restores=1) == []


def test_a_job_that_was_never_written_is_found(tmp_path: Path) -> None:
    assert judged(tmp_path, GOOD, GOOD, written=1) == ["1 jobs were never written"]


def test_the_result_names_kills_and_anomalies() -> None:
    plan, result = JobsPlan(2, 1.0, True, 7), JobsResult()
    assert described(plan, result).endswith("killed: nothing; each job was done once")
    result.kills["node"] += 2
    result.anomalies.append("jobs: lost [1], in all 1")
    assert described(plan, result).splitlines()[0].endswith("killed: 2 node")


@pytest.mark.slow
@pytest.mark.parametrize("is_sqlite", [True, False])
@pytest.mark.parametrize("restores", [0, 1])
def test_killed_programs_do_each_job_once(is_sqlite: bool, restores: int) -> None:
    """DB1, DB2."""
    if not is_sqlite and binaries() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    result = jobs_done(JobsPlan(100, 2.0, is_sqlite, 5, restores), lambda _, what: print(what))
    assert result.anomalies == [], result.log
    assert result.kills.total() > 0
