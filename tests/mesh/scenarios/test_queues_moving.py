"""Queues at several real nodes, by the scenarios' ids: what goes where when somebody comes or goes?"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from tests.mesh.embedded.own import runtime
from tests.mesh.running import LIMIT
from tests.mesh.scenarios.test_durable import three
from tests.mesh.scenarios.test_queues import Nodes, Taker, nodes, put, until

TEN, TWENTY = list(range(10)), list(range(20))


async def takers(it: Nodes, stack: AsyncExitStack, *places: int, **how: Any) -> list[Taker]:
    """Somebody takes at each of these nodes."""
    return [await stack.enter_async_context(Taker(it[i], **how)) for i in places]


def test_B2_queues_of_one_node_each_know_nothing_of_others_with_their_name() -> None:
    async def story() -> None:
        async with three() as (it, _):
            for m in it.all:
                await m.queue("jobs").declare(scope="node")
            for k in range(3):
                others = [i for i in range(3) if i != k]
                async with AsyncExitStack() as stack:
                    elsewhere = await takers(it, stack, *others)
                    await put(it[k], range(100))
                    await it.settle()
                    assert [taker.had for taker in elsewhere] == [[], []]
                    async with Taker(it[k]) as taker:
                        await until(lambda: len(taker.had) == 100)  # noqa: B023
                        assert taker.had == list(range(100))
                        await taker.ack()
            assert await it.sent() == [0, 0, 0]

    asyncio.run(story())


def test_B3_what_was_not_acked_stays_where_it_went_in_its_order() -> None:
    async def story() -> None:
        async with nodes(3, redistribution=None) as it:
            async with Taker(it[1]) as taker:
                await put(it[0], range(100))
                await until(lambda: len(taker.had) == 100)
                assert taker.had == list(range(100))
            async with AsyncExitStack() as stack:
                elsewhere = await takers(it, stack, 0, 2)
                await it.settle(2.0)
                assert [each.had for each in elsewhere] == [[], []]
            async with Taker(it[1]) as again:
                await until(lambda: len(again.had) == 100)
                assert again.had == list(range(100))
                await again.ack()

    asyncio.run(story())


def test_C2_who_comes_later_has_nothing_of_what_was_given_before() -> None:
    async def story() -> None:
        async with nodes(5, distribution="round_robin", redistribution=0.0) as it, AsyncExitStack() as stack:
            (first,) = await takers(it, stack, 0)
            await put(it[0], TEN)
            await until(lambda: len(first.had) == 10)
            later = await takers(it, stack, 1, 2, 3, 4)
            await it.settle()
            assert first.had == TEN and [each.had for each in later] == [[]] * 4

    asyncio.run(story())


def test_C3_strict_is_in_turn_whoever_takes() -> None:
    async def story() -> None:
        for places in ((), (0,)):
            async with nodes(2, distribution="strict") as it, AsyncExitStack() as stack:
                there = await takers(it, stack, *places)
                await it.settle()  # until that is known, who takes here may be given all
                await put(it[0], TEN)
                await until(partial(in_all, it, [5, 5]))
                there += await takers(it, stack, *range(len(places), 2))
                await until(lambda: [len(each.had) for each in there] == [5, 5])  # noqa: B023
                assert sorted(each.had for each in there) == [TEN[::2], TEN[1::2]]

    asyncio.run(story())


async def in_all(it: Nodes, messages: list[int]) -> bool:
    """So many are at each node, ready or with somebody."""
    rows = [await m.call("queue_info", name="jobs", here=True) for m in it.all]
    return [row["ready"] + row["out"] for row in rows] == messages


def test_C4_independent_stays() -> None:
    async def story() -> None:
        async with nodes(2, distribution="independent") as it, AsyncExitStack() as stack:
            a, b = await takers(it, stack, 0, 1)
            await put(it[0], TEN)
            await until(lambda: len(a.had) == 10)
            await it.settle()
            assert a.had == TEN and b.had == [] and await it.sent() == [0, 0]

    asyncio.run(story())


def test_C8_another_selector_is_known_elsewhere() -> None:
    async def story() -> None:
        async with nodes(2, redistribution=0.2) as it:
            async with Taker(it[1], selector="color == 'blue'"):
                await put(it[0], TEN, headers={"color": "red"})
                await it.settle()
                assert await it.sent() == [0, 0]
            async with Taker(it[1], selector="color == 'red'") as red:
                await until(lambda: red.had == TEN)
                room = runtime(it[0]).core.parts.queues
                (stock,) = room.stocks.others("jobs").values()
                assert stock.selectors == ("color == 'red'",)

    asyncio.run(story())


def test_C14_what_a_consumer_had_who_goes_moves_to_the_other() -> None:
    async def story() -> None:
        async with nodes(3, redistribution=0.0) as it, AsyncExitStack() as stack:
            b, c = await takers(it, stack, 1, 2)
            await put(it[0], TWENTY)
            await until(lambda: len(b.had) + len(c.had) == 20)
            mine, before = list(b.had), len(c.had)
            await b.close()
            await until(lambda: len(c.had) == 20)
            assert c.had[before:] == mine

    asyncio.run(story())


def test_C15_strict_moves_nothing_when_a_consumer_goes() -> None:
    async def story() -> None:
        async with nodes(3, distribution="strict") as it, AsyncExitStack() as stack:
            a, b, c = await takers(it, stack, 0, 1, 2)
            await it.settle()
            await put(it[0], TWENTY)
            await until(lambda: len(a.had) + len(b.had) + len(c.had) == 20)
            mine = list(b.had)
            await b.close()
            await it.settle()
            (again,) = await takers(it, stack, 1)
            await until(lambda: again.had == mine)
            assert sorted(map(len, (a.had, again.had, c.had))) == [6, 7, 7]

    asyncio.run(story())


def test_C16_where_nobody_else_takes_it_stays() -> None:
    async def story() -> None:
        async with nodes(2, redistribution=0.0) as it:
            async with Taker(it[1]) as taker:
                await put(it[0], TWENTY)
                await until(lambda: taker.had == TWENTY)
            await it.settle()
            async with Taker(it[1]) as again:
                await until(lambda: again.had == TWENTY)

    asyncio.run(story())


def test_C19_what_is_put_where_nobody_takes_goes_to_who_does() -> None:
    async def story() -> None:
        async with nodes(1) as it, Taker(it[0]) as taker:
            await it.add()
            await it.declare()  # until it knows it
            await put(it[1], TEN)
            await until(lambda: taker.had == TEN)
            assert await it.ready() == [0, 0]

    asyncio.run(story())


def test_C12_a_node_that_was_stopped_and_started_has_what_it_selects() -> None:
    async def story() -> None:
        async with nodes(1) as it:
            for batch in (TEN, [n + 100 for n in TEN]):
                b = await it.add()
                await it.declare()  # until it knows it
                async with Taker(it[1], selector="animal == 'bison'") as taker:
                    await put(it[0], batch, headers={"animal": "bison"})
                    await put(it[0], batch, headers={"animal": "mouse"})
                    # The first may wait to move, while those behind it go there at once: see docs/queues.md.
                    await until(lambda: sorted(taker.had) == batch)  # noqa: B023
                    await taker.ack()
                    await it.settle()
                    assert sorted(taker.had) == batch
                await b.close()
                it.all.pop()
            assert await it.ready() == [20]

    asyncio.run(story())


def test_C23_who_takes_again_in_time_keeps_it() -> None:
    async def story() -> None:
        async with nodes(2, redistribution=LIMIT) as it, AsyncExitStack() as stack:
            here, other = await takers(it, stack, 0, 1)
            await put(it[0], TWENTY)
            await until(lambda: here.had == TWENTY)
            await here.close()
            await it.settle(0.2)
            async with Taker(it[0]) as again:
                await until(lambda: again.had == TWENTY)
                await it.settle()
                assert other.had == [] and await it.sent() == [0, 0]

    asyncio.run(story())


def test_C24_when_somebody_takes_again_nothing_more_moves() -> None:
    async def story() -> None:
        async with nodes(2, redistribution=0.2) as it, AsyncExitStack() as stack:
            await put(it[0], range(400))
            (other,) = await takers(it, stack, 1, prefetch=5)
            await until(lambda: len(other.had) == 5)
            (here,) = await takers(it, stack, 0)
            await until(lambda: bool(here.had))
            await it.settle()
            before = await it.sent()
            assert before[0] < 400 and before[1] == 0
            await until(lambda: len(here.had) == 400 - before[0])
            await it.settle()
            assert await it.sent() == before

    asyncio.run(story())


def test_C37_a_drain_leaves_nothing_but_at_the_other_node() -> None:
    async def story() -> None:
        async with nodes(2) as it:
            for name in ("t1", "t2"):
                await it.declare(name)
                await it[0].queue(name).put_many([b"0", b"1"])
            job = await it[0].queue("t2").get(timeout=LIMIT)
            assert job is not None
            await job.ack()
            await it[0].call("queue_drain", do="begin")

            async def is_over() -> bool:
                found = await it[0].call("queue_drain")
                return bool(found["left"] == 0)

            await until(is_over)
            assert await it.ready("t1") == [0, 2] and await it.ready("t2") == [0, 1]
            assert [m.text for m in await it[1].queue("t1").peek()] == ["0", "1"]

    asyncio.run(story())
