"""The cases of peers: what they send and over which transport, and the base of each ratio."""

import argparse
import asyncio
import re
from pathlib import Path

import psutil
import pytest

import mesh
from mesh.errors import MeshError
from tools.benchmarks.loads.load import Load
from tools.benchmarks.measures.contest import entries, measured, rows, steps
from tools.benchmarks.peers import ours
from tools.benchmarks.peers.cases import CASES, cases_of
from tools.benchmarks.peers.client import Sending, Tally
from tools.benchmarks.peers.servers import Server, start
from tools.benchmarks.peers.sessions import in_sessions
from tools.benchmarks.peers.trial import Trial
from tools.benchmarks.peers.who import PEERS, picked
from tools.running.processes import Processes

CPU = {"server": 0.5, "senders": 1.0, "receivers": 2.0}
BY_TOPICS = "1000-topics: heronry / 1-1: heronry"


def trials(case: str, who: str, *figures: float) -> list[Trial]:
    return [Trial(case, who, turn, figure, "", CPU, 20.0) for turn, figure in enumerate(figures)]


def test_cases_are_picked_by_their_names() -> None:
    assert cases_of("") == list(CASES)
    assert cases_of("curve, 1-1,") == ["1-1", "curve"], "in their own order"
    with pytest.raises(argparse.ArgumentTypeError, match="no case is called 'curves'; there are 1-1, topics"):
        cases_of("1-1,curves")


def test_only_picked_cases_are_planned_and_told() -> None:
    assert [name for name, _ in entries(picked(""), ["curve"])] == ["curve"]
    assert steps(picked("nats"), ["curve"]) == 2
    found = [row.name for row in rows([], picked(""), ["curve", "1000-topics"])]
    assert found == [
        "1000-topics: heronry",
        "curve: heronry, tcp",
        "curve: heronry, curve",
        "curve: heronry, curve / heronry, tcp",
    ]
    assert BY_TOPICS in [row.name for row in rows([], picked(""), ["1-1", "1000-topics"])]


def test_a_ratio_takes_its_base_from_another_case_of_the_same_round() -> None:
    many, one = trials("1000-topics", "heronry", 8.0, 3.0, 2.0), trials("1-1", "heronry", 10.0, 10.0, 4.0)
    [row] = [row for row in rows([*many, *one], picked("nats")) if row.name == BY_TOPICS]
    assert (row.measured, row.note, row.is_good) == (0.5, "0.30 to 0.80", True)
    assert (row.goal.limit, row.goal.more) == (0.5, True)
    assert row.goal.what.endswith("one pattern: heronry, of 1→1, 100 B: heronry")


def test_curve_is_set_against_the_same_without_keys() -> None:
    found = rows([*trials("curve", "heronry, curve", 5.0), *trials("curve", "heronry, tcp", 10.0)], PEERS)
    [row] = [row for row in found if row.name == "curve: heronry, curve / heronry, tcp"]
    assert (row.measured, row.goal.limit, row.is_good) == (0.5, 0.6, False)


def test_a_thousand_topics_are_one_subscription_and_sessions_are_ten_thousand() -> None:
    [load] = CASES["1000-topics"].loads("x", PEERS["heronry"], 1_000_000, 1)
    assert (load.topics, load.exact, load.messages) == (1_000, False, 1_000_000)
    assert all(
        load.exact for name in ("1-1", "topics") for load in CASES[name].loads("x", PEERS["nats-c"], 9, 1)
    )
    for who in CASES["sessions"].who:
        [load] = CASES["sessions"].loads("x", PEERS[who], 1_000_000, 1)
        assert (load.messages, load.at_a_time) == (10_000, 100)
    assert (CASES["sessions"].unit, CASES["1-1"].unit, CASES["500/s"].unit) == ("sessions/s", "msg/s", "ms")


def test_sessions_take_a_message_each_and_never_more_than_so_many_at_a_time() -> None:
    sent: list[int] = []
    now, most = 0, 0

    async def session(key: str, content: bytes) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        sent.append(int.from_bytes(content[:8], "little"))
        now -= 1

    told = asyncio.run(in_sessions(Load("x", "x", 50, at_a_time=7), session))
    assert (sorted(sent), most) == (list(range(50)), 7)
    assert told["answered"] > told["began"]


def test_between_sessions_there_is_no_order_but_each_message_comes_once() -> None:
    load = Load("x", "x", 4, at_a_time=2)
    contents = [content for _, content in Sending(load).messages()]
    tally = Tally(load)
    tally.take_all([contents[number] for number in (1, 0, 2, 2)])
    told = tally.told()
    assert (told["lost"], told["doubled"], told["disordered"]) == (1, 1, 0)


def connections(server: Server) -> tuple[set[str], int]:
    """Return the hosts where a server listens, and the number of connections to its own port."""
    port = int(server.inward.rpartition(":")[2])
    found = [c for p in server.programs for c in psutil.Process(p.pid).net_connections(kind="inet")]
    listening = {c.laddr.ip for c in found if c.status in ("LISTEN", "NONE")}
    return listening, sum(c.status == "ESTABLISHED" and c.laddr.port == port for c in found)


async def has_keys(server: Server, environ: dict[str, str]) -> bool:
    """Return whether the node reports keys to a client that comes over TCP."""
    async with mesh.connect(server.inward, environ=environ) as m:
        assert connections(server) == ({"127.0.0.1"}, 1)
        return bool((await m.call("ls"))["keys"])


async def dialled_without_keys(server: Server, environ: dict[str, str]) -> None:
    async with mesh.connect(
        server.inward, environ=environ, timeout=1.0
    ):  # a refusing address is tried for so long
        pass


@pytest.mark.slow
def test_both_nodes_of_curve_are_dialled_over_tcp_and_only_one_has_keys(place: Path) -> None:
    with Processes() as processes:
        environ = {"MESH_STATE_DIR": str(processes.place)}
        tcp, curve, node = (start(processes, name) for name in ("node-tcp", "node-curve", "node"))
        assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", tcp.outward) and tcp.inward == tcp.outward
        assert not asyncio.run(has_keys(tcp, environ))
        assert asyncio.run(has_keys(curve, environ))
        elsewhere = processes.place / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        with pytest.raises(MeshError):
            asyncio.run(dialled_without_keys(curve, {"MESH_STATE_DIR": str(elsewhere)}))
        assert node.inward == "stork"


@pytest.mark.slow
def test_each_session_of_ours_is_a_client_of_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Processes() as processes:
        monkeypatch.setenv("MESH_STATE_DIR", str(processes.place))
        node = start(processes, "node")
        publishers = asyncio.run(heard(node, Load("x", "sessions/0", 12, at_a_time=5)))
        assert (len(publishers), len(set(publishers))) == (12, 12)


async def heard(node: Server, load: Load) -> list[str]:
    """Return the sender of each message that arrives."""
    async with mesh.connect(node.outward) as m, m.subscribe(load.keys[0], initial=False) as subscription:
        await ours.send(node.inward, load)
        return [str((await anext(subscription)).sender) for _ in range(load.messages)]


@pytest.mark.slow
def test_a_tiny_run_of_one_case_tries_nothing_else(place: Path) -> None:
    done: list[None] = []
    cases = ["1000-topics", "1-4", "4-4", "500/s"]
    report = measured(1, 1_000, 1, picked("zmq-py"), lambda: done.append(None), cases)
    assert [row.flaw for row in report.rows] == [""] * len(report.rows)
    assert all(bool(row.missing) != bool(row.measured) for row in report.rows)
    assert {trial["case"] for trial in report.details["trials"]} == set(cases)
    assert len(done) == steps(picked("zmq-py"), cases)
