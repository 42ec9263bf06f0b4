"""B17 and C32: queues whose node is killed and restarted, with their consumers or without."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running
from tests.mesh.scenarios.serving import files_of
from tests.mesh.scenarios.test_queues import Taker, put
from tests.mesh.scenarios.topology import Processes, processes_of

RECOVERY = 5.0  # s after its start in which a node keeps messages for the consumers that had them
IN_TIME = 4.0  # s after its start: certainly before the end of that time
HOLDER = """
import asyncio, sys, mesh
async def main():
    async with mesh.connect(sys.argv[1]) as m, m.queue("jobs").consume() as jobs:
        held = [await anext(jobs) for _ in range(10)]
        print("holds", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def test_B17_unacked_messages_wait_for_their_consumer_after_a_restart_and_then_for_any() -> None:
    """The failover node of JBoss is the restarted node here, because its store has the queue."""

    async def scenario(a: RunningNode) -> None:
        while not await holds_ten_after_a_restart(a):
            pass  # this machine was too busy to look in time
        async with mesh.connect("a", environ=a.environ, timeout=LIMIT) as m:

            async def is_ready_again() -> bool:
                return await counted(m) == (10, 0)

            await eventually(is_ready_again)
            assert (await m.info()).uptime >= RECOVERY
            async with m.queue("jobs").consume() as jobs:
                again = [await anext(jobs) for _ in range(10)]
                assert [int(job.content) for job in again] == list(range(10))
                assert all(job.redelivered for job in again)
                await jobs.ack(again)
            assert await counted(m) == (0, 0)

    with running("a") as a:
        asyncio.run(scenario(a))


async def holds_ten_after_a_restart(a: RunningNode) -> bool:
    """Kill the node and the consumer of ten messages, restart the node, and check that it keeps them all.

    Return False if the node could be asked only when its time of recovery was over.
    """
    async with mesh.connect("a", environ=a.environ, timeout=LIMIT) as m:
        await m.queue("jobs").declare()
        await m.queue("jobs").purge()
        await put(m, range(10))
        consumer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, "a",
            stdout=asyncio.subprocess.PIPE, env={**os.environ, **a.environ},
        )  # fmt: skip
        assert consumer.stdout is not None
        assert await asyncio.wait_for(consumer.stdout.readline(), LIMIT) == b"holds\n"
        assert await counted(m) == (0, 10)
        a.kill()
        consumer.kill()
        await consumer.wait()
    await asyncio.to_thread(a.start)
    async with mesh.connect("a", environ=a.environ, timeout=LIMIT) as m:
        found = await counted(m)
        if (await m.info()).uptime > IN_TIME:
            return False
        assert found == (0, 10)
        return True


async def counted(m: Client) -> tuple[int, int]:
    """Return the numbers of messages that are ready, and that a consumer has or may have."""
    info = await m.queue("jobs").info()
    return info.ready, info.out


# --- groups ---------------------------------------------------------------------------------------------


@pytest.fixture
def c() -> Iterator[Processes]:
    with processes_of(files_of("a", "b", "c")) as c:
        yield c


def test_C32_a_group_has_one_node_which_gets_it_again_after_a_restart(c: Processes) -> None:
    """Artemis deals groups to the nodes in turn; Heronry computes the node from the name of the group."""

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            clients = {n: await stack.enter_async_context(c.connect(n, timeout=LIMIT)) for n in "abc"}
            await clients["a"].queue("jobs").declare(distribution="round_robin")
            takers = {n: await stack.enter_async_context(Taker(m)) for n, m in clients.items()}
            nodes = {
                group: await only_taker(clients["a"], takers, group, range(10 * n, 10 * n + 10))
                for n, group in enumerate(("one", "two", "three"))
            }
            for n in range(40):  # by chance, a node gets none of them once in four million times
                await put(clients["a"], [100 + n], group=f"group {n}")
            await eventually(lambda: total(takers) == 70)
            assert all(taker.had for taker in takers.values())
            for taker in takers.values():
                await taker.ack()

            pinned, other = nodes["one"], next(n for n in "abc" if n != nodes["one"])
            c[pinned].kill()
            await asyncio.to_thread(c[pinned].start)
            await eventually(lambda: has_consumers(clients[other], 3))
            assert await only_taker(clients[other], takers, "one", range(200, 210)) == pinned

    asyncio.run(scenario())


async def only_taker(putter: Client, takers: dict[str, Taker], group: str, numbers: range) -> str:
    """Put messages of a group, and return the node whose consumer gets all of them, in order."""
    before = {n: len(taker.had) for n, taker in takers.items()}
    await put(putter, numbers, group=group)
    await eventually(lambda: total(takers) >= sum(before.values()) + len(numbers))
    got = {n: taker.had[before[n] :] for n, taker in takers.items() if taker.had[before[n] :]}
    assert list(got.values()) == [list(numbers)]
    return next(iter(got))


def total(takers: dict[str, Taker]) -> int:
    return sum(len(taker.had) for taker in takers.values())


async def has_consumers(m: Client, count: int) -> bool:
    info = await m.queue("jobs").info()
    return sum(part.consumers for part in info.parts) == count
