"""Settlements of a queue message, or a batch, on real nodes in memory."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import Any

import pytest

from mesh.errors import BadArgument, BadType, LocalError
from tests.mesh.client.queues import got, queue, run
from tests.mesh.running import LIMIT


@dataclass
class Job:
    n: int


def test_what_ends_well_is_acked_and_what_fails_is_given_again() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put(Job(5))
            seen: list[tuple[int, bool]] = []
            async with q.consume(type=Job) as jobs:
                async for job in jobs:
                    seen.append((job.attempt, job.redelivered))
                    try:
                        async with job:
                            assert job.value == Job(5)
                            if len(seen) < 3:
                                raise ZeroDivisionError
                    except ZeroDivisionError:
                        continue
                    break
            assert seen == [(1, False), (2, True), (3, True)]
            assert (await q.info()).acked == 1 and (await q.info()).ready == 0

    run(scenario)


def test_a_task_that_is_cancelled_in_the_middle_gives_its_job_back() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put(b"x")
            has_begun = asyncio.Event()

            async def work() -> None:
                async with q.consume() as jobs:
                    async for job in jobs:
                        async with job:
                            has_begun.set()
                            await asyncio.sleep(LIMIT)

            task = asyncio.create_task(work())
            await has_begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            job = await got(q)
            assert job.attempt == 2
            with pytest.raises(KeyboardInterrupt):
                async with job:
                    raise KeyboardInterrupt
            job = await got(q)
            assert job.attempt == 3
            await job.ack()

    run(scenario)


def test_each_is_settled_once() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put_many([b"1", b"2", b"3", b"4"])
            async with q.consume() as jobs:
                a, b, d, e = [await anext(jobs) for _ in range(4)]
                await a.ack()
                await b.nack(delay=60)
                await d.reject("no such customer")
                for job in (a, b, d):
                    for say in (job.ack, job.nack, job.reject, lambda job=job: job.extend(1)):
                        with pytest.raises(LocalError, match="settled before") as info:
                            await say()
                        assert info.value.code == "SETTLED"
                    async with job:  # does nothing more
                        pass
                with pytest.raises(LocalError, match="settled before"):
                    await jobs.ack([e, a])
                await jobs.ack([e, e])
                await jobs.ack([])
            told = await q.info()
            assert (told.acked, told.delayed, told.ready, told.out, told.dead) == (2, 1, 0, 0, 1)

    run(scenario)


def test_a_batch_acks_what_is_left_of_it() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put_many([b"%d" % i for i in range(9)])
            async with q.consume(prefetch=3) as jobs:
                batches = jobs.batches()
                first = await anext(batches)
                assert [job.text for job in first] == ["0", "1", "2"] and first[-1].text == "2"
                assert [job.text for job in first[1:]] == ["1", "2"] and len(first) == 3
                await first[1].ack()
                async with first:
                    pass
                with pytest.raises(LocalError, match="settled before"):
                    await first.ack()
                with pytest.raises(ZeroDivisionError):
                    async with await anext(batches) as second:
                        await second[0].ack()
                        raise ZeroDivisionError
                assert (await q.info()).acked == 4
                single = await anext(jobs)
                rest = await anext(batches)
                assert single._place not in rest._places or single._queued is not rest._queued
                await single.ack()
                await rest.nack(delay=1e-4)

    run(scenario)


def test_what_cannot_be_said_of_a_message_is_refused_and_it_can_be_settled_yet() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            await q.put(b"x")
            job = await got(q)
            bad: list[Any] = [math.nan, -1, math.inf, None, True, "5", 2**63, 4_294_968]
            for value in bad:
                with pytest.raises(BadArgument):
                    await job.nack(delay=value)
                with pytest.raises(BadArgument):
                    await job.extend(value)
            with pytest.raises(BadArgument):
                await job.extend(0)
            reasons: list[Any] = ["x" * 201, "\ud800", None, 5, b"x"]
            for value in reasons:
                with pytest.raises(BadArgument):
                    await job.reject(value)
            async with q.consume() as jobs:
                others: list[Any] = [[5], [job], [None]]
                for value in others:
                    with pytest.raises(BadType, match="did not come from this consumer"):
                        await jobs.ack(value)
            await job.ack()

    run(scenario)
