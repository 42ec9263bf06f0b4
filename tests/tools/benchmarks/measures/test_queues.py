"""The benchmark of queues beside peers: figures, depth, and the judgment after kills."""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tools.benchmarks.measures import depth
from tools.benchmarks.measures.contest import MISSING
from tools.benchmarks.measures.depth import Deep
from tools.benchmarks.measures.queues import Wanted, measured, rows
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.queues.cases import CASES, THEIRS, chosen_cases, limit_of
from tools.benchmarks.queues.flow import Outcome, counted, figures
from tools.benchmarks.queues.jobs import COUNT, Jobs, Taken
from tools.benchmarks.queues.workers import BROKERS, WORKERS, chosen_workers
from tools.benchmarks.trials import queue_kills
from tools.benchmarks.trials.queue_kills import KINDS, plan, told
from tools.benchmarks.trials.queue_verdict import judged
from tools.running.queue_records import Event, read_answers, read_events

ALL = Wanted(1, 100)
CASE = CASES["1→1, 100 B, 256"]


def outcome(flow: float = 1.0, again: int = 0, flaw: str = "") -> Outcome:
    return Outcome({"put": flow, "take": 2 * flow, "flow": flow}, again, 1.0, flaw)


# --- figures ------------------------------------------------------------------------------------------------


def test_every_figure_has_its_place_and_those_who_take_part_have_a_server() -> None:
    assert {who.broker for who in WORKERS.values()} == set(BROKERS)
    found = {(case, who): [outcome()] for case in CASES for who in WORKERS}
    made = rows(found, ALL)
    assert all(row.name in GOALS and not row.missing for row in made)
    assert len({row.name for row in made}) == len(made)


def test_goals_are_twice_jetstream_from_256_on_and_ahead_of_rabbitmq_everywhere() -> None:
    for name, case in CASES.items():
        for theirs in THEIRS:
            twice = 2.0 if name.endswith((" 256", " 1000")) else None
            wanted = twice if "jetstream" in theirs else 1.0 if "rabbit" in theirs else None
            assert limit_of(case, theirs) == wanted


def test_who_is_not_here_is_missing_and_who_failed_has_no_figure() -> None:
    ours, theirs = (CASE.name, "heronry"), (CASE.name, "redis-py")
    found = {ours: [outcome(30.0), outcome(1.0)], theirs: [outcome(10.0), outcome(2.0)]}
    by_name = {row.name: row for row in rows(found, ALL)}
    assert by_name["queues, 1→1, 100 B, 256: heronry / redis-py"].measured == 1.75
    assert by_name["queues, 1→1, 100 B, 256: jetstream-c"].missing == MISSING
    found[theirs] = [outcome(flaw="lost 1, doubled 0")]
    by_name = {row.name: row for row in rows(found, ALL)}
    assert by_name["queues, 1→1, 100 B, 256: heronry / redis-py"].flaw == "lost 1, doubled 0"
    assert by_name["queues, 1→1, 100 B, 256: redis-py"].flaw == "lost 1, doubled 0"


def test_workers_and_cases_are_chosen_by_words() -> None:
    assert chosen_workers("") == list(WORKERS)
    assert chosen_workers("redis-py") == ["heronry", "heronry, many", "heronry, each", "redis-py"]
    assert chosen_cases("1→1, 1 KiB") == [f"1→1, 1 KiB, {window}" for window in (1, 16, 256, 1000)]
    with pytest.raises(argparse.ArgumentTypeError, match="no peer with queues is called 'kafka'"):
        chosen_workers("kafka")
    with pytest.raises(argparse.ArgumentTypeError, match="no case of queues is '17'"):
        chosen_cases("17")


def test_producers_share_the_jobs_and_small_windows_have_fewer() -> None:
    jobs = CASES["4→4, 100 B, 16"].jobs("q", 10_000)
    assert (jobs.messages, jobs.producers, jobs.consumers) == (2_000, 4, 4)
    contents = [c for part in range(4) for c in replace(jobs, part=part).contents()]
    assert sorted(int.from_bytes(c[:8], "little") for c in contents) == list(range(2_000))
    assert {len(c) for c in contents} == {100}


def test_a_job_is_lost_doubled_or_given_again() -> None:
    jobs = Jobs("q", 3)
    assert counted(jobs, [0, 1, 2], []) == ("", 0)
    assert counted(jobs, [0, 2], []) == ("lost 1, doubled 0", 0)
    assert counted(jobs, [0, 1, 1, 2, 2], [2]) == ("lost 0, doubled 1", 1)
    assert counted(jobs, [0, 1, 2, 2], [2]) == ("", 1)


def test_figures_are_from_the_first_to_the_last() -> None:
    put = [{"began": 1.0, "answered": 2.0}, {"began": 2.0, "answered": 6.0}]
    took = [{"first": 5.0, "last": 7.0}, {"first": 0.0, "last": 0.0}, {"first": 6.0, "last": 9.0}]
    assert figures(Jobs("q", 20), put, took, True) == {"put": 4.0, "take": 5.0}
    assert figures(Jobs("q", 16), put, took, False) == {"flow": 2.0}


def test_what_was_taken_is_told_while_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = Jobs("q", 9, producers=3, part=2)
    taken = Taken(jobs)
    taken.take(jobs.contents(), again=[1])
    taken.acked(3)
    assert COUNT.unpack((tmp_path / "q-2.count").read_bytes()) == (3,)
    told = taken.told()
    assert 0 < told["first"] <= told["last"]
    assert (tmp_path / "q-2.again").read_bytes() == jobs.contents()[1][:8]
    assert (tmp_path / "q-2.numbers").stat().st_size == 24


# --- depth --------------------------------------------------------------------------------------------------


def test_depth_is_told_beside_the_few_and_what_is_missing_is_a_flaw() -> None:
    few = Deep(10, 1.0, 0.5, 10, put=[10.0, 20.0], take=[5.0, 5.0], left=4, expected=4)
    many = Deep(1_000_010, 5.0, 4.0, 1_000_010, put=[5.0, 20.0], take=[4.0, 6.0], left=7, expected=7)
    found = {row.name: row for row in depth.told([few, many]).rows}
    assert all(name in GOALS for name in found)
    assert (found["depth, start"].measured, found["depth, put"].measured) == (4.0, 0.75)
    assert not any(row.flaw for row in found.values())
    many.waiting, many.left = 1, 8
    found = {row.name: row for row in depth.told([few, many]).rows}
    assert found["depth, many, take"].flaw == "1 of 1,000,010 jobs wait. 8 of 7 jobs are left"


# --- kills --------------------------------------------------------------------------------------------------

JOB = ("producer-0-1", 7)
OK = {JOB: "OK"}


def told_of(*words: str) -> list[Event]:
    """Return events with these kinds, a second apart: took, acking, acked, late. A + marks a redelivery."""
    return [Event(float(at), word.rstrip("+"), JOB, int(word.endswith("+"))) for at, word in enumerate(words)]


@pytest.mark.parametrize(
    ("answers", "events", "wrong"),
    [
        (OK, told_of("took", "acking", "acked"), []),
        (OK, told_of("took", "acking"), []),  # killed before the confirmation
        (OK, told_of("took", "took+", "acking", "acked"), []),
        (OK, told_of("took+", "acking", "acked"), []),  # another worker may have had it
        ({}, told_of("took", "acking", "acked"), []),  # put, and killed before the answer
        (OK, [], ["lost"]),
        (OK, told_of("took"), ["lost"]),
        (OK, told_of("took", "nacked"), ["lost"]),
        (OK, told_of("took", "took", "acking", "acked"), ["doubled"]),
        (OK, told_of("took", "took+", "took", "acking"), ["doubled"]),
        (OK, told_of("took", "acking", "acked", "took+"), ["again"]),
        ({JOB: "QUEUE_FULL"}, told_of("took", "acking"), ["unwanted"]),
        ({JOB: "QUEUE_FULL"}, [], []),
    ],
)
def test_what_was_put_is_taken_and_acked_and_says_so_when_it_comes_twice(
    answers: dict[tuple[str, int], str], events: list[Event], wrong: list[str]
) -> None:
    assert [a.what for a in judged(answers, reversed(events))] == wrong


def test_a_line_that_a_kill_cut_short_is_none() -> None:
    assert read_answers(["1.5 p-1 3 OK\n", "1.6 p-1 4 O"]) == {("p-1", 3): "OK"}
    assert read_events(["1.5 took p-1 3 0\n", "1.6 took p-1"]) == [Event(1.5, "took", ("p-1", 3), 0)]


def test_the_same_seed_draws_the_same_kills_and_as_many_of_each_kind() -> None:
    drawn = plan(50, 7)
    assert drawn == plan(50, 7) != plan(50, 8)
    kinds = Counter(kill.node.partition("-")[0].replace("heron", "node") for kill in drawn)
    assert kinds == dict.fromkeys(KINDS, 50)
    assert len({kill.node for kill in drawn}) == 5


def test_an_outcome_tells_what_is_wrong_and_where_the_logs_are() -> None:
    found = queue_kills.Outcome(7, [], dict(OK), told_of("took", "took+"), 2.0, kept="/tmp/kept")
    found.anomalies = judged(found.answers, found.events)
    by_name = {row.name: row for row in told(found).rows}
    assert all(name in GOALS for name in by_name)
    assert by_name["queue, lost"].flaw == "1. Logs: /tmp/kept"
    assert (by_name["queue, given again"].measured, by_name["queue, put"].measured) == (1, 1)


# --- tiny runs ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_tiny_run_of_all_who_are_here_loses_nothing_and_leaves_nothing(place: Path) -> None:
    done: list[None] = []
    wanted = Wanted(1, 300, cases=("apart, 100 B, 1", "1→1, 1 KiB, 16", "4→4, 100 B, 256"))
    report = measured(wanted, lambda: done.append(None))
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    assert len(done) == wanted.steps
    assert all(bool(row.missing) != bool(row.measured) for row in report.rows)


@pytest.mark.slow
def test_tiny_kills_of_each_kind_lose_nothing_and_leave_nothing(place: Path) -> None:
    done: list[None] = []
    report = queue_kills.measured(1, 7, 200, lambda: done.append(None))
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    by_name = {row.name: row.measured for row in report.rows}
    assert by_name["queue, put"] > 0 and by_name["queue, while killed"] > 0
    assert (len(done), report.details["seed"]) == (3, 7)


@pytest.mark.slow
def test_a_tiny_depth_counts_every_job_and_leaves_nothing(place: Path) -> None:
    done: list[None] = []
    report = depth.measured(5_000, 1, lambda: done.append(None))
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    assert len(done) == depth.steps(1)
