"""Queue consumers whose node disconnects and returns, in a mesh in memory with virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.errors import LeaseOver, NoQueue
from mesh.features.queues.client.queue import Queue
from mesh.testing import Mesh
from tests.mesh.meshes import LIMIT, passing
from tests.seeds import scenarios


@asynccontextmanager
async def queue(count: int) -> AsyncIterator[tuple[Mesh, Client, Queue]]:
    """Yield a mesh in memory, a client, and its queue with `count` messages."""
    async with asyncio.timeout(LIMIT), Mesh(clock="virtual") as net, net.connect() as m:
        q = m.queue("jobs")
        await q.declare()
        await q.put_many([b"%d" % i for i in range(count)])
        yield net, m, q


def run(scenario: Callable[[], Any]) -> None:
    asyncio.run(scenario())


def killed(net: Mesh) -> None:
    net.kill("a")
    net.start("a")


@pytest.mark.parametrize("times", [1, 2])
def test_what_a_consumer_has_it_keeps_when_its_node_is_killed_and_back_in_time(times: int) -> None:
    async def scenario() -> None:
        async with queue(6) as (net, _, q), q.consume(prefetch=4) as jobs:
            taken = [await anext(jobs) for _ in range(2)]
            acked = asyncio.create_task(taken[1].ack())
            for _ in range(times):
                killed(net)
                await net.pass_time(1.0)
            await passing(net, acked)
            await passing(net, taken[0].ack())
            rest = [await passing(net, anext(jobs)) for _ in range(4)]
            assert [job.text for job in rest] == ["2", "3", "4", "5"]
            assert [job.attempt for job in rest[:2]] == [1, 1], "they were here all the time"
            await passing(net, jobs.ack(rest))
            info = await q.info()
            assert (info.ready, info.out) == (0, 0)

    run(scenario)


def test_who_comes_back_too_late_has_lost_it_and_is_told_so() -> None:
    async def scenario() -> None:
        async with queue(1) as (net, m, q), net.connect(client="other") as another:
            async with q.consume() as jobs, another.queue("jobs").consume() as others:
                job = await anext(jobs)
                shell = m._shell
                find, shell._find = shell._find, _nowhere
                shell.core.on_disconnected(shell.context.now, shell.core.line.key)  # and it cannot dial
                again = await passing(net, anext(others))
                assert (again.text, again.attempt) == (job.text, 2) and 5 <= net.time < 8
                shell._find = find
                with pytest.raises(LeaseOver):
                    await passing(net, job.ack())
                await passing(net, again.ack())

    def _nowhere(home: str, place: str) -> Any:
        raise mesh.NodeNotFound("it is away.")

    run(scenario)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("every", scenarios([10, 1, 7]))
def test_nothing_is_lost_and_what_comes_twice_says_so_whenever_the_node_dies(every: int, turns: int) -> None:
    """The node dies some turns after an ack: before it is sent, in transit, on disk, or answered."""

    async def scenario() -> None:
        async with queue(30) as (net, _, q):
            seen: Counter[str] = Counter()
            unflagged: Counter[str] = Counter()
            done: list[str] = []
            kills = 0

            async def work(jobs: mesh.Consumer[Any]) -> None:
                nonlocal kills
                async for job in jobs:
                    seen[job.text] += 1
                    unflagged[job.text] += not job.redelivered
                    acked = asyncio.create_task(job.ack())
                    if seen.total() % every == 0 and kills < 6:
                        kills += 1
                        for _ in range(turns):
                            await asyncio.sleep(0)
                        killed(net)
                    try:
                        await acked
                        done.append(job.text)
                    except LeaseOver:
                        pass

            async with q.consume(prefetch=4) as jobs:
                task = asyncio.create_task(work(jobs))
                while len(seen) < 30 or await _left(net, q):
                    await net.pass_time(0.1)
                await net.pass_time(6.0)
                assert not await _left(net, q) and not task.done()
            await task
            assert kills == min(6, 30 // every)
            assert sorted(map(int, seen)) == [*range(30)], "each was given to it"
            assert max(unflagged.values()) == 1, "what came twice says so"
            assert len(set(done)) == len(done), "what was acked does not come again"

    async def _left(net: Mesh, q: Queue) -> int:
        info = await passing(net, q.info())
        return int(info.ready + info.out + info.delayed)

    run(scenario)


def test_a_node_without_the_queue_ends_it() -> None:
    async def scenario() -> None:
        async with queue(2) as (net, m, q), q.consume() as jobs:
            await anext(jobs)
            killed(net)
            other = m.queue("jobs")
            await passing(net, other.delete(if_unused=False))
            with pytest.raises(NoQueue):
                await passing(net, anext(jobs))
                await passing(net, anext(jobs))

    run(scenario)
