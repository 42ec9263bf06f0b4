"""Putting and taking, as users write it: in memory, by the real nodes."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.client.queue import Queue
from mesh.errors import (
    BadArgument,
    BadKey,
    BadName,
    BadSelector,
    BadType,
    Closed,
    LeaseOver,
    LocalError,
    MeshError,
    MeshTimeout,
    MessageTooLarge,
    NoQueue,
    PublishRefused,
    QueueExists,
    QueueFull,
    QueueInUse,
    UnknownNode,
    WouldBlock,
)
from mesh.testing import Mesh
from tests.mesh.meshes import eventually, in_memory
from tests.mesh.running import LIMIT


@dataclass
class Job:
    n: int


@asynccontextmanager
async def queue(**terms: Any) -> AsyncIterator[tuple[Client, Queue]]:
    """A client, and its queue."""
    async with in_memory("a") as m, m.connect("a") as ma:
        q = ma.queue("jobs")
        await q.declare(**terms)
        yield ma, q


def run(story: Callable[[], Any]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(LIMIT):
            await story()

    asyncio.run(in_time())
    gc.collect()


async def got(q: Queue) -> mesh.Delivery[Any]:
    job = await q.get(timeout=LIMIT)
    assert job is not None
    return job


# --- putting ------------------------------------------------------------------------------------------------


def test_what_is_put_is_taken_as_it_was_said() -> None:
    async def story() -> None:
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

    run(story)


def test_where_it_is_put_in_another_way_another_envelope_begins_and_the_order_stays() -> None:
    async def story() -> None:
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

    run(story)


def test_many_are_put_in_order_whatever_they_come_as() -> None:
    async def story() -> None:
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

    run(story)


def test_an_error_says_how_many_were_put_before_it() -> None:
    async def story() -> None:
        async with queue(max_count=700, when_full="reject") as (m, q):
            with pytest.raises(QueueFull, match=r"^1,000 messages were put, then: ") as info:
                await q.put_many([b"x"] * 5000)
            assert info.value.code == "QUEUE_FULL"
            assert (await q.info()).ready == 1000
            await m.flush()  # all of it was told
            with pytest.raises(QueueFull):
                await q.put(b"x")
            assert await q.purge() == 1000
            with pytest.raises(BadType, match=r"^2 messages were put, then: ") as bad:
                await q.put_many(["a", b"b", object(), b"c"])
            assert isinstance(bad.value, BadType) and "object" in str(bad.value)
            with pytest.raises(MessageTooLarge, match="1 message was put, then: "):
                await q.put_many([b"a", b"x" * (2 << 20)])
            assert (await q.info()).ready == 3

    run(story)


def test_without_a_queue_it_says_so() -> None:
    async def story() -> None:
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

    run(story)


# --- taking -------------------------------------------------------------------------------------------------


def test_what_ends_well_is_acked_and_what_fails_is_given_again() -> None:
    async def story() -> None:
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

    run(story)


def test_a_task_that_is_cancelled_in_the_middle_gives_its_job_back() -> None:
    async def story() -> None:
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

    run(story)


def test_each_is_settled_once() -> None:
    async def story() -> None:
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
                    async with job:  # which does nothing more
                        pass
                with pytest.raises(LocalError, match="settled before"):
                    await jobs.ack([e, a])
                await jobs.ack([e, e])
                await jobs.ack([])
            told = await q.info()
            assert (told.acked, told.delayed, told.ready, told.out, told.dead) == (2, 1, 0, 0, 1)

    run(story)


def test_a_batch_acks_what_is_left_of_it() -> None:
    async def story() -> None:
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
                assert single._place not in rest._places or single._lot is not rest._lot
                await single.ack()
                await rest.nack(delay=1e-4)

    run(story)


def test_leaving_gives_back_what_was_not_begun_as_it_was() -> None:
    async def story() -> None:
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

    run(story)


def test_several_tasks_take_from_one_consumer_and_each_message_goes_to_one() -> None:
    async def story() -> None:
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

    run(story)


def test_one_is_got_at_a_time_and_none_when_there_is_none() -> None:
    async def story() -> None:
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

    run(story)


def test_what_a_consumer_wants_is_what_it_gets() -> None:
    async def story() -> None:
        async with queue() as (_, q):
            for i in range(6):
                await q.put(b"%d" % i, key=f"k/{i % 2}", priority=i)
            async with q.consume(selector="key == 'k/1' and priority > 2") as jobs:
                taken = [await anext(jobs) for _ in range(2)]
                assert [job.text for job in taken] == ["5", "3"]
                await jobs.ack(taken)
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(jobs), 0.05)
            with pytest.raises(BadSelector):
                q.consume(selector="key = 1")

    run(story)


def test_a_lease_that_is_over_is_the_next_ones_and_a_longer_one_is_not() -> None:
    async def story() -> None:
        async with queue() as (_, q):
            await q.put(b"x")
            async with q.consume(lease=0.2, prefetch=1) as one, q.consume() as other:
                first = await anext(one)
                await first.extend(0.4)
                second = await anext(other)
                assert second.redelivered
                with pytest.raises(LeaseOver, match="extend"):
                    await first.ack()
                with pytest.raises(LeaseOver):
                    await first.nack()
                await second.ack()

    run(story)


def test_what_waits_for_its_turn_here_is_nobody_elses_however_short_the_lease() -> None:
    async def story() -> None:
        async with Mesh(clock="virtual") as net, net.connect() as m:
            q = m.queue("jobs")
            await q.declare(max_attempts=2)
            await q.put_many([b"%d" % i for i in range(5)])
            async with q.consume(lease=1.0, prefetch=5) as jobs:
                for i in range(5):
                    job = await anext(jobs)
                    assert (job.text, job.attempt) == (str(i), 1)
                    await net.pass_time(0.8)  # which is work: all of them take longer than a lease
                    await job.ack()
            info = await q.info()
            assert (info.redelivered, info.acked) == (0, 5)

    run(story)


def test_a_queue_that_is_deleted_ends_its_consumers() -> None:
    async def story() -> None:
        async with queue() as (m, q):
            await q.put_many([b"1", b"2"])
            async with q.consume() as jobs:
                job = await anext(jobs)
                with pytest.raises(QueueInUse):
                    await q.delete()
                await q.delete(if_unused=False)
                with pytest.raises(NoQueue, match="removed"):
                    async for _ in jobs:
                        pass
                with pytest.raises(NoQueue):
                    await job.ack()
            assert len(m._core.queues) == 0

    run(story)


# --- looking ------------------------------------------------------------------------------------------------


def test_it_is_declared_once_and_what_differs_is_said() -> None:
    async def story() -> None:
        async with queue(max_attempts=5, nodes=["b", "a"]) as (_, q):
            again = await q.declare(max_attempts=5, nodes=("a", "b"))
            assert (again.name, again.terms["max_attempts"], again.terms["nodes"]) == ("jobs", 5, ["a", "b"])
            with pytest.raises(QueueExists, match="max_attempts is 5, not 8"):
                await q.declare(nodes=["a", "b"])
            assert again == await q.info()

    run(story)


def test_to_look_takes_nothing() -> None:
    async def story() -> None:
        async with queue() as (_, q):
            await q.put_many([b"%d" % i for i in range(3)])
            await q.put(b"first", priority=9, group="g")
            await (await got(q)).nack()
            for n in (1, 2, 4, 100):
                found = await q.peek(n)
                assert [m.text for m in found] == ["first", "0", "1", "2"][:n]
                assert [m.attempt for m in found] == [2, 1, 1, 1][:n]
            assert (found[0].group, found[0].priority) == ("g", 9) and not hasattr(found[0], "ack")
            assert await q.purge() == 4 and await q.peek() == []
            await q.delete()

    run(story)


# --- wrong --------------------------------------------------------------------------------------------------

BAD: list[tuple[str, type[MeshError]]] = [
    ("put(b'', priority=10)", BadArgument), ("put(b'', priority=-1)", BadArgument),
    ("put(b'', priority=True)", BadArgument), ("put(b'', priority=None)", BadArgument),
    ("put(b'', priority=5.0)", BadArgument), ("put(b'', delay=nan)", BadArgument),
    ("put(b'', delay=-1)", BadArgument), ("put(b'', delay=inf)", BadArgument),
    ("put(b'', delay=None)", BadArgument), ("put(b'', delay=True)", BadArgument),
    ("put(b'', delay=4294968)", BadArgument), ("put(b'', delay=2**63)", BadArgument),
    ("put(b'', group=None)", BadArgument), ("put(b'', group='x' * 201)", BadArgument),
    ("put(b'', group='\\ud800')", BadArgument), ("put(b'', group=5)", BadArgument),
    ("put(b'', expiry=nan)", BadArgument), ("put(b'', expiry=-1)", BadArgument),
    ("put(b'', persistent=1)", BadArgument), ("put(b'', persistent=None)", BadArgument),
    ("put(b'', key=None)", BadKey), ("put(b'', key='a/#')", BadKey), ("put(b'', key='\\ud800')", BadKey),
    ("put(b'', key='__sys__x')", LocalError), ("put('\\ud800')", BadArgument), ("put(object())", BadType),
    ("put(b'', headers=5)", BadType), ("put(b'', timeout=nan)", BadArgument),
    ("put(b'', codec='xml')", BadArgument), ("put_many(b'')", BadArgument), ("put_many(5)", BadArgument),
    ("put_many([b''], priority=10)", BadArgument), ("put_many([], delay=nan)", BadArgument),
    ("post(b'', priority=10)", BadArgument), ("post(b'', delay=-0.1)", BadArgument),
    ("consume(prefetch=0)", BadArgument), ("consume(prefetch=1001)", BadArgument),
    ("consume(prefetch=True)", BadArgument), ("consume(prefetch=None)", BadArgument),
    ("consume(lease=0)", BadArgument), ("consume(lease=nan)", BadArgument),
    ("consume(lease=-1)", BadArgument), ("consume(lease=5e6)", BadArgument),
    ("consume(selector='')", BadSelector), ("consume(selector=5)", BadSelector),
    ("consume(selector='x' * 257)", BadSelector), ("consume(selector='\\ud800')", BadSelector),
    ("consume(type=5)", BadType), ("get(timeout=nan)", BadArgument), ("get(timeout=-1)", BadArgument),
    ("get(timeout=True)", BadArgument), ("get(selector='1 +')", BadSelector),
    ("peek(0)", BadArgument), ("peek(101)", BadArgument), ("peek(None)", BadArgument),
    ("delete(if_unused=0)", BadArgument), ("declare(max_count=0)", BadArgument),
    ("declare(max_bytes=nan)", BadArgument), ("declare(when_full='no')", BadArgument),
    ("declare(expiry=-1)", BadArgument), ("declare(dead_letter='queue/jobs')", BadArgument),
    ("declare(nodes='a')", BadArgument), ("declare(exclusive=1)", BadArgument),
    ("declare(scope=None)", BadArgument), ("declare(max_attempts=2**63)", BadArgument),
]  # fmt: skip


def test_what_cannot_be_is_refused_at_the_call() -> None:
    async def story() -> None:
        async with queue() as (m, q):
            for call, kind in BAD:
                with pytest.raises(kind) as info:
                    made = eval(f"q.{call}", {"q": q, "nan": math.nan, "inf": math.inf})
                    await made
                assert len(str(info.value)) > 20, call
            assert (await q.info()).ready == 0
            assert not m._publisher.unanswered and len(m._core.queues) == 0

    run(story)


def test_what_cannot_be_said_of_a_message_is_refused_and_it_can_be_settled_yet() -> None:
    async def story() -> None:
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

    run(story)


@pytest.mark.parametrize("name", ["", "a/#", "+", "x" * 201, "\ud800", "queue/x", "__sys__/x", "node/a"])
def test_a_name_that_is_none_is_refused_when_it_is_said(name: str) -> None:
    with pytest.raises(BadName):
        mesh.connect().queue(name)
    values: list[Any] = [None, 5, b"x", math.nan]
    for value in values:
        with pytest.raises(BadName):
            mesh.connect().queue(value)


def test_nothing_is_sent_to_a_queue_nor_published_in_its_domain() -> None:
    async def story() -> None:
        async with queue() as (m, q):
            for call in (m.send, m.request):
                with pytest.raises(BadName, match=r"put into it: queue\(NAME\)\.put"):
                    await call("queue/jobs", b"x")
            with pytest.raises(PublishRefused, match="RESERVED"):
                await m.publish("k", b"x", domain="queue/jobs")
            assert (await q.info()).ready == 0

    run(story)


def test_what_is_not_open_says_so() -> None:
    async def story() -> None:
        q = mesh.connect().queue("jobs")
        assert q.name == "jobs"
        calls: list[Callable[[], Any]] = [
            lambda: q.put(b""),
            lambda: q.put_many([b""]),
            q.info,
            q.get,
            lambda: anext(q.consume()),
            lambda: q.consume().__aenter__(),
        ]
        for call in calls:
            with pytest.raises(Closed):
                await call()
        with pytest.raises(Closed):
            q.post(b"")

    run(story)


def test_a_full_window_says_so_and_a_time_that_is_over_says_what_was_put() -> None:
    async def story() -> None:
        async with queue() as (m, q):
            m._publisher.outbox.window = (1 << 20, 0)
            with pytest.raises(WouldBlock):
                q.post(b"x")
            with pytest.raises(MeshTimeout, match=r"^0 messages were put, then: "):
                await q.put_many([b"x"] * 3, timeout=0.01)
            m._publisher.outbox.window = (1 << 20, 10)
            assert await q.put_many([b"x"] * 3) == 3

    run(story)


def test_what_waits_moves_to_another_node_by_a_word_and_what_it_refuses_stays() -> None:
    async def story() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            here, there = ma.queue("jobs"), mb.queue("jobs")
            for q in (here, there):
                await q.declare(max_count=50_000)
            await here.put_many([b"%d" % n for n in range(30_000)], priority=7)
            assert await here.move("b", count=10) == 10
            assert await here.move("b", count=12_345) == 12_345
            assert await here.move("b") == 17_645
            parts = (await here.info()).parts
            assert {part.node: part.ready for part in parts if part.ready} == {"b": 30_000}
            seen: list[int] = []
            async with there.consume(prefetch=1000) as jobs:
                async for batch in jobs.batches():
                    assert {(job.priority, job.attempt) for job in batch} == {(7, 1)}
                    seen += [int(job.content) for job in batch]
                    await batch.ack()
                    if len(seen) == 30_000:
                        break
            assert seen == [*range(30_000)]
            await here.declare(max_count=50_000)
            with pytest.raises(LocalError, match="NOTHING_READY"):
                await here.move("b")
            await ma.queue("mine").declare(scope="node")
            await ma.queue("mine").put(b"x")
            assert await ma.queue("mine").move("b") == 0
            assert (await ma.queue("mine").info()).ready == 1

    run(story)


@pytest.mark.parametrize(
    ("to", "count", "error"),
    [
        ("a", None, LocalError), ("carl", None, UnknownNode), ("", None, BadName), (None, None, BadName),
        ("b/c", None, BadName), ("b", 0, BadArgument), ("b", -1, BadArgument), ("b", math.nan, BadArgument),
        ("b", 2**63, BadArgument), ("b", "1", BadArgument), ("b", True, BadArgument),
        ("\ud800", None, BadName),
    ],
)  # fmt: skip
def test_what_cannot_be_moved_is_told_and_stays(to: Any, count: Any, error: type[MeshError]) -> None:
    async def story() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma:
            q = ma.queue("jobs")
            await q.declare()
            await q.put(b"x")
            with pytest.raises(error):
                await q.move(to, count=count)
            assert (await q.info()).ready == 1

    run(story)
