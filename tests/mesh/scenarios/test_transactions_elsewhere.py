"""Transactions with a message for another master on real nodes, which are killed at each step."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.hearing import Ear, hearing, nothing_more
from tests.mesh.scenarios.topology import RUGBY, Processes, a0, processes_of

# Crash points of bilbo, where the transaction is committed, and of heron, the master behind frodo.
POINTS = [
    ("bilbo", "commit.before:1"),
    ("bilbo", "commit.after:1"),
    ("bilbo", "forward.before:1"),
    ("bilbo", "forward.after:1"),
    ("heron", "commit.before:1"),
    ("heron", "commit.after:1"),
    ("heron", "outcome.before:1"),
]


async def commit(m: mesh.Client, job: mesh.Job, number: int) -> list[mesh.Published]:
    async with m.transaction(timeout=90) as tx:
        tx.ack(job)
        tx.put("next", str(number))
        tx.publish("K", str(number), domain=RUGBY)
    assert [each.state for each in tx.results] == ["OK", "FORWARD_WARNING"]
    return tx.results


async def commit_with_kill(c: Processes, m: mesh.Client, job: mesh.Job, number: int) -> None:
    """Commit, while a node dies at its crash point and is started again."""
    name, point = POINTS[number - 1]
    await asyncio.to_thread(c[name].kill)
    await asyncio.to_thread(c[name].start, point)
    task = asyncio.create_task(commit(m, job, number))
    assert await asyncio.to_thread(c[name].wait) == 137
    await asyncio.to_thread(c[name].start)
    _, far = await task
    assert (await m.final(far)).state == "OK"


async def scenario(c: Processes) -> None:
    async with c.connect("frodo") as reader, hearing(reader, "K", RUGBY) as ear, c.connect("bilbo") as m:
        jobs, after = m.queue("jobs"), m.queue("next")
        await jobs.declare()
        await after.declare()
        await jobs.put("1")
        async with jobs.consume(prefetch=1) as consumer:
            for number in range(1, len(POINTS) + 1):
                job = await anext(consumer)
                assert job.text == str(number)
                await commit_with_kill(c, m, job, number)
                assert (await jobs.info()).out == 0
                await jobs.put(str(number + 1))
        await check_all(m, after, ear)


async def check_all(m: mesh.Client, after: mesh.Queue, ear: Ear) -> None:
    numbers = [str(number) for number in range(1, len(POINTS) + 1)]
    assert [each.text for each in await after.peek(100)] == numbers
    await eventually(lambda: len(ear.contents) >= len(POINTS))
    await nothing_more(m, ear, domain=RUGBY)
    assert [content.decode() for content in ear.contents] == numbers


@pytest.mark.slow
def test_a_node_killed_at_any_step_sends_all_of_a_transaction_once_and_in_order() -> None:
    with processes_of(a0("heron", "frodo", "bilbo")) as c:
        asyncio.run(asyncio.wait_for(scenario(c), 400))
