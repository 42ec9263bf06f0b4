"""Functions that are called with each message: their order, number and errors."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

import mesh
from mesh.client.handler import Handlers
from mesh.wire import commands as c
from tests.mesh.client.handlers import Background, left, logged, number, used
from tests.mesh.client.wired import Wired, scenario, turns
from tests.mesh.envelopes import envelope


class Brief:
    """A handler whose source ends at once, and which counts its runs."""

    most = 2

    def __init__(self) -> None:
        self.ran = 0

    @contextlib.asynccontextmanager
    async def open(self, client: object) -> AsyncIterator[object]:
        yield client

    async def work(self, source: object, stop_on_error: bool) -> None:
        self.ran += 1


def test_handlers_run_together_and_none_is_added_meanwhile() -> None:
    async def main() -> None:
        handlers, brief, ready = Handlers(), Brief(), list[str]()
        with pytest.raises(mesh.BadQuery, match="No handler"):
            await handlers.run(None, False, lambda: None)
        handlers.add(brief)

        def subscribed() -> None:
            ready.append("yes")
            with pytest.raises(mesh.BadQuery, match="already running"):
                handlers.check_function(print, "@")

        for _ in range(2):  # a second run after the first
            await handlers.run("client", False, subscribed)
        assert brief.ran == 4 and ready == ["yes", "yes"] and not handlers.are_running
        handlers.check_function(print, "@")
        with pytest.raises(mesh.BadType, match="cannot be called"):
            handlers.check_function(5, "@")
        assert handlers.handed(request := object()) is request  # type: ignore[arg-type]

    asyncio.run(main())


@scenario
async def test_one_message_at_a_time_in_order_and_none_counts_before_it_was_handled(it: Wired) -> None:
    seen: list[str] = []
    go = asyncio.Semaphore(0)

    @it.client.on("a/#")
    async def slow(message: mesh.Message) -> None:
        seen.append(message.key)
        await go.acquire()

    async with Background(it):
        n = number(it, "a/#")
        it.deliver(n, envelope("a/1 a/2"))
        it.deliver(n, envelope("a/3", first=3))
        for expected in (["a/1"], ["a/1", "a/2"], ["a/1", "a/2", "a/3"]):
            await turns()
            assert seen == expected and used(it) == {n: int(len(seen) > 2)}
            go.release()
        await turns()
        assert used(it) == {n: 2}
    assert left(it) == [n]


@scenario
async def test_a_function_may_be_async_or_not_or_anything_that_can_be_called(it: Wired) -> None:
    seen: list[str] = []

    class CallableObject:
        async def __call__(self, message: mesh.Message) -> None:
            seen.append("object")

    async def later(name: str, message: mesh.Message) -> None:
        seen.append(name)

    on = it.client.on("k")
    on(lambda message: seen.append("plain"))
    on(CallableObject())
    on(functools.partial(later, "partial"))
    on(lambda message: later("awaitable", message))
    async with Background(it):
        for n in used(it):
            it.deliver(n, envelope("k"))
        await turns()
        assert seen == ["plain", "object", "partial", "awaitable"] and set(used(it).values()) == {1}


@scenario
async def test_what_is_decorated_stays_what_it_was(it: Wired) -> None:
    def function(message: mesh.Message) -> str:
        return message.key

    assert it.client.on("k")(function) is function


@scenario
async def test_topics_are_keys_and_patterns_of_a_domain_and_values_have_their_type(it: Wired) -> None:
    seen: list[Any] = []

    @it.client.on(
        "a/1", "b/+", "a/1", domain="d", type=int, initial=False, overflow="drop_oldest", max_queue=7
    )
    def take(message: mesh.Message[int]) -> None:
        seen.append((message.key, message.value))

    async with Background(it):
        asked = [said for said in it.wire.said if isinstance(said, c.Subscribe)]
        assert [(a.query, a.initial, a.overflow, a.max_queue) for a in asked] == [
            (c.Query("exact", "a/1", "d"), False, "drop_oldest", 7),
            (c.Query("pattern", "b/+", "d"), False, "drop_oldest", 7),
        ]
        it.deliver(number(it, "b/+"), envelope("b/1", [b"1"]))
        it.deliver(number(it, "a/1"), envelope("a/1", [b"2"], first=2))
        await turns()
        assert seen == [("b/1", 1), ("a/1", 2)]
    assert sorted(left(it)) == sorted(a.subscription for a in asked)


@scenario
async def test_as_many_at_a_time_as_was_said_and_a_batch_counts_when_all_of_it_was_handled(it: Wired) -> None:
    doors: dict[str, asyncio.Event] = {}

    @it.client.on("k/#", concurrency=3)
    async def take(message: mesh.Message) -> None:
        doors[message.key] = asyncio.Event()
        await doors[message.key].wait()

    async with Background(it):
        n = number(it, "k/#")
        it.deliver(n, envelope("k/1 k/2"))
        it.deliver(n, envelope("k/3", first=3))
        it.deliver(n, envelope("k/4", first=4))
        await turns()
        assert list(doors) == ["k/1", "k/2", "k/3"] and used(it) == {n: 0}
        doors["k/2"].set()
        await turns()
        assert list(doors) == ["k/1", "k/2", "k/3", "k/4"] and used(it) == {n: 0}
        doors["k/3"].set()
        await turns()
        assert used(it) == {n: 1}, "of the first batch one is still being handled"
        doors["k/1"].set()
        doors["k/4"].set()
        await turns()
        assert used(it) == {n: 3}


@scenario
async def test_a_node_that_is_restarted_meanwhile_gets_no_credit_for_what_it_did_not_send(it: Wired) -> None:
    doors: list[asyncio.Event] = []

    @it.client.on("k", concurrency=5)
    async def take(message: mesh.Message) -> None:
        doors.append(asyncio.Event())
        await doors[-1].wait()

    async with Background(it):
        n = number(it, "k")
        for first in (1, 2, 3):
            it.deliver(n, envelope("k", first=first))
        await turns()
        assert len(doors) == 3
        await it.lose(boot=2)
        for door in doors:
            door.set()
        await turns()
        assert used(it) == {n: 0}


@scenario
async def test_what_a_handler_raises_is_logged_and_ends_neither_it_nor_the_others(it: Wired) -> None:
    seen: list[str] = []

    @it.client.on("a")
    async def bad(message: mesh.Message) -> None:
        seen.append(message.content.decode())
        raise {"1": ValueError("no"), "2": StopIteration(), "3": asyncio.CancelledError("not us")}[seen[-1]]

    @it.client.on("b")
    def good(message: mesh.Message) -> None:
        seen.append("good")

    with logged() as records:
        async with Background(it):
            for n in (1, 2, 3):
                it.deliver(number(it, "a"), envelope("a", [b"%d" % n], first=n))
            it.deliver(number(it, "b"), envelope("b", first=4))
            await turns()
            await turns()
            assert sorted(seen) == ["1", "2", "3", "good"]
            assert used(it) == {number(it, "a"): 3, number(it, "b"): 1}
    assert [record.levelno for record in records] == [logging.ERROR] * 3
    text = records[0].getMessage()
    assert "bad failed with a (" in text and ":1)" in text and records[0].exc_info
    assert "not us" in str(records[2].exc_info)


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError("not us"), KeyError("k")])
def test_with_stop_on_error_the_first_one_ends_run_and_all_is_left(error: BaseException) -> None:
    @scenario
    async def told(it: Wired) -> None:
        cancelled: list[str] = []

        @it.client.on("a", concurrency=2)
        async def bad(message: mesh.Message) -> None:
            raise error

        @it.client.on("b")
        async def other(message: mesh.Message) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                cancelled.append(message.key)

        task = asyncio.create_task(it.client.run(stop_on_error=True))
        await turns()
        it.deliver(number(it, "b"), envelope("b"))
        it.deliver(number(it, "a"), envelope("a", first=2))
        expected = RuntimeError if isinstance(error, asyncio.CancelledError) else type(error)
        with pytest.raises(expected):
            await task
        assert cancelled == ["b"] and len(left(it)) == 2 and not used(it)

    told()


@scenario
async def test_what_others_wrote_wrongly_is_one_line_and_never_ends_run(it: Wired) -> None:
    seen: list[int] = []

    @it.client.on("k", type=int)
    def take(message: mesh.Message[int]) -> None:
        seen.append(message.value)

    with logged() as records:
        async with Background(it, stop_on_error=True):
            it.deliver(number(it, "k"), envelope("k k k", [b"1", b"x", b"3"]))
            await turns()
            assert seen == [1, 3]
    [record] = records
    assert (record.levelno, record.exc_info) == (
        logging.WARNING,
        None,
    ) and "BAD_CONTENT" in record.getMessage()
