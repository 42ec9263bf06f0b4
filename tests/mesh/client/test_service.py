"""Serving and asking, as users write it: in memory, by the real nodes."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.errors import (
    BadArgument,
    BadName,
    BadQuery,
    BadType,
    Closed,
    HandlerLost,
    LocalError,
    MeshTimeout,
    MessageTooLarge,
    NoHandlers,
    PublishRefused,
    RequestFailed,
)
from tests.mesh.meshes import InMemory, in_memory


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[InMemory, Client, Client]]:
    """A mesh of two nodes, and a client at each."""
    async with in_memory("a", "b") as m, m.connect("a") as ann, m.connect("b") as bob:
        yield m, ann, bob


@asynccontextmanager
async def beside(work: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def answer(service: Any) -> None:
    async for request in service:
        await request.reply(b"re " + request.content)


def run(story: Any) -> None:
    asyncio.run(story())
    gc.collect()


# --- asking one -----------------------------------------------------------------------------------------


def test_a_request_has_the_reply_of_whoever_serves_it_wherever_that_is() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("orders/new") as orders, beside(answer(orders)):
            for asking in (ann, bob):
                reply = await asking.request("orders/new", b"one", headers={"a": "b"})
                assert (reply.content, reply.sender, reply.key) == (b"re one", bob.name, "orders/new")

    run(story)


def test_many_at_once_each_have_their_own() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("echo", prefetch=7) as one, ann.serve("echo") as other:
            async with beside(answer(one)), beside(answer(other)):
                said = await asyncio.gather(*(ann.request("echo", b"%d" % n) for n in range(500)))
                assert [reply.content for reply in said] == [b"re %d" % n for n in range(500)]

    run(story)


def test_a_request_says_who_asks_what_and_for_how_long() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("who") as service:
            asking = asyncio.create_task(ann.request("who", {"x": 1}, timeout=2.0, headers={"h": "v"}))
            request = await anext(service)
            assert (request.sender, request.to, request.key) == (ann.name, "who", "who")
            assert request.wants_reply and 1.0 < request.remaining <= 2.1
            assert request.value == {"x": 1} and request.headers["h"] == "v"
            assert await request.reply({"y": 2}, headers={"k": "w"})
            reply = await asking
            assert reply.value == {"y": 2} and reply.headers["k"] == "w"
            with pytest.raises(LocalError) as caught:
                await request.fail("TOO_LATE")
            assert caught.value.code == "ANSWERED"

    run(story)


def test_values_travel_by_their_types() -> None:
    @dataclass
    class Order:
        item: str
        count: int

    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("orders", type=Order) as orders:

            async def work() -> None:
                async for request in orders:
                    await request.reply(request.value.count * 2)

            async with beside(work()):
                reply = await ann.request("orders", Order("x", 21), type=int)
                assert reply.value == 42

    run(story)


def test_a_failure_is_told_by_its_code_and_text() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("orders") as orders:

            async def work() -> None:
                async for request in orders:
                    await request.fail("NO_SUCH_ITEM", "there is no x")

            async with beside(work()):
                with pytest.raises(RequestFailed) as caught:
                    await ann.request("orders", b"x")
        assert (caught.value.code, caught.value.text) == ("NO_SUCH_ITEM", "there is no x")

    run(story)


def test_nobody_somebody_who_is_gone_and_somebody_who_is_slow_are_three_errors() -> None:
    async def story() -> None:
        async with pair() as (m, ann, bob):
            with pytest.raises(NoHandlers):
                await ann.request("orders", b"x")
            async with bob.serve("orders") as orders:
                asking = asyncio.create_task(ann.request("orders", b"x", timeout=60))
                held = await anext(orders)
                with pytest.raises(MeshTimeout):
                    async with beside(m.pass_time(1.0)):
                        await ann.request("orders", b"y", timeout=0.5)
            with pytest.raises(HandlerLost):
                await asking
            assert not await held.reply(b"too late"), "its service was left"
            await ann.flush()

    run(story)


def test_with_retry_lost_another_one_is_asked_within_the_time() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), ann.serve("orders", local_only=True) as here:
            async with bob.serve("orders") as orders:
                once = asyncio.create_task(bob.request("orders", b"x"))
                again = asyncio.create_task(ann.request("orders", b"x", retry_lost=True))
                while not again.done():
                    request = await anext(orders) if not once.done() else await anext(here)
                    if request.sender == ann.name and once.done():
                        assert await request.reply(b"done")
                        break
                    if request.sender == bob.name:
                        await orders.close()
                        await asyncio.wait([once])
            assert isinstance(once.exception(), HandlerLost)
            assert (await again).content == b"done"

    run(story)


def test_what_is_local_stays_local() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob):
            async with bob.serve("x", local_only=True) as private, beside(answer(private)):
                with pytest.raises(NoHandlers):
                    await ann.request("x", b"")
                assert (await bob.request("x", b"", local_only=True)).content == b"re "
            async with bob.serve("x") as public, beside(answer(public)):
                with pytest.raises(NoHandlers):
                    await ann.request("x", b"", local_only=True)
                assert (await ann.request("x", b"")).content == b"re "

    run(story)


# --- serving --------------------------------------------------------------------------------------------


def test_what_wants_no_reply_is_done_when_the_next_one_is_asked_for() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("log", prefetch=1) as log:
            assert [(await ann.send("log", b"%d" % n)).matched for n in range(1)] == [1]
            sending = [asyncio.create_task(ann.send("log", b"%d" % n)) for n in range(1, 4)]
            seen = []
            for _ in range(4):
                request = await anext(log)
                seen.append(request.content)
                assert not request.wants_reply and request.remaining == math.inf
                assert not await request.reply(b"nobody hears")
            assert seen == [b"0", b"1", b"2", b"3"]
            assert all(sent.ok for sent in await asyncio.gather(*sending))

    run(story)


def test_requests_may_be_handed_to_tasks_and_answered_in_any_order() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("slow", prefetch=8) as slow:
            asked = [asyncio.create_task(ann.request("slow", b"%d" % n)) for n in range(8)]
            held = [await anext(slow) for _ in range(8)]
            for request in reversed(held):
                assert await request.reply(request.content * 2)
            assert [(await task).content for task in asked] == [b"%d%d" % (n, n) for n in range(8)]

    run(story)


def test_one_that_is_dropped_without_a_reply_fails_and_its_room_is_used_again() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("forgets", prefetch=4) as service:

            async def forget() -> None:
                async for _ in service:
                    pass

            async with beside(forget()):
                asked = [asyncio.create_task(ann.request("forgets", b"")) for _ in range(40)]
                done, _ = await asyncio.wait(asked, timeout=2.0)
                failed = [task.exception() for task in done]
                assert len(failed) >= 36 and all(isinstance(error, RequestFailed) for error in failed)
                for task in asked:
                    task.cancel()

    run(story)


def test_a_service_that_was_never_entered_says_so() -> None:
    async def story() -> None:
        async with pair() as (_, ann, _):
            with pytest.raises(Closed) as caught:
                await asyncio.wait_for(anext(ann.serve("x")), 1)
            assert "async with" in str(caught.value)

    run(story)


def test_several_tasks_may_take_from_one_service() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("work") as work:
            async with beside(answer(work)), beside(answer(work)), beside(answer(work)):
                said = await asyncio.gather(*(ann.request("work", b"%d" % n) for n in range(50)))
            assert [reply.content for reply in said] == [b"re %d" % n for n in range(50)]

    run(story)


def test_what_cannot_be_a_reply_is_refused_and_another_one_may_be_given() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("x") as service:
            asking = asyncio.create_task(ann.request("x", b""))
            request = await anext(service)
            with pytest.raises(MessageTooLarge, match="x"):
                await request.reply(bytes(2 << 20))
            for content in (object(), "\ud800", math.nan):
                with pytest.raises(BadArgument):
                    await request.reply(content)
            for code in ("", "x" * 65, "a\nb", 5, None, "\ud800"):
                with pytest.raises(BadArgument):
                    await request.fail(code)  # type: ignore[arg-type]
            with pytest.raises(BadArgument):
                await request.fail("X", 5)  # type: ignore[arg-type]
            assert await request.reply(bytes(1 << 20))
            assert len((await asking).content) == 1 << 20

    run(story)


def test_a_service_survives_its_node_and_requests_its_loss() -> None:
    async def story() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ann, m.connect("b") as bob:
            async with bob.serve("orders") as orders, beside(answer(orders)):
                assert (await ann.request("orders", b"1")).content == b"re 1"
                m.kill("b")
                await m.pass_time(10.0)
                m.start("b")
                await m.joined()
                await m.pass_time(3.0)
                assert (await ann.request("orders", b"2")).content == b"re 2"

    run(story)


def test_what_a_lost_node_had_is_handler_lost_and_what_comes_later_is_done() -> None:
    async def story() -> None:
        async with in_memory("a") as m, m.connect("a") as ann, m.connect("a") as bob:
            async with bob.serve("orders") as orders:
                asking = asyncio.create_task(ann.request("orders", b"1", timeout=60.0))
                held = await anext(orders)
                await asyncio.sleep(0)
                await m.pass_time(0.1)
                m.kill("a")
                await m.pass_time(1.0)
                assert not await held.reply(b"x")
                m.start("a")
                await m.pass_time(5.0)
                with pytest.raises(HandlerLost):
                    await asking
                later = asyncio.create_task(ann.request("orders", b"2"))
                found = await anext(orders)
                assert found.content == b"2" and await found.reply(b"y")
                assert (await later).content == b"y"

    run(story)


def test_with_its_client_a_service_ends() -> None:
    async def story() -> None:
        async with in_memory("a") as m:
            async with m.connect("a") as bob:
                orders = bob.serve("orders")
                await orders.__aenter__()
                waiting = asyncio.create_task(anext(orders))
                await asyncio.sleep(0)
            with pytest.raises(StopAsyncIteration):
                await waiting
            await orders.close()
            with pytest.raises(Closed):
                await bob.request("orders", b"")
            with pytest.raises(Closed):
                async with orders:
                    pass

    run(story)


# --- asking all -----------------------------------------------------------------------------------------


def test_all_who_serve_it_are_asked_and_the_end_is_known() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), ann.serve("who") as one, bob.serve("who") as two:
            async with bob.serve("who") as three, beside(answer(one)), beside(answer(two)):

                async def fail() -> None:
                    async for request in three:
                        await request.fail("BUSY", "not now")

                async with beside(fail()), ann.gather("who", b"?", timeout=60.0) as answers:
                    found = [message async for message in answers]
                assert answers.expected == 3
                assert sorted(m.content for m in found if m.error is None) == [b"re ?", b"re ?"]
                [error] = [m.error for m in found if m.error is not None]
                assert isinstance(error, RequestFailed) and (error.code, error.text) == ("BUSY", "not now")
                assert {m.key for m in found} == {"who"}
                async with ann.gather("who", b"?", most=1) as some:
                    assert len([message async for message in some]) == 1
            async with ann.gather("nobody", b"?") as none:
                assert [message async for message in none] == [] and none.expected == 0

    run(story)


def test_who_is_asked_and_says_nothing_is_waited_for_until_the_time_is_over() -> None:
    async def story() -> None:
        async with pair() as (m, ann, bob), bob.serve("who") as silent, ann.serve("who") as one:
            async with beside(answer(one)), ann.gather("who", b"?", timeout=5.0) as answers:
                held = asyncio.create_task(anext(silent))
                assert (await anext(answers)).content == b"re ?"
                await m.pass_time(6.0)
                with pytest.raises(StopAsyncIteration):
                    await anext(answers)
                assert answers.expected == 2 and not await (await held).reply(b"late")

    run(story)


def test_who_reads_a_gathering_that_is_left_or_was_never_entered_waits_for_nothing() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), bob.serve("who"):
            asked = ann.gather("who", b"?", timeout=3600.0)
            with pytest.raises(Closed):
                await anext(asked)
            async with asked:
                waiting = asyncio.create_task(anext(asked))
                await asyncio.sleep(0)
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(waiting, 1)
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(asked), 1)
            with pytest.raises(Closed):
                await asked.__aenter__()

    run(story)


# --- sending --------------------------------------------------------------------------------------------


def test_a_send_goes_to_one_or_to_all_and_several_destinations_have_a_result_each() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob), ann.serve("log") as one, bob.serve("log") as two:
            assert (await ann.send("log", b"x", delivery="all")).matched == 2
            assert [(await anext(each)).content for each in (one, two)] == [b"x", b"x"]
            sent = await ann.send(["log", "nobody", ann.name], b"y", key="k", expiry=5.0)
            assert [each.destination for each in sent] == ["log", "nobody", ann.name]
            assert sent[0].result is not None and isinstance(sent[1].error, NoHandlers)
            with pytest.raises(NoHandlers):
                await ann.send("nobody", b"", delivery="all")
            with pytest.raises(NoHandlers):
                await ann.send("nobody", b"", delivery="one", local_only=True)
            await ann.flush()
            assert isinstance(sent[0].result, mesh.Published)
            assert await ann.final(sent[0].result) == sent[0].result

    run(story)


def test_of_thousands_of_destinations_each_has_its_own_reason() -> None:
    async def story() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            sent = await ann.send([f"nobody/{n}" for n in range(1500)], b"x")
            assert [each.destination for each in sent] == [f"nobody/{n}" for n in range(1500)]
            assert {type(each.error) for each in sent} == {NoHandlers}

    run(story)


@pytest.mark.parametrize("address", ["", "calc/+", "#"])
def test_what_is_said_of_an_address_is_not_about_topics(address: str) -> None:
    async def story() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            for ask in (ann.serve, ann.registrations, ann.gather):
                with pytest.raises(BadName) as caught:
                    ask(address)
                said = str(caught.value)
                assert "calc/add" in said and not any(word in said for word in ("subscribe", "topic", "key"))

    run(story)


@pytest.mark.parametrize(
    "options",
    [{"persistent": True}, {"domain": "NEWS"}, {"domain": ""}, {"force_queuing": True}, {"delivery": "some"}],
)
def test_what_has_no_meaning_for_an_address_is_refused(options: dict[str, Any]) -> None:
    async def story() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            with pytest.raises(BadArgument):
                await ann.send("log", b"x", **options)
            with pytest.raises(BadArgument):
                await ann.send("client/joe", b"x", local_only=True)
            with pytest.raises(PublishRefused, match="RESERVED"):
                await ann.publish("k", b"x", domain="address/")
            assert m.metric("a", "published") == 0

    run(story)


# --- functions ------------------------------------------------------------------------------------------


class NoSuchUser(Exception):
    pass


class Calculator:
    async def __call__(self, a: int, /, b: int = 10, *, c: int = 100) -> int:
        return a + b + c


def test_a_function_answers_by_the_types_of_its_arguments() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob):

            @bob.service("add")
            async def add(a: int, b: int = 5) -> int:
                return a + b

            @bob.service("twice", concurrency=1)
            def twice(text: str) -> str:
                return text * 2

            @bob.service("now")
            def now() -> float:
                return 1.5

            @bob.service("whom")
            async def whom(request: mesh.Request[int]) -> None:
                await request.reply([request.sender, request.value])

            bob.service("object")(Calculator())
            bob.service("lambda")(lambda value: value)
            async with bob.running():
                ask = ann.request
                assert (await ask("add", {"a": 1})).value == 6
                assert (await ask("add", {"a": 1, "b": 2}, type=int)).value == 3
                assert (await ask("twice", "ab")).text == "abab"
                assert (await ask("now")).value == 1.5
                assert (await ask("whom", 7)).value == [ann.name, 7]
                assert (await ask("object", {"a": 1})).value == 111
                assert (await ask("object", {"a": 1, "c": 2})).value == 13
                assert (await ask("lambda", {"k": None})).value == {"k": None}
            with pytest.raises(NoHandlers):
                await ask("add", {"a": 1})

    run(story)


def test_what_a_function_raises_is_told_to_the_caller_and_never_a_timeout(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob):

            @bob.service("fails")
            def fails(how: str) -> object:
                if how == "user":
                    raise NoSuchUser("there is no joe")
                if how == "own":
                    raise RequestFailed("gone fishing", code="AWAY")
                if how == "large":
                    return bytes(2 << 20)
                if how == "strange":
                    return object()
                if how == "stop":
                    next(iter(()))
                if how == "number":
                    raise RequestFailed(404, code=404)  # type: ignore[arg-type]
                raise {"value": ValueError("bad"), "os": OSError()}[how]

            async with bob.running():
                said = {}
                for how in ("user", "own", "large", "strange", "stop", "number", "value", "os", "nothing"):
                    with pytest.raises(RequestFailed) as caught:
                        await ann.request("fails", how)
                    said[how] = caught.value.code
                    if how == "user":
                        assert caught.value.text == "there is no joe"
                for bad in (5, b"\xff"):
                    with pytest.raises(RequestFailed) as caught:
                        await ann.request("fails", bad)
                    assert caught.value.code == "BAD_CONTENT"
        assert said == {
            "user": "NO_SUCH_USER", "own": "AWAY", "large": "TOO_LARGE", "strange": "BAD_ARGUMENT",
            "stop": "RUNTIME_ERROR", "number": "404", "value": "VALUE_ERROR", "os": "OS_ERROR",
            "nothing": "KEY_ERROR",
        }  # fmt: skip

    with caplog.at_level(logging.CRITICAL, "mesh.client"):
        run(story)


def test_an_error_may_end_it_and_plain_messages_are_taken_too() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob):
            seen = []

            @bob.service("x")
            def take(content: bytes) -> None:
                seen.append(content)
                if content == b"bad":
                    raise ValueError("it is bad")

            with pytest.raises(ValueError, match="it is bad"):
                async with bob.running(stop_on_error=True):
                    await ann.send("x", b"plain")
                    with pytest.raises(RequestFailed):
                        await ann.request("x", b"bad")
                    await asyncio.sleep(5)
            assert seen == [b"plain", b"bad"]

    run(story)


def takes_any(*args: int) -> None: ...
def takes_unknown(a: Nowhere, b: int) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def takes_object(a: object, b: type[int]) -> None: ...


@pytest.mark.parametrize("function", [takes_any, takes_unknown, 5, None])
def test_a_function_that_cannot_be_called_is_refused_where_it_stands(function: Any) -> None:
    async def story() -> None:
        async with in_memory("a") as m, m.connect("a") as bob:
            with pytest.raises(BadType):
                bob.service("x")(function)
            for options in ({"concurrency": 0}, {"concurrency": True}, {"local_only": 1}):
                with pytest.raises(BadArgument):
                    bob.service("x", **options)
            with pytest.raises(BadName):
                bob.service("client/x")
            with pytest.raises(BadQuery):
                await bob.run()

    run(story)


def test_no_more_of_them_work_at_a_time_than_they_may() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob):
            most = now = 0

            @bob.service("x", concurrency=3)
            async def work() -> None:
                nonlocal most, now
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.01)
                now -= 1

            async with bob.running():
                await asyncio.gather(*(ann.request("x") for _ in range(12)))
            assert most == 3

    run(story)


# --- who serves what ------------------------------------------------------------------------------------


def test_registrations_are_the_list_and_then_what_changes() -> None:
    async def story() -> None:
        async with pair() as (m, ann, bob), bob.serve("x"):
            await m.pass_time(3.0)
            await ann.send("x", b"")
            looking = ann.registrations("x")
            first = await anext(looking)
            assert (first.node, first.consumers) == ("b", 1) and first.change in ("initial", "added")
            async with bob.serve("x"):
                assert [(n.node, n.consumers, n.change) for n in [await anext(looking)]] == [
                    ("b", 2, "changed")
                ]
                async with ann.serve("x"):
                    assert (await anext(looking)).node == "a"
                assert (await anext(looking)).change == "removed"
            assert (await anext(looking)).consumers == 1
            waiting = asyncio.create_task(anext(looking))
            await asyncio.sleep(0)
            await looking.aclose()
            with pytest.raises(StopAsyncIteration):
                await waiting
            assert not len(ann._core.watches)

    run(story)


def test_a_service_that_is_left_gives_back_what_it_has_not_begun_to_others_anywhere() -> None:
    async def story() -> None:
        async with pair() as (_, m, n):
            one = await m.serve("x").__aenter__()
            asked = [asyncio.ensure_future(n.request("x", b"%d" % k, timeout=60.0)) for k in range(6)]
            first = await anext(one)
            async with n.serve("x") as other:
                await first.reply(b"first")
                await one.__aexit__(None, None, None)
                for _ in range(5):
                    await (await anext(other)).reply(b"other")
                assert [(await task).content for task in asked] == [b"first", *[b"other"] * 5]

    run(story)


def test_E15_what_cannot_be_sent_is_refused_before_it_is_and_what_does_not_fit_when_it_is_read() -> None:
    async def story() -> None:
        async with pair() as (_, ann, bob):
            with pytest.raises(BadType):
                await ann.request("sum", object())

            @bob.service("sum")
            async def total(numbers: list[int]) -> int:
                return sum(numbers)

            async with bob.running():
                for wrong in ({"a": 1}, ["one"], b"\xff"):
                    with pytest.raises(RequestFailed) as caught:
                        await ann.request("sum", wrong)
                    assert caught.value.code == "BAD_CONTENT"
                assert (await ann.request("sum", [1, 2, 3])).value == 6

    run(story)
