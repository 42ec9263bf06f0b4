"""Queues without an event loop, in any thread: the same verbs and results as with one."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import mesh
import mesh.sync
from mesh.errors import (
    BadArgument,
    BadName,
    BadType,
    Closed,
    LeaseOver,
    LocalError,
    MeshTimeout,
    NoQueue,
    QueueFull,
    QueueInUse,
    WouldBlock,
)
from tests.mesh.running import LIMIT, environment, state_directory


@pytest.fixture(scope="module")
def m() -> Iterator[mesh.sync.Client]:
    with (
        state_directory() as state,
        mesh.sync.node("heron", mdns=False, environ=environment(state), timeout=LIMIT) as m,
    ):
        yield m


@pytest.fixture
def q(m: mesh.sync.Client) -> Iterator[mesh.sync.Queue]:
    q = m.queue("jobs")
    q.declare()
    yield q
    q.delete(if_unused=False)


def names(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def words(thing: Any) -> str:
    return (
        (inspect.getdoc(thing) or "")
        .replace("async with", "with")
        .replace("async for", "for")
        .replace("await ", "")
    )


def arguments(function: Any) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


WAITING = {"next_delivery", "next_batch"}  # without a loop, instead of asyncio.timeout


@pytest.mark.parametrize("name", ["Queue", "Consumer", "Delivery", "Deliveries"])
def test_each_has_the_same_with_a_loop_and_without(name: str) -> None:
    with_loop, without = getattr(mesh, name), getattr(mesh.sync, name)
    assert names(with_loop) == names(without) - WAITING
    for each in names(with_loop):
        one, other = inspect.getattr_static(with_loop, each), inspect.getattr_static(without, each)
        if callable(one):
            assert arguments(one) == arguments(other)
            assert words(one) == words(other) and other.__name__ == each
            assert other.__qualname__ in (f"{name}.{each}", one.__qualname__)


def number(message_id: str) -> int:
    """Return the sequence number of a put. The numbers continue from test to test."""
    address, _, digits = message_id.rpartition(":")
    assert address.endswith("/queue/jobs")
    return int(digits)


def test_what_is_put_is_taken_and_settled(m: mesh.sync.Client, q: mesh.sync.Queue) -> None:
    assert q.name == "jobs"
    put = q.put({"n": 1}, key="k", priority=7, group="g", headers={"a": "b"})
    assert put.ok and m.final(put.id).ok
    receipt = q.post(b"later", delay=0.001)
    assert receipt.result(LIMIT).ok and number(receipt.id) == number(put.id) + 1
    assert [found.text for found in q.peek(1)] == ['{"n":1}']
    told = q.info()
    assert told.ready + told.delayed == 2
    with q.consume(type=dict[str, int], prefetch=1) as jobs:
        job = next(jobs)
        assert (job.value, job.key, job.priority, job.group, job.attempt) == ({"n": 1}, "k", 7, "g", 1)
        with job:
            job.extend(5)
        with pytest.raises(LocalError, match="settled before"):
            job.ack()
        job = next(jobs)
        with pytest.raises(ZeroDivisionError), job:
            raise ZeroDivisionError
        again = jobs.next_delivery(LIMIT)
        assert again is not None and again.redelivered
        again.reject("no such customer")
        with pytest.raises(MeshTimeout):
            jobs.next_delivery(0.01)
    assert (q.info().acked, q.info().dead) == (1, 1)


def test_batches_and_many_at_once(q: mesh.sync.Queue) -> None:
    assert q.put_many([b"%d" % i for i in range(1000)]) == 1000
    assert q.put_many(b"%d" % i for i in range(1000, 3000)) == 2000
    seen: list[int] = []
    with q.consume(prefetch=500) as jobs:
        for batch in jobs.batches():
            seen += [int(job.content) for job in batch]
            assert batch[0].text == batch[:1][0].text == batch.contents()[0].decode()
            if len(seen) < 1500:
                batch.ack()
            else:
                with batch:
                    batch[0].ack()
            if len(seen) == 3000:
                break
        with pytest.raises(MeshTimeout):
            jobs.next_batch(0)
        q.put_many(["a", "b"])
        taken = [next(jobs), next(jobs)]
        jobs.ack(taken)
        with pytest.raises(BadType):
            jobs.ack([5])  # type: ignore[list-item]
        q.put("c")
        with pytest.raises(ZeroDivisionError), next(jobs):
            raise ZeroDivisionError
        batch = next(jobs.batches())
        assert [job.attempt for job in batch] == [2]
        batch.nack(delay=60)
    assert seen == [*range(3000)] and q.info().delayed == 1
    assert list(jobs) == [] and jobs.next_batch() is None


def test_errors_are_the_same(m: mesh.sync.Client, q: mesh.sync.Queue) -> None:
    for contents in ([b"x"] * 3, iter([b"x"] * 3)):
        with pytest.raises(NoQueue, match=r"^0 messages were put, then: "):
            m.queue("nobody").put_many(contents)
    with pytest.raises(NoQueue):
        m.queue("nobody").post(b"x").result(LIMIT)
    with pytest.raises(NoQueue), m.queue("nobody").consume():
        pass
    with pytest.raises(BadName):
        m.queue("a/#")
    bad: list[Any] = [object(), {1, 2}]
    for contents in ([b"a", b"b", *bad], iter([b"a", b"b", *bad])):
        with pytest.raises(BadType, match=r"^2 messages were put, then: "):
            q.put_many(contents)
    for call in (
        lambda: q.post(b"", priority=10),
        lambda: q.put_many([], delay=-1),
        lambda: q.consume(prefetch=0),
    ):
        with pytest.raises(BadArgument):
            call()
    assert q.purge() == 4
    small = m.queue("small")
    small.declare(max_count=2, when_full="reject")
    for contents in ([b"x"] * 1200, iter([b"x"] * 1200)):
        with pytest.raises(QueueFull, match=r"^[\d,]+ messages were put, then: "):
            small.put_many(contents)
        assert 2 <= small.purge() < 1200
    m.flush()
    small.delete()


def test_one_is_got_in_any_thread_and_settled_in_another(q: mesh.sync.Queue) -> None:
    assert q.get(timeout=0) is None
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(q.get(timeout=LIMIT)))
    thread.start()
    q.put(b"x")
    thread.join(LIMIT)
    [job] = found
    assert isinstance(job, mesh.sync.Delivery) and job.text == "x"
    job.nack()
    with q.consume() as jobs:
        late = next(jobs)
    with pytest.raises(LeaseOver):
        late.ack()


def test_a_closed_consumer_has_ended_and_its_unsettled_message_returns(q: mesh.sync.Queue) -> None:
    q.put(b"x")
    jobs = q.consume()
    with jobs:
        assert jobs.next_delivery(LIMIT) is not None
        jobs.close()
        assert jobs.next_delivery(LIMIT) is None and jobs.next_batch(LIMIT) is None and list(jobs) == []
        job = q.get(timeout=LIMIT)
        assert job is not None and job.redelivered
        job.ack()


def test_a_closed_client_says_so(tmp_path: Any) -> None:
    m = mesh.sync.connect(environ={"MESH_STATE_DIR": str(tmp_path)})
    q = m.queue("jobs")
    for call in (lambda: q.put(b""), lambda: q.post(b""), q.info, q.get, lambda: next(q.consume())):
        with pytest.raises((Closed, StopIteration)):
            call()


def test_what_is_posted_faster_than_it_leaves_is_refused_by_name(
    m: mesh.sync.Client, q: mesh.sync.Queue
) -> None:
    posts = m._posts
    before, posts._bytes = posts._bytes, 1 << 30
    try:
        with pytest.raises(WouldBlock):
            q.post(b"x")
    finally:
        posts._bytes = before
    assert q.post(b"x").result(LIMIT).ok


def test_a_durable_subscription_is_read_as_a_queue_is(m: mesh.sync.Client) -> None:
    with m.subscribe("k", durable="audit") as jobs:
        m.publish("k", "one")
        with pytest.raises(QueueInUse):
            m.unsubscribe("audit")
        for job in jobs:
            with job:
                assert job.text == "one"
            break
        with pytest.raises(MeshTimeout):
            jobs.next_delivery(timeout=0.01)
        m.unsubscribe(jobs)
    m.unsubscribe("audit")
    with pytest.raises(NoQueue):
        m.unsubscribe("audit")
