"""Declarations, moves and inspection of queues as user code writes them, on real nodes in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import mesh
from mesh.errors import (
    BadArgument,
    BadKey,
    BadName,
    BadSelector,
    BadType,
    Closed,
    LocalError,
    MeshError,
    PublishRefused,
    QueueExists,
    UnknownNode,
)
from tests.mesh.client.queues import got, queue, run
from tests.mesh.meshes import in_memory

# --- inspection ---------------------------------------------------------------------------------------------


def test_it_is_declared_once_and_what_differs_is_said() -> None:
    async def scenario() -> None:
        async with queue(max_attempts=5, nodes=["b", "a"]) as (_, q):
            again = await q.declare(max_attempts=5, nodes=("a", "b"))
            assert (again.name, again.terms["max_attempts"], again.terms["nodes"]) == ("jobs", 5, ["a", "b"])
            with pytest.raises(QueueExists, match="max_attempts is 5, not 8"):
                await q.declare(nodes=["a", "b"])
            assert again == await q.info()

    run(scenario)


def test_to_look_takes_nothing() -> None:
    async def scenario() -> None:
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

    run(scenario)


# --- mistakes -----------------------------------------------------------------------------------------------

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
    async def scenario() -> None:
        async with queue() as (m, q):
            for call, kind in BAD:
                with pytest.raises(kind) as info:
                    made = eval(f"q.{call}", {"q": q, "nan": math.nan, "inf": math.inf})
                    await made
                assert len(str(info.value)) > 20, call
            assert (await q.info()).ready == 0
            assert not m._publisher.unanswered and len(m._core.queues) == 0

    run(scenario)


@pytest.mark.parametrize("name", ["", "a/#", "+", "x" * 201, "\ud800", "queue/x", "__sys__/x", "node/a"])
def test_a_name_that_is_none_is_refused_when_it_is_said(name: str) -> None:
    with pytest.raises(BadName):
        mesh.connect().queue(name)
    values: list[Any] = [None, 5, b"x", math.nan]
    for value in values:
        with pytest.raises(BadName):
            mesh.connect().queue(value)


def test_nothing_is_sent_to_a_queue_nor_published_in_its_domain() -> None:
    async def scenario() -> None:
        async with queue() as (m, q):
            for call in (m.send, m.request):
                with pytest.raises(BadName, match=r"into a queue with queue\(NAME\)\.put"):
                    await call("queue/jobs", b"x")
            with pytest.raises(PublishRefused, match="RESERVED"):
                await m.publish("k", b"x", domain="queue/jobs")
            assert (await q.info()).ready == 0

    run(scenario)


def test_what_is_not_open_says_so() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_what_waits_moves_to_another_node_by_a_word_and_what_it_refuses_stays() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma, m.connect("b") as mb:
            here, there = ma.queue("jobs"), mb.queue("jobs")
            for q in (here, there):
                await q.declare(max_count=5_000)
            await here.put_many([b"%d" % n for n in range(3_000)], priority=7)
            assert await here.move("b", count=10) == 10
            assert await here.move("b", count=1_234) == 1_234
            assert await here.move("b") == 1_756
            parts = (await here.info()).parts
            assert {part.node: part.ready for part in parts if part.ready} == {"b": 3_000}
            seen: list[int] = []
            async with there.consume(prefetch=1000) as jobs:
                async for batch in jobs.batches():
                    assert {(job.priority, job.attempt) for job in batch} == {(7, 1)}
                    seen += [int(job.content) for job in batch]
                    await batch.ack()
                    if len(seen) == 3_000:
                        break
            assert seen == [*range(3_000)]
            await here.declare(max_count=5_000)
            with pytest.raises(LocalError, match="NOTHING_READY"):
                await here.move("b")
            await ma.queue("mine").declare(scope="node")
            await ma.queue("mine").put(b"x")
            assert await ma.queue("mine").move("b") == 0
            assert (await ma.queue("mine").info()).ready == 1

    run(scenario)


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
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ma:
            q = ma.queue("jobs")
            await q.declare()
            await q.put(b"x")
            with pytest.raises(error):
                await q.move(to, count=count)
            assert (await q.info()).ready == 1

    run(scenario)
