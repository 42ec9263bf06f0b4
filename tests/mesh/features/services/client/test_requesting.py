"""Requests to one consumer of an address, on real nodes in memory."""

from __future__ import annotations

import asyncio

import pytest

from mesh.errors import BadType, HandlerLost, MeshTimeout, NoHandlers, RequestFailed
from tests.mesh.client.services import answer, beside, pair, run


def test_a_request_has_the_reply_of_whoever_serves_it_wherever_that_is() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("orders/new") as orders, beside(answer(orders)):
            for asking in (ann, bob):
                reply = await asking.request("orders/new", b"one", headers={"a": "b"})
                assert (reply.content, reply.sender, reply.key) == (b"re one", bob.name, "orders/new")

    run(scenario)


def test_many_at_once_each_have_their_own() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("echo", prefetch=7) as one, ann.serve("echo") as other:
            async with beside(answer(one)), beside(answer(other)):
                said = await asyncio.gather(*(ann.request("echo", b"%d" % n) for n in range(500)))
                assert [reply.content for reply in said] == [b"re %d" % n for n in range(500)]

    run(scenario)


def test_nobody_somebody_who_is_gone_and_somebody_who_is_slow_are_three_errors() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_with_retry_lost_another_one_is_asked_within_the_time() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_what_is_local_stays_local() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob):
            async with bob.serve("x", local_only=True) as private, beside(answer(private)):
                with pytest.raises(NoHandlers):
                    await ann.request("x", b"")
                assert (await bob.request("x", b"", local_only=True)).content == b"re "
            async with bob.serve("x") as public, beside(answer(public)):
                with pytest.raises(NoHandlers):
                    await ann.request("x", b"", local_only=True)
                assert (await ann.request("x", b"")).content == b"re "

    run(scenario)


def test_E15_what_cannot_be_sent_is_refused_before_it_is_and_what_does_not_fit_when_it_is_read() -> None:
    async def scenario() -> None:
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

    run(scenario)
