"""Puts into a queue as user code writes them, on real nodes in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mesh.errors import BadType, MeshTimeout, MessageTooLarge, NoQueue, QueueFull, WouldBlock
from tests.mesh.client.queues import got, queue, run
from tests.mesh.meshes import in_memory


def test_what_is_put_is_taken_as_it_was_said() -> None:
    async def scenario() -> None:
        async with queue() as (m, q):
            put = await q.put(
                {"n": 5}, key="a/b", headers={"unit": "C"}, priority=9, group="joe", expiry=60, delay=0.001
            )
            assert put.ok and put.id.endswith("/queue/jobs:1")
            assert (await m.final(put.id)).ok
            job = await got(q)
            assert (job.value, job.key, job.to) == ({"n": 5}, "a/b", "queue/jobs")
            assert (job.priority, job.group, job.headers["unit"], job.persistent) == (9, "joe", "C", True)
            assert (job.attempt, job.redelivered, job.id, job.sender) == (1, False, put.id, m.name)
            assert job.expires > job.sent and repr(job).startswith("Delivery('a/b', b'{\"n\":5}', attempt=1")
            await job.ack()
            plain = await q.put(b"x", persistent=False)
            job = await got(q)
            assert (job.priority, job.group, job.key, job.persistent) == (5, "", "", False)
            assert job.id == plain.id and repr(job).startswith("Delivery(b'x', ")
            await job.ack()

    run(scenario)


def test_where_it_is_put_in_another_way_another_envelope_begins_and_the_order_stays() -> None:
    async def scenario() -> None:
        async with queue() as (m, q):
            how: list[dict[str, Any]] = [{}, {"group": "g"}, {"group": "h"}, {}, {"persistent": False}, {}]
            receipts = [q.post(str(i), **each) for i, each in enumerate(how)]
            m.post("elsewhere", b"")
            assert [(await each).ok for each in receipts] == [True] * 6
            assert [each.number for each in receipts] == [1, 2, 3, 4, 5, 6]
            async with q.consume() as jobs:
                taken = [await anext(jobs) for _ in how]
                assert [job.text for job in taken] == list("012345")
                assert [job.group for job in taken] == ["", "g", "h", "", "", ""]
                await jobs.ack(taken)

    run(scenario)


def test_many_are_put_in_order_whatever_they_come_as() -> None:
    async def scenario() -> None:
        async with queue() as (_, q):
            assert await q.put_many([]) == 0
            assert await q.put_many([b"%d" % i for i in range(1200)], priority=3) == 1200
            assert await q.put_many(str(i) for i in range(1200, 1300)) == 100
            assert await q.put_many([{"n": 1}, b"x", "y"], headers={"a": "b"}, key="k") == 3
            async with q.consume(prefetch=1000) as jobs:
                contents: list[bytes] = []
                async for batch in jobs.batches():
                    assert [job.content for job in batch] == batch.contents()
                    contents += batch.contents()
                    await batch.ack()
                    if len(contents) == 1303:
                        break
            assert contents[100:103] == [b'{"n":1}', b"x", b"y"]
            assert [int(each) for each in contents[:100]] == [*range(1200, 1300)]
            assert [int(each) for each in contents[103:]] == [*range(1200)]
            assert (await q.info()).acked == 1303

    run(scenario)


def test_an_error_says_how_many_were_put_before_it() -> None:
    async def scenario() -> None:
        async with queue(max_count=700, when_full="reject") as (m, q):
            with pytest.raises(QueueFull, match=r"^1,000 messages were put, then: ") as info:
                await q.put_many([b"x"] * 5000)
            assert info.value.code == "QUEUE_FULL"
            assert (await q.info()).ready == 1000
            await m.flush()  # all failures were raised
            with pytest.raises(QueueFull):
                await q.put(b"x")
            assert await q.purge() == 1000
            with pytest.raises(BadType, match=r"^2 messages were put, then: ") as bad:
                await q.put_many(["a", b"b", object(), b"c"])
            assert isinstance(bad.value, BadType) and "object" in str(bad.value)
            with pytest.raises(MessageTooLarge, match="1 message was put, then: "):
                await q.put_many([b"a", b"x" * (2 << 20)])
            assert (await q.info()).ready == 3

    run(scenario)


def test_without_a_queue_it_says_so() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ma:
            q = ma.queue("nobody/there")
            receipt = q.post(b"x")
            calls: list[Callable[[], Any]] = [
                lambda: q.put(b"x"),
                lambda: q.get(timeout=0),
                q.info,
                q.peek,
                q.purge,
                q.delete,
                lambda: q.consume().__aenter__(),
                lambda: receipt,
            ]
            for call in calls:
                with pytest.raises(NoQueue, match="nobody/there"):
                    await call()
            with pytest.raises(NoQueue, match=r"^0 messages were put, then: "):
                await q.put_many([b"x"] * 3)
            await ma.flush()
            assert len(ma._core.queues) == 0

    run(scenario)


def test_a_full_window_says_so_and_a_time_that_is_over_says_what_was_put() -> None:
    async def scenario() -> None:
        async with queue() as (m, q):
            m._publisher.outbox.window = (1 << 20, 0)
            with pytest.raises(WouldBlock):
                q.post(b"x")
            with pytest.raises(MeshTimeout, match=r"^0 messages were put, then: "):
                await q.put_many([b"x"] * 3, timeout=0.01)
            m._publisher.outbox.window = (1 << 20, 10)
            assert await q.put_many([b"x"] * 3) == 3

    run(scenario)
