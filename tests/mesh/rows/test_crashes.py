"""Rows 14, 18 and 19: nodes and clients that are killed, one or all at once."""

import asyncio
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

import mesh
from mesh.shell.crashpoints import KILLED
from tests.mesh.rows.traffic import traffic
from tests.mesh.running import LIMIT, RunningNode, running
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.pages import ROOT
from tools.benchmarks.trials.history import read_answers

BURST = 2000
LOOPS = 20
NAMES = ("heron", "stork", "egret")


@pytest.fixture(scope="module")
def three() -> Iterator[dict[str, RunningNode]]:
    with ExitStack() as stack:
        nodes: dict[str, RunningNode] = {}
        for name in NAMES:
            nodes[name] = stack.enter_context(running(name, beside=nodes.get(NAMES[0])))
        yield nodes


def test_row_14_of_a_publisher_that_is_killed_in_a_burst_a_prefix_is_there(
    three: dict[str, RunningNode], tmp_path: Path
) -> None:
    heron, topic, answers = three["heron"], f"burst/{secrets.token_hex(4)}", tmp_path / "answers"

    async def scenario() -> None:
        async with (
            mesh.connect("stork", environ=heron.environ) as s,
            hearing(s, topic) as ear,
            mesh.connect("heron", environ=heron.environ) as h,
        ):
            publisher = start_publisher(heron, topic, answers)
            await ear.heard(BURST)
            publisher.kill()
            publisher.wait(LIMIT)
            await nothing_more(h, ear)
        words = [content.decode().split(" ") for content in ear.contents]
        count = len(words)
        assert [int(word[1]) for word in words] == list(range(1, count + 1))
        assert {len(content) for content in ear.contents} == {100}
        answered = read_answers(answers.read_text().rpartition("\n")[0].splitlines())
        assert 0 < max(answered) <= count
        assert {answer.state for answer in answered.values()} == {"OK"}

    asyncio.run(scenario())


def start_publisher(node: RunningNode, topic: str, answers: Path) -> "subprocess.Popen[bytes]":
    """Start a program that posts persistent numbers, and writes down the answers."""
    arguments = [node.name, topic, "", "p", "5000", str(answers)]
    return subprocess.Popen(
        [sys.executable, "-m", "tools.benchmarks.loads.kill_publisher", *arguments],
        env={**node.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.smoke
def test_row_18_nothing_that_was_answered_is_lost_when_all_nodes_are_killed_at_once(
    three: dict[str, RunningNode],
) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(mesh.connect(name, environ=node.environ))
                for name, node in three.items()
            }
            async with traffic(clients, clients, rate=100) as t:
                for _ in range(2):
                    await t.heard_more(50)
                    for node in three.values():
                        node.kill()
                    await asyncio.gather(*(asyncio.to_thread(node.start) for node in three.values()))
                await t.heard_more(50)
                await t.settled()

    asyncio.run(scenario())


def test_row_19_a_node_that_dies_of_its_work_twenty_times_starts_each_time_and_loses_nothing(
    three: dict[str, RunningNode],
) -> None:
    """The node dies when it is about to answer. The client that waits for the answer makes it die again."""
    heron = three["heron"]

    async def scenario() -> None:
        async with (
            mesh.connect("heron", environ=heron.environ) as h,
            mesh.connect("stork", environ=heron.environ) as s,
        ):
            async with traffic({"heron": h}, {"stork": s}, rate=20) as t:
                boot = heron.it["boot"]
                heron.kill()
                for _ in range(LOOPS):
                    await asyncio.to_thread(heron.start, "answer.before")
                    assert await asyncio.to_thread(heron.wait) == KILLED
                await asyncio.to_thread(heron.start)
                assert heron.it["boot"] == boot + LOOPS + 1
                await t.heard_more()
                await t.settled()

    asyncio.run(scenario())
