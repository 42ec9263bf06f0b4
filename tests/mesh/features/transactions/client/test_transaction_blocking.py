"""Transactions without an event loop, and over a killed node."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from tests.mesh.running import RunningNode, running


@pytest.mark.slow
def test_a_blocking_client_commits() -> None:
    with running("a") as a, mesh.sync.connect(environ=a.environ) as m:
        jobs, after = m.queue("jobs"), m.queue("next")
        jobs.declare()
        after.declare()
        jobs.put("1")
        job = jobs.get(timeout=30)
        assert job is not None
        with job, m.transaction() as tx:
            tx.ack(job)
            tx.put("next", "2")
        assert [each.state for each in tx.results] == ["OK"]
        assert (jobs.info().out, after.info().ready) == (0, 1)
        with pytest.raises(mesh.TransactionRefused) as refused, m.transaction() as tx:
            tx.put("nowhere", "3")
        assert (refused.value.code, refused.value.operation) == ("NO_QUEUE", 0)


@pytest.mark.slow
def test_B11_a_commit_after_a_kill_settles_persistent_and_transient_jobs() -> None:
    async def scenario(a: RunningNode) -> None:
        async with mesh.connect(environ=a.environ) as m:
            q, after = m.queue("jobs"), m.queue("next")
            await q.declare()
            await after.declare()
            async with q.consume() as jobs:
                await q.put("1")
                await q.put("2", persistent=False)
                two = [await anext(jobs), await anext(jobs)]
                a.kill()
                a.start()
                async with m.transaction(timeout=60) as tx:
                    for job in two:
                        tx.ack(job)
                    tx.put("next", "3")
                assert tx.results[0].ok
                found = await q.info()
                assert (found.ready, found.out, found.bytes) == (0, 0, 0)
                a.kill()
                a.start()
                assert ((await q.info()).bytes, (await after.info()).ready) == (0, 1)

    with running("a") as a:
        asyncio.run(asyncio.wait_for(scenario(a), 120))


@pytest.mark.slow
def test_a_node_killed_at_any_moment_of_a_commit_does_all_of_it_once() -> None:
    async def scenario(a: RunningNode) -> None:
        async with mesh.connect(environ=a.environ) as m:
            q, after = m.queue("jobs"), m.queue("next")
            await q.declare()
            await after.declare()
            async with q.consume() as jobs:
                for n in range(4):
                    await q.put(str(n))
                    job = await anext(jobs)
                    transaction = m.transaction(timeout=60)
                    async with transaction as tx:
                        tx.ack(job)
                        tx.put("next", str(n))
                        asyncio.get_running_loop().call_later(0.0005 * n, a.kill)
                        asyncio.get_running_loop().call_later(0.0005 * n, a.start)
                    assert transaction.results[0].ok
                    assert (await q.info()).out == 0
            assert [each.text for each in await after.peek(10)] == ["0", "1", "2", "3"]

    with running("a") as a:
        asyncio.run(asyncio.wait_for(scenario(a), 180))
