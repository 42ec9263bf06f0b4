"""The benchmark of transactions and maps beside peers: figures, missing peers, and tiny runs."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tools.benchmarks.measures.operations import Found, Outcome, Wanted, measured, rows
from tools.benchmarks.operations.cases import CASES
from tools.benchmarks.operations.contestants import CONTESTANTS, MAPS, TRANSACTIONS, chosen_rivals
from tools.benchmarks.operations.derived import OUTBOXES
from tools.benchmarks.operations.servers import SERVERS
from tools.benchmarks.operations.timing import Load, Operation, Run, figures
from tools.benchmarks.pages.goals import GOALS

PARTS = sorted(CASES)
LIMITED = {
    "transactions, commit 100, 1: heronry / heronry, no transaction": 0.8,
    "transactions, commit by put": 1.3,
    "transactions, stores by fsync": 4.5,
    "transactions, outbox: postgresql": 5000.0,
    "transactions, outbox: sqlite": 2000.0,
    "maps, put by publish": 1.0,
    "maps, lock by publish": 1.0,
}


def wanted(part: str, *cases: str) -> Wanted:
    return Wanted(part, 1, 20, 1, 50, chosen_rivals(""), cases)


def outcome(rate: float = 1.0, flaw: str = "") -> Outcome:
    return Outcome({} if flaw else {"rate": rate, "p50": 1 / rate, "p99": 2 / rate}, flaw)


def complete(part: str) -> Found:
    found = Found(fsyncs=[1000.0])
    for case in CASES[part].values():
        for who in case.who:
            found.runs[case.name, who].append(outcome())
    for database in OUTBOXES:
        found.outboxes[database].append(outcome())
    return found


# --- figures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_each_figure_has_a_goal_and_each_contestant_a_server(part: str) -> None:
    made = list(rows(complete(part), wanted(part)))
    assert all(row.name in GOALS and not row.missing and not row.flaw for row in made)
    assert len({row.name for row in made}) == len(made)
    assert {who.server for table in CONTESTANTS.values() for who in table.values()} == set(SERVERS)
    limits = {row.name: row.goal.limit for row in made if row.goal.limit is not None}
    assert limits == {name: limit for name, limit in LIMITED.items() if name.startswith(part)}


def test_a_write_tells_what_is_stored_when_it_is_answered() -> None:
    by_name = {row.name: row for row in rows(complete("maps"), wanted("maps"))}
    assert by_name["maps, put, 1: redis-everysec"].note.startswith("fsync each second; p50 ")
    assert by_name["maps, put, 1: heronry / redis-always"].note.endswith("; theirs: fsync")
    assert by_name["maps, get, 1: redis-everysec"].note.startswith("p50 ")


def test_ratios_are_the_medians_of_the_rounds() -> None:
    found = Found(fsyncs=[1000.0, 100.0])
    found.runs["put, 1", "heronry"] += [outcome(30.0), outcome(1.0)]
    found.runs["put, 1", "etcd"] += [outcome(10.0), outcome(2.0)]
    found.runs["get, 1", "heronry"] += [outcome(60.0), outcome(2.0)]
    found.runs["publish, 1", "heronry"] += [outcome(60.0), outcome(0.5)]
    by_name = {row.name: row for row in rows(found, wanted("maps"))}
    assert by_name["maps, put, 1: heronry / etcd"].measured == 1.75
    assert by_name["maps, put by publish"].measured == pytest.approx((1.0 + 0.4) / 2)


def test_a_missing_peer_is_named_with_its_package_and_a_failed_one_has_no_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for table, name in ((MAPS, "etcd"), (TRANSACTIONS, "postgresql")):
        monkeypatch.setitem(table, name, replace(table[name], is_installed=lambda: False))
    assert "etcd" not in wanted("maps").installed
    found = complete("maps")
    found.runs.pop(("put, 1", "etcd"))
    found.runs["put, 1", "redis-always"] = [outcome(flaw="lost")]
    by_name = {row.name: row for row in rows(found, wanted("maps"))}
    for name in ("maps, put, 1: etcd", "maps, put, 1: heronry / etcd"):
        assert by_name[name].missing == "not installed: run tools/peers, which brings etcd-server"
    for name in ("maps, put, 1: redis-always", "maps, put, 1: heronry / redis-always"):
        assert by_name[name].flaw == "lost"
    assert TRANSACTIONS["postgresql"].missing == "not installed: apt-get install postgresql"


def test_rivals_are_chosen_by_their_names() -> None:
    assert set(chosen_rivals("")) == set(TRANSACTIONS) | set(MAPS)
    picked = chosen_rivals("postgresql, etcd")
    assert {name for name in picked if not name.startswith("heronry")} == {"postgresql", "etcd"}
    assert "heronry, three stores" in picked
    with pytest.raises(
        argparse.ArgumentTypeError, match="no peer with transactions or maps is called 'mysql'"
    ):
        chosen_rivals("mysql")


# --- a run --------------------------------------------------------------------------------------------------


def test_large_transactions_are_fewer_and_each_worker_has_two() -> None:
    cases = CASES["transactions"]
    assert cases["commit 10, 1"].load("x", "heronry", 1000, 5).count == 1000
    assert cases["commit 100, 1"].load("x", "heronry", 1000, 5).count == 200
    assert cases["commit 100, 8"].load("x", "heronry, no transaction", 1, 5) == Load(
        "x", "plain", 16, 8, 100, 5
    )


@pytest.mark.parametrize(("seconds", "least", "most"), [(60.0, 100, 100), (0.0, 1, 4)])
def test_a_run_is_bounded_in_count_and_time(seconds: float, least: int, most: int) -> None:
    under_way: list[int] = [0]
    widest = 0

    @asynccontextmanager
    async def opening(_address: str, run: Run) -> AsyncIterator[Operation]:
        async def operation(_worker: int, _number: int) -> None:
            nonlocal widest
            under_way[0] += 1
            widest = max(widest, under_way[0])
            await asyncio.sleep(0)
            under_way[0] -= 1

        yield operation

    found = asyncio.run(figures(opening, "", Load("x", "put", 100, window=4, seconds=seconds)))
    assert least <= found["done"] <= most
    assert widest <= 4 and 0 < found["p50"] <= found["p99"]


def test_a_job_that_is_lost_or_doubled_fails_the_run() -> None:
    run = Run(Load("x", "commit", 10, window=1, jobs=5))
    run.done = 4
    run.check_queues(40, 20)
    for left, there in ((39, 20), (40, 21), (45, 15)):
        with pytest.raises(SystemExit, match="of 60 jobs, 20 were moved"):
            run.check_queues(left, there)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("part", "cases"),
    [("transactions", ()), ("maps", ("get, 1", "put, 16", "put_if, 16", "lock, 1", "publish, 1"))],
)
def test_a_tiny_run_of_all_that_are_installed_has_no_flaw(
    part: str, cases: tuple[str, ...], place: Path
) -> None:
    done: list[None] = []
    tiny = wanted(part, *cases)
    report = measured(tiny, lambda: done.append(None))
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    assert len(done) == tiny.steps
    assert all(bool(row.missing) != bool(row.measured) for row in report.rows)
