"""The comparison with the installed peers: loads, figures and ratios. Speed is not tested."""

import argparse
import json
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT
from tools.benchmarks.loads.load import Load
from tools.benchmarks.measures import contest
from tools.benchmarks.measures.contest import MISSING, in_turns, measured, rows
from tools.benchmarks.pages.compare import compared, earlier
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.peers_goals import CPU
from tools.benchmarks.pages.report import Report, Row, shown, write
from tools.benchmarks.peers.cases import CASES, row_of
from tools.benchmarks.peers.client import Sending, Tally
from tools.benchmarks.peers.ratios import RATIOS
from tools.benchmarks.peers.servers import Server
from tools.benchmarks.peers.trial import Trial, judged, planned, try_out
from tools.benchmarks.peers.who import PEERS, picked
from tools.running.processes import Processes

ONE_OF_EACH = ["1-1", "embedded", "curve", "letters", "durable", "sessions"]  # all can take part

OURS = [name for name, who in PEERS.items() if who.is_ours]


def test_peers_are_picked_by_their_names_or_by_their_servers() -> None:
    assert picked("") == list(PEERS)
    assert picked("zmq-c, nats") == [*OURS, "nats-c", "zmq-c", "nats-py", "nats-sessions-py", "jetstream-c"]
    with pytest.raises(argparse.ArgumentTypeError, match="no peer is called 'rabbit'; there are nats, zmq"):
        picked("nats,rabbit")


def test_each_of_a_round_is_the_first_once() -> None:
    assert [list(in_turns("abc", turn)) for turn in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
    assert list(in_turns([], 7)) == []


def test_every_figure_and_every_ratio_has_its_goal_and_those_who_take_part_exist() -> None:
    assert all(who in PEERS for case in CASES.values() for who in case.who)
    assert all(row.name in GOALS for row in rows([], list(PEERS)))
    figures = {row_of(name, who) for name, case in CASES.items() for who in case.who}
    assert all(set(ratio.rows) <= figures for ratio in RATIOS)
    goals = {row.name: (row.goal.limit, row.goal.more) for row in rows([], list(PEERS))}
    assert goals["1-1: heronry / nats-c"] == (1.5, True)
    assert goals["500/s: heronry / zmq-py"] == (1.3, False)


def test_a_case_is_shared_by_its_senders_and_slow_ones_send_less() -> None:
    assert [load.messages for load in CASES["4-4"].loads("x", PEERS["heronry"], 8_000, 1)] == [2_000] * 4
    [load] = CASES["1-1"].loads("x", PEERS["nats-py"], 8_000, 1)
    assert (load.root, load.messages) == ("x/0", 2_000)
    [load] = CASES["500/s"].loads("x", PEERS["nats-c"], 8_000, 3)
    assert (load.rate, load.messages) == (500, 1_500)
    [load] = CASES["topics"].loads("x", PEERS["nats-c"], 1, 1)
    assert load.messages == load.topics, "each topic is used"


def test_no_two_trials_share_a_topic() -> None:
    plans = [planned(c, w, t, 10, 1) for t in (0, 1) for c in CASES for w in CASES[c].who]
    roots = [load.root for plan in plans for load in plan.loads]
    assert len(set(roots)) == len(roots)


def test_each_client_is_told_the_same_load() -> None:
    load = Load("1→1", "1-1/0/3/0", 20, 64, 2, rate=5, reader=1)
    node, nats = Server((), "stork", "stork"), Server((), "nats://here", "nats://here")
    assert PEERS["heronry, many"].sender(node, load)[2:-1] == ["tools.benchmarks.peers.ours", "send", "stork"]
    assert Load.unpacked(PEERS["heronry, many"].sender(node, load)[-1]).many
    *_, module, role, address, packed = PEERS["nats-py"].receiver(nats, load)
    assert (module, role, address) == ("tools.benchmarks.peers.nats_py", "receive", "nats://here")
    assert Load.unpacked(packed) == load
    program, *words = PEERS["jetstream-c"].sender(nats, load)
    assert Path(program).name == "nats-c"
    assert words == ["store", "nats://here", "1-1/0/3/0", "20", "64", "2", "5", "1-1-0-3-0-1.ready"]


SENT = [{"began": 10.0, "answered": 14.0, "late": 0.0}, {"began": 11.0, "answered": 15.0, "late": 0.002}]
CAME = [{"last": 12.0, "lost": 0, "doubled": 0, "disordered": 0, "p50": 0.001, "p99": 0.004}]


def test_a_trial_is_judged_from_the_first_post_to_the_last_arrival_or_answer() -> None:
    blank = Trial("1-1", "heronry", 0)
    assert judged(blank, CASES["1-1"], 100, CAME, SENT).figure == 50.0
    assert judged(blank, CASES["durable"], 100, [], SENT).figure == 20.0
    late = judged(blank, CASES["500/s"], 100, CAME, SENT)
    assert (late.figure, late.p99, late.late) == (1.0, 4.0, 2.0)
    lost = judged(blank, CASES["1-1"], 100, [*CAME, {**CAME[0], "lost": 3}], SENT)
    assert (lost.figure, lost.flaw) == (0.0, "lost 3, doubled 0, disordered 0")


def trials(case: str, who: str, *figures: float, flaw: str = "") -> list[Trial]:
    cpu = {"server": 0.5, "senders": 1.0, "receivers": 2.0}
    return [Trial(case, who, turn, f, flaw, cpu, 20.0) for turn, f in enumerate(figures)]


def test_ratios_are_the_medians_of_the_rounds_own_and_who_is_missing_is_said() -> None:
    ours, theirs = trials("1-1", "heronry", 30.0, 3.0, 30.0), trials("1-1", "nats-c", 10.0, 1.0, 20.0)
    found = {row.name: row for row in rows([*ours, *theirs], picked("nats"))}
    assert found["1-1: heronry / nats-c"].measured == 3.0
    assert found["1-1: heronry / nats-c"].is_good
    assert found["1-1: nats-c"].note == "publish; CPU 0.50, clients 1.00 + 2.00 µs; 20 MB"
    assert (found["1-1: nats-py"].missing, found["1-1: heronry / nats-py"].missing) == (MISSING, MISSING)
    assert "1-1: zmq-c" not in found, "who was not picked has no row"


def test_who_is_not_installed_spoils_nothing_and_is_no_good_figure(tmp_path: Path) -> None:
    report = Report("peers", rows(trials("1-1", "heronry", 1.0), picked("nats")))
    assert report.is_clean
    table = shown(report)
    assert {"not here"} == {cell for cell in table.columns[2].cells if "here" in str(cell)}
    assert MISSING in list(table.columns[4].cells)
    written = json.loads(write(report, tmp_path).read_text())["rows"]
    assert [row["good"] for row in written if row["missing"]] == [False] * sum(
        bool(r.missing) for r in report.rows
    )


def test_a_peer_that_lost_something_has_no_figure_and_no_ratio() -> None:
    ours, theirs = trials("1-1", "heronry", 3.0), trials("1-1", "nats-c", 0.0, flaw="lost 1")
    found = {row.name: row for row in rows([*ours, *theirs], picked("nats"))}
    assert found["1-1: nats-c"].flaw == found["1-1: heronry / nats-c"].flaw == "nats-c: lost 1"
    assert not found["1-1: heronry"].flaw


def test_messages_carry_their_numbers_and_when_they_are_due() -> None:
    sending = Sending(Load("x", "x", 5, topics=2, rate=1_000_000))
    messages = list(sending.messages())
    assert [key for key, _ in messages] == ["x/0", "x/1", "x/0", "x/1", "x/0"]
    assert {len(content) for _, content in messages} == {100}
    tally = Tally(sending.load)
    for _, content in messages:
        tally.take(content)
    told = tally.told()
    assert tally.is_full and 0.0 < told["p50"] <= told["p99"] <= told["max"]
    assert (told["lost"], told["doubled"], told["disordered"]) == (0, 0, 0)


def test_what_is_lost_doubled_or_disordered_within_a_topic_is_counted() -> None:
    load = Load("x", "x", 6, topics=2)
    contents = [content for _, content in Sending(load).messages()]
    tally = Tally(load)
    for number in (1, 0, 2, 2, 5, 3):  # 1 before 0 is another topic, 5 before 3 is not; 4 is lost
        tally.take(contents[number])
    told = tally.told()
    assert (told["lost"], told["doubled"], told["disordered"]) == (1, 1, 1)


def test_an_earlier_run_is_compared_row_by_row(tmp_path: Path) -> None:
    old = Report("latency", [Row("p50", 2.0), Row("p99", 5.0, flaw="lost 1"), Row("max", 9.0, missing="x")])
    path = write(old, tmp_path)
    assert earlier(str(path)) == earlier(str(tmp_path)) == {"p50": 2.0}
    table = compared(Report("latency", [Row("p50", 1.0), Row("p99", 5.0)]), earlier(str(path)))
    assert [list(column.cells) for column in table.columns] == [
        [GOALS["p50"].what],
        ["2 ms"],
        ["1 ms"],
        ["0.50"],
    ]
    assert list(compared(Report("latency", []), {}).columns[0].cells) == ["no figure in common"]


@pytest.mark.parametrize("text", ["", "[]", '{"rows": [1]}', '{"rows": [{}]}'])
def test_what_is_no_earlier_run_is_refused_before_anything_is_measured(text: str, tmp_path: Path) -> None:
    path = tmp_path / "latency.json"
    path.write_text(text)
    with pytest.raises(argparse.ArgumentTypeError, match=r"latency\.json is no result of tools/bench \("):
        earlier(str(path))
    with pytest.raises(argparse.ArgumentTypeError, match=r"none\.json is no result"):
        earlier(str(tmp_path / "none.json"))


@pytest.mark.slow
def test_a_server_that_ends_or_cannot_be_reached_is_a_flaw_and_leaves_nothing(place: Path) -> None:
    plan = planned("1-1", "heronry", 0, 10, 1)
    with Processes() as processes:
        gone = processes.launch("gone", sys.executable, "-c", "import sys; sys.exit('no room')")
        processes.until(gone.ended, LIMIT, "it did not end")
        trial = try_out(processes, Server((gone,), "stork", "stork"), plan)
        assert trial.flaw == "gone ended by itself: no room"
        here = processes.launch("here", sys.executable, "-c", "import time; time.sleep(600)")
        trial = try_out(processes, Server((here,), "stork", "stork"), plan)
        assert trial.flaw.startswith("receiver-0 ended by itself:") and "stork" in trial.flaw
        assert not here.ended()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_tiny_run_of_all_who_are_here_loses_nothing_and_leaves_nothing(place: Path) -> None:
    done: list[None] = []
    report = measured(1, 500, 1, picked(""), lambda: done.append(None), ONE_OF_EACH)
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    here = {name for name, who in PEERS.items() if who.is_installed}
    assert {trial["who"] for trial in report.details["trials"]} == here
    assert len(done) == contest.steps(picked(""), ONE_OF_EACH)
    # Few messages may take the node less than a tick of its clock.
    assert all(bool(row.missing) != bool(row.measured) for row in report.rows if row.name != CPU)
