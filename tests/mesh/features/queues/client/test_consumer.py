"""Queue consumers as user code writes them, on real nodes in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mesh
from mesh.errors import BadSelector, Closed, LeaseOver, LocalError, NoQueue, QueueInUse
from mesh.testing import Mesh
from tests.mesh.client.queues import got, queue, run
from tests.mesh.client.wired import turns
from tests.mesh.meshes import eventually


def test_leaving_gives_back_what_was_not_begun_as_it_was() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put_many([b"1", b"2", b"3"])
            async with q.consume() as jobs:
                begun = await anext(jobs)
            with pytest.raises(LeaseOver):
                await begun.ack()
            assert [job.text async for job in jobs] == []
            with pytest.raises(Closed):
                await jobs.__aenter__()
            async with q.consume() as jobs:
                taken = {job.text: job.attempt for job in [await anext(jobs) for _ in range(3)]}
            assert taken == {"1": 2, "2": 1, "3": 1}

    run(scenario)


def test_several_tasks_take_from_one_consumer_and_each_message_goes_to_one() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put_many([b"%d" % i for i in range(200)])
            done: list[int] = []

            async def work(jobs: mesh.Consumer[Any]) -> None:
                async for job in jobs:
                    async with job:
                        done.append(int(job.content))
                    if len(done) == 200:
                        await jobs.close()

            async with q.consume(prefetch=7) as jobs:
                await asyncio.gather(*(work(jobs) for _ in range(5)))
            assert sorted(done) == [*range(200)]

    run(scenario)


def test_one_is_got_at_a_time_and_none_when_there_is_none() -> None:
    async def scenario() -> None:
        async with queue() as (m, q):
            assert await q.get(timeout=0) is None
            await q.put_many([b"1", b"2"])
            one = await got(q)
            info = await q.info()
            assert (info.out, info.ready, info.consumers) == (1, 1, 1)
            other = await got(q)
            await one.ack()
            await other.nack()
            await eventually(lambda: len(m._core.queues) == 0)
            info = await q.info()
            assert (info.out, info.ready, info.consumers) == (0, 1, 0)
            with pytest.raises(LocalError, match="settled before"):
                await one.ack()
            waiting = asyncio.create_task(q.get(selector="unit == 'C'"))
            await q.put(b"3", headers={"unit": "F"})
            await q.put(b"4", headers={"unit": "C"})
            found = await waiting
            assert found is not None and found.text == "4"
            await found.extend(5)
            assert (await q.info()).out == 1
            await found.ack()

    run(scenario)


def test_what_a_consumer_wants_is_what_it_gets() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            for i in range(6):
                await q.put(b"%d" % i, key=f"k/{i % 2}", priority=i)
            async with q.consume(selector="key == 'k/1' and priority > 2") as jobs:
                taken = [await anext(jobs) for _ in range(2)]
                assert [job.text for job in taken] == ["5", "3"]
                await jobs.ack(taken)
                nothing = asyncio.ensure_future(anext(jobs))
                assert (await q.info()).ready == 4
                await turns()
                assert not nothing.done()
                nothing.cancel()
            with pytest.raises(BadSelector):
                q.consume(selector="key = 1")

    run(scenario)


def test_a_lease_that_is_over_is_the_next_ones_and_a_longer_one_is_not() -> None:
    async def scenario() -> None:
        async with Mesh(clock="virtual") as net, net.connect() as m:
            q = m.queue("jobs")
            await q.declare()
            await q.put(b"x")
            async with q.consume(lease=1.0, prefetch=1) as one, q.consume() as other:
                first = await anext(one)
                await first.extend(2.0)
                waiting = asyncio.ensure_future(anext(other))
                await net.pass_time(1.5)
                assert not waiting.done()
                await net.pass_time(1.0)
                second = await waiting
                assert second.redelivered
                with pytest.raises(LeaseOver, match="extend"):
                    await first.ack()
                with pytest.raises(LeaseOver):
                    await first.nack()
                await second.ack()

    run(scenario)


def test_what_waits_for_its_turn_here_is_nobody_elses_however_short_the_lease() -> None:
    async def scenario() -> None:
        async with Mesh(clock="virtual") as net, net.connect() as m:
            q = m.queue("jobs")
            await q.declare(max_attempts=2)
            await q.put_many([b"%d" % i for i in range(5)])
            async with q.consume(lease=1.0, prefetch=5) as jobs:
                for i in range(5):
                    job = await anext(jobs)
                    assert (job.text, job.attempt) == (str(i), 1)
                    await net.pass_time(0.8)  # all of them take longer than a lease
                    await job.ack()
            info = await q.info()
            assert (info.redelivered, info.acked) == (0, 5)

    run(scenario)


def test_a_queue_that_is_deleted_ends_its_consumers() -> None:
    async def scenario() -> None:
        async with queue() as (m, q):
            await q.put_many([b"1", b"2"])
            async with q.consume() as jobs:
                job = await anext(jobs)
                with pytest.raises(QueueInUse):
                    await q.delete()
                await q.delete(if_unused=False)
                with pytest.raises(NoQueue, match="deleted"):
                    async for _ in jobs:
                        pass
                with pytest.raises(NoQueue):
                    await job.ack()
            assert len(m._core.queues) == 0

    run(scenario)
