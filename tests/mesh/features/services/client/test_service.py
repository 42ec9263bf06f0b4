"""Services that user code opens, on real nodes in memory."""

from __future__ import annotations

import asyncio

import pytest

from mesh.errors import Closed, HandlerLost, RequestFailed
from tests.mesh.client.services import answer, beside, pair, run
from tests.mesh.meshes import LIMIT, eventually, in_memory


def test_one_that_is_dropped_without_a_reply_fails_and_its_room_is_used_again() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("forgets", prefetch=4) as service:

            async def forget() -> None:
                async for _ in service:
                    pass

            async with beside(forget()):
                asked = [asyncio.create_task(ann.request("forgets", b"", timeout=LIMIT)) for _ in range(40)]
                # The loop of `forget` and the service hold at most four requests.
                await eventually(lambda: sum(task.done() for task in asked) >= 36)
                failed = [task.exception() for task in asked if task.done()]
                assert all(isinstance(error, RequestFailed) for error in failed)
                for task in asked:
                    task.cancel()

    run(scenario)


def test_a_service_that_was_never_entered_says_so() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, _):
            with pytest.raises(Closed) as caught:
                await asyncio.wait_for(anext(ann.serve("x")), LIMIT)
            assert "async with" in str(caught.value)

    run(scenario)


def test_a_service_is_opened_only_once() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("work") as work:
            with pytest.raises(Closed, match="The service of work was opened before"):
                await work.__aenter__()
            async with beside(answer(work)):
                assert (await ann.request("work", b"1")).content == b"re 1"
            await work.close()
            with pytest.raises(Closed, match="was opened before"):
                await work.__aenter__()

    run(scenario)


def test_several_tasks_may_take_from_one_service() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("work") as work:
            async with beside(answer(work)), beside(answer(work)), beside(answer(work)):
                said = await asyncio.gather(*(ann.request("work", b"%d" % n) for n in range(50)))
            assert [reply.content for reply in said] == [b"re %d" % n for n in range(50)]

    run(scenario)


def test_a_service_survives_its_node_and_requests_its_loss() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ann, m.connect("b") as bob:
            async with bob.serve("orders") as orders, beside(answer(orders)):
                assert (await ann.request("orders", b"1")).content == b"re 1"
                m.kill("b")
                await m.pass_time(10.0)
                m.start("b")
                await m.joined()
                await m.pass_time(3.0)
                assert (await ann.request("orders", b"2")).content == b"re 2"

    run(scenario)


def test_what_a_lost_node_had_is_handler_lost_and_what_comes_later_is_done() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_with_its_client_a_service_ends() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_a_service_that_is_left_gives_back_what_it_has_not_begun_to_others_anywhere() -> None:
    async def scenario() -> None:
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

    run(scenario)
