"""Rows 20, 25, 26 and 36: a node that stands still or starves, while others continue."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.rows.traffic import Traffic, traffic
from tests.mesh.running import LIMIT, RunningNode, running
from tools.lab_parts.inside import on_core

NAMES = ("heron", "stork", "egret")
RATE = 50  # messages a second of each node
HOGS = 8  # programs that do nothing but take the core
STARVED = 80  # messages of each node meanwhile, 10 a second
BLOCKED = 3.0  # s
CORES = sorted(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def three() -> Iterator[dict[str, RunningNode]]:
    with nodes_of(*NAMES) as nodes:
        yield nodes


@contextmanager
def nodes_of(*names: str, cores: dict[str, int] | None = None) -> Iterator[dict[str, RunningNode]]:
    """Nodes that are masters of their own messages, each on its core of `cores`, if given."""
    with ExitStack() as stack:
        nodes: dict[str, RunningNode] = {}
        for name in names:
            inside = on_core(cores[name]) if cores else []
            node = running(name, beside=nodes.get(names[0]), inside=inside)
            nodes[name] = stack.enter_context(node)
        yield nodes


@asynccontextmanager
async def busy(nodes: dict[str, RunningNode], rate: float = RATE) -> AsyncIterator[Traffic]:
    """Clients of all nodes publish to each other."""
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(mesh.connect(name, environ=node.environ))
            for name, node in nodes.items()
        }
        async with traffic(clients, clients, rate) as t:
            yield t


async def deaths(nodes: dict[str, RunningNode], at: str) -> list[str]:
    """Return the nodes that a node has reported as dead since its start."""
    async with connected(nodes, at) as client:
        events = (await client.call("events"))["events"]
    return [event["node"] for event in events if event["kind"] == "dead"]


def connected(nodes: dict[str, RunningNode], at: str) -> Client:
    return mesh.connect(at, environ=nodes[at].environ)


async def states(nodes: dict[str, RunningNode], at: str) -> set[str]:
    async with connected(nodes, at) as client:
        return {row["state"] for row in (await client.call("ls"))["nodes"]}


@pytest.mark.parametrize("seconds", [pytest.param(1, marks=pytest.mark.smoke), 2])
def test_row_20_a_node_that_stands_still_for_seconds_is_not_called_dead_and_nothing_is_lost(
    three: dict[str, RunningNode], seconds: int
) -> None:
    async def scenario() -> None:
        async with busy(three) as t:
            three["stork"].pause()
            await t.post_more(seconds * RATE)
            three["stork"].resume()
            await t.heard_more()

            async def all_are_alive() -> bool:
                return [await states(three, at) for at in three] == [{"alive"}] * 3

            await eventually(all_are_alive)
            await t.settled()
        assert [await deaths(three, at) for at in three] == [[], [], []]

    asyncio.run(scenario())


def test_row_25_a_node_without_a_processor_calls_nobody_dead_who_is_well() -> None:
    """Other programs take the core of one node. The other nodes have another core, if there is one."""
    names = ("heron", "stork", "egret", "ibis")
    cores = {name: CORES[0] if name == "ibis" else CORES[-1] for name in names}

    async def scenario() -> None:
        async with busy(nodes, rate=10) as t:
            with hogs(CORES[0]):
                await t.post_more(STARVED)
            await t.heard_more()
            await t.settled()
        called_dead = {name for at in nodes for name in await deaths(nodes, at)}
        assert called_dead <= {"ibis"}

    with nodes_of(*names, cores=cores) as nodes:
        asyncio.run(scenario())


@contextmanager
def hogs(core: int) -> Iterator[None]:
    programs = [
        subprocess.Popen([*on_core(core), sys.executable, "-c", "while True: pass"]) for _ in range(HOGS)
    ]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


# A strategy of a user, which is slow once: when there is a file to remove.
SLEEPY = f"""
import os, time
from mesh.balancers.base import Strategy

class Sleepy(Strategy):
    def __init__(self, jitter):
        self._file = os.environ["SLEEPY"]
    def pick(self, candidates, message=None):
        if os.path.exists(self._file):
            os.remove(self._file)
            time.sleep({BLOCKED})
        return min(candidate.node for candidate in candidates)
"""
MASTERS = "".join(
    f'[nodes.{name}]\n[[nodes.{name}.master]]\ndomains = ["NEWS"]\n' for name in ("stork", "egret")
)


def test_row_26_a_strategy_that_takes_seconds_costs_its_node_these_and_nobody_else_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    about = tmp_path / "sleepy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sleepy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[mesh.balancers]\nSleepy = sleepy:Sleepy\n")
    nap, file = tmp_path / "nap", tmp_path / "mesh.toml"
    file.write_text(f'[balancing]\nstrategy = "Sleepy"\n[nodes.heron]\n{MASTERS}')
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}")
    monkeypatch.setenv("SLEEPY", str(nap))

    async def scenario() -> None:
        async with busy(nodes) as t, connected(nodes, "stork") as s, connected(nodes, "heron") as h:
            await s.publish("news", b"first", domain="NEWS")
            nap.touch()
            assert [message.content for message in await h.get("news", domain="NEWS")] == [b"first"]
            assert not nap.exists()
            await t.heard_more()
            assert (await h.call("info"))["lag_worst"] > BLOCKED / 2
            said = [
                event["text"] for event in (await h.call("events"))["events"] if event["kind"] == "plug-in"
            ]
            assert len(said) == 1 and said[0].startswith("balancer Sleepy blocked this node for ")
            await t.settled()
        assert [await deaths(nodes, at) for at in nodes] == [[], [], []]

    with ExitStack() as stack:
        heron = stack.enter_context(running("heron", options=("--config", str(file))))
        others = {name: running(name, beside=heron, options=("--config", str(file))) for name in NAMES[1:]}
        nodes = {"heron": heron, **{name: stack.enter_context(it) for name, it in others.items()}}
        asyncio.run(scenario())


def test_row_36_while_one_takes_nothing_more_the_others_hear_each_other_as_ever(
    three: dict[str, RunningNode],
) -> None:
    """The node stands still until messages for it fill every window."""
    big = b"." * 100_000

    async def scenario() -> None:
        async with (
            busy(three) as t,
            connected(three, "heron") as h,
            connected(three, "egret") as e,
            connected(three, "stork") as s,
            e.subscribe("big") as ear,
            s.subscribe("big") as stalled,
        ):
            await t.heard_more()
            three["stork"].pause()
            async with asyncio.timeout(LIMIT):
                for _ in range(100):  # 10 MB
                    await h.publish("big", big, persistent=True)
                    await anext(ear)
            three["stork"].resume()
            async with asyncio.timeout(LIMIT):
                assert [len((await anext(stalled)).content) for _ in range(100)] == [len(big)] * 100
            await t.settled()

    asyncio.run(scenario())
