"""The benchmark of requests beside the peers that are installed: figures, replies and watches."""

import argparse
import asyncio
from typing import Any

import pytest

from tools.benchmarks.measures.contest import MISSING
from tools.benchmarks.measures.services import Wanted, figures, measured, ratios, shares
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.services.asking import Asking, Echo, Run
from tools.benchmarks.services.callers import CALLERS, chosen_callers
from tools.benchmarks.services.exchange import Outcome
from tools.benchmarks.services.questions import PEER_OF, QUESTIONS, REGISTERED, THEIRS
from tools.benchmarks.services.registered import measured as registered

ALL = Wanted(1, 100, 1, 100)


def outcome(rate: float = 1.0, p50: float = 0.001, served: tuple[int, ...] = (1,), flaw: str = "") -> Outcome:
    figures: dict[str, Any] = {"rate": rate, "p50": p50, "p99": 2 * p50, "late": 0.0}
    return Outcome(figures, served, flaw)


def test_every_figure_has_its_place_and_those_who_take_part_exist() -> None:
    assert set(THEIRS) | set(PEER_OF.values()) | {"heronry"} <= set(CALLERS)
    found = {(case, who): [outcome(served=(1, 2))] for case in QUESTIONS for who in CALLERS}
    rows = [*figures(found, ALL), *ratios(found, ALL), *shares("RoundRobin", outcome())]
    assert all(row.name in GOALS and not row.missing for row in rows)
    assert set(REGISTERED) <= GOALS.keys()


def test_who_is_not_here_is_missing_and_who_failed_has_no_figure() -> None:
    found = {("256 in flight", "heronry"): [outcome(30.0)], ("256 in flight", "nats-py"): [outcome(10.0)]}
    by_name = {row.name: row for row in (*figures(found, ALL), *ratios(found, ALL))}
    assert by_name["256 in flight: heronry / nats-py"].measured == 3.0
    assert by_name["256 in flight: grpc-py"].missing == MISSING
    found["256 in flight", "nats-py"] = [outcome(flaw="1 failed, 0 wrong")]
    by_name = {row.name: row for row in (*figures(found, ALL), *ratios(found, ALL))}
    assert by_name["256 in flight: heronry / nats-py"].flaw == "1 failed, 0 wrong"


def test_callers_are_chosen_by_their_names() -> None:
    assert chosen_callers("") == list(CALLERS)
    ours = ["heronry", "heronry, two nodes", "heronry, own nodes"]
    assert chosen_callers("zenoh-py, grpc-py") == [*ours, "zenoh-py", "grpc-py"]
    with pytest.raises(argparse.ArgumentTypeError, match="no peer with requests is called 'rabbit'"):
        chosen_callers("rabbit")


@pytest.mark.parametrize("asking", [Asking("x", 50, 8), Asking("x", 50, rate=10_000)])
def test_what_has_no_reply_or_a_wrong_one_is_counted(asking: Asking) -> None:
    echo = Echo(asking)

    async def call(content: bytes) -> bytes:
        await asyncio.sleep(0)
        if content.startswith(b"\x03"):
            raise TimeoutError
        return b"what?" if content.startswith(b"\x04") else await echo.reply(content)

    found = asyncio.run(Run(asking, call).figures())
    assert (found["failed"], found["wrong"], echo.served) == (1, 1, 49)
    assert 0 < found["p50"] <= found["p99"]


def test_a_server_that_works_does_so_on_one_at_a_time() -> None:
    echo = Echo(Asking("x", 3, work=0.02))

    async def scenario() -> float:
        start = asyncio.get_running_loop().time()
        await asyncio.gather(*(echo.reply(b"") for _ in range(3)))
        return asyncio.get_running_loop().time() - start

    assert asyncio.run(scenario()) >= 0.06


def test_registrations_and_changes_are_told_to_all_who_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.benchmarks.services.registered.SECONDS", 1)
    monkeypatch.setattr("tools.benchmarks.services.registered.CHANGES", 20)
    found = registered(100)
    assert set(found) == set(REGISTERED)
    assert found["registered, bytes"] > 4 * 20 and found["changes, bytes"] > 4 * 20
    assert 0 < found["changes, p99"] < 1000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_tiny_run_of_all_who_are_here_has_a_reply_to_each_request() -> None:
    done: list[None] = []
    wanted = Wanted(1, 100, 1, 20, cases=("256 in flight", "4 servers"), balancers=("TwoChoices",))
    report = measured(wanted, lambda: done.append(None))
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    assert len(done) == wanted.steps
    assert all(bool(row.missing) or row.measured >= 0 for row in report.rows)
