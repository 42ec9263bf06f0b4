"""Requests as their consumer receives them, on real nodes in memory."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

import pytest

from mesh.errors import BadArgument, LocalError, MessageTooLarge, RequestFailed
from tests.mesh.client.services import beside, pair, run


def test_a_request_says_who_asks_what_and_for_how_long() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("who") as service:
            asking = asyncio.create_task(ann.request("who", {"x": 1}, timeout=60.0, headers={"h": "v"}))
            request = await anext(service)
            assert (request.sender, request.to, request.key) == (ann.name, "who", "who")
            assert request.wants_reply and 0 < request.remaining < 62
            assert request.value == {"x": 1} and request.headers["h"] == "v"
            assert await request.reply({"y": 2}, headers={"k": "w"})
            reply = await asking
            assert reply.value == {"y": 2} and reply.headers["k"] == "w"
            with pytest.raises(LocalError) as caught:
                await request.fail("TOO_LATE")
            assert caught.value.code == "ANSWERED"

    run(scenario)


def test_values_travel_by_their_types() -> None:
    @dataclass
    class Order:
        item: str
        count: int

    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("orders", type=Order) as orders:

            async def work() -> None:
                async for request in orders:
                    await request.reply(request.value.count * 2)

            async with beside(work()):
                reply = await ann.request("orders", Order("x", 21), type=int)
                assert reply.value == 42

    run(scenario)


def test_a_failure_is_told_by_its_code_and_text() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("orders") as orders:

            async def work() -> None:
                async for request in orders:
                    await request.fail("NO_SUCH_ITEM", "there is no x")

            async with beside(work()):
                with pytest.raises(RequestFailed) as caught:
                    await ann.request("orders", b"x")
        assert (caught.value.code, caught.value.text) == ("NO_SUCH_ITEM", "there is no x")

    run(scenario)


def test_what_cannot_be_a_reply_is_refused_and_another_one_may_be_given() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_what_wants_no_reply_is_done_when_the_next_one_is_asked_for() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_requests_may_be_handed_to_tasks_and_answered_in_any_order() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("slow", prefetch=8) as slow:
            asked = [asyncio.create_task(ann.request("slow", b"%d" % n)) for n in range(8)]
            held = [await anext(slow) for _ in range(8)]
            for request in reversed(held):
                assert await request.reply(request.content * 2)
            assert [(await task).content for task in asked] == [b"%d%d" % (n, n) for n in range(8)]

    run(scenario)
