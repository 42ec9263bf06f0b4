"""Subscriptions at several real nodes: who has what of a topic, by name, or without one?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mesh
from tests.mesh.embedded.own import place
from tests.mesh.scenarios.test_queues import Nodes, until

TOPIC = "birds/heron"
ALL = list(range(100))


@asynccontextmanager
async def three(count: int = 3) -> AsyncIterator[tuple[Nodes, AsyncExitStack]]:
    with place() as here:
        async with AsyncExitStack() as stack:
            it = Nodes(here, stack)
            for _ in range(count):
                await it.add()
            yield it, stack


class Reader:
    """Somebody who reads all that comes, and acks it if it can be."""

    def __init__(self, m: mesh.Client, *topic: str, **how: Any) -> None:
        self.had: list[int] = []
        self._subscription = m.subscribe(*(topic or (TOPIC,)), **how)

    async def __aenter__(self) -> Reader:
        await self._subscription.__aenter__()
        self._task = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        async for message in self._subscription:
            self.had.append(int(message.content))
            if isinstance(message, mesh.Delivery):
                await message.ack()

    async def __aexit__(self, *why: Any) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._subscription.__aexit__(*why)


async def publish(m: mesh.Client, numbers: Sequence[int], key: str = TOPIC, **how: Any) -> None:
    for n in numbers:
        await m.publish(key, b"%d" % n, **how)


def test_B4_durable_subscriptions_at_several_nodes_have_all_in_order() -> None:
    async def story() -> None:
        async with three() as (it, stack):
            names = {"alpha": 0, "beta": 1, "gamma": 2, "delta": 0, "epsilon": 1}
            readers = [await stack.enter_async_context(Reader(it[i], durable=n)) for n, i in names.items()]
            await publish(it[0], ALL)
            await until(lambda: all(len(reader.had) >= len(ALL) for reader in readers))
            await it.settle()
            assert [reader.had for reader in readers] == [ALL] * 5

    asyncio.run(story())


def test_B5_B6_a_shared_one_goes_in_turn_and_all_to_who_is_where_it_is_published() -> None:
    async def story() -> None:
        async with three() as (it, stack):
            a, b = [await stack.enter_async_context(Reader(it[i], durable="beta")) for i in (0, 1)]
            await publish(it[2], ALL)
            await until(lambda: len(a.had) + len(b.had) == 100)
            assert sorted([a.had, b.had]) == [ALL[::2], ALL[1::2]]
            await publish(it[0], range(100, 200))
            await until(lambda: len(a.had) == 150)
            await it.settle()
            assert a.had[50:] == list(range(100, 200)) and len(b.had) == 50

    asyncio.run(story())


def test_B8_five_subscribers_without_a_name_have_all_in_order() -> None:
    async def story() -> None:
        async with three() as (it, stack):
            readers = [await stack.enter_async_context(Reader(it[i])) for i in (0, 0, 1, 1, 2)]
            await publish(it[0], ALL)
            await until(lambda: all(len(reader.had) >= len(ALL) for reader in readers))
            await it.settle()
            assert [reader.had for reader in readers] == [ALL] * 5

    asyncio.run(story())


def test_C6_two_names_have_all_each_one_name_shares_and_another_topic_has_none() -> None:
    async def story() -> None:
        async with three(2) as (it, stack):

            async def reader(i: int, name: str, *topic: str) -> Reader:
                return await stack.enter_async_context(Reader(it[i], *topic, durable=name))

            first, second = await reader(0, "q0"), await reader(1, "q1")
            shared = [await reader(i, "both") for i in (0, 1)]
            other = await reader(1, "other", "birds/egret")
            await publish(it[0], range(10))
            every = list(range(10))
            await until(lambda: first.had == every and second.had == every)
            await until(lambda: sorted(shared[0].had + shared[1].had) == every)
            await it.settle()
            assert (first.had, second.had, other.had) == (every, every, [])
            assert sorted(shared[0].had + shared[1].had) == every

    asyncio.run(story())


def test_C28_each_name_has_all_and_what_waits_follows_who_takes_to_another_node() -> None:
    async def story() -> None:
        async with three(2) as (it, stack):
            first, then = list(range(10)), list(range(10, 20))
            other = await stack.enter_async_context(Reader(it[1], durable="queue1"))
            async with Reader(it[0], durable="queue0") as here:
                await publish(it[0], first)
                await until(lambda: here.had == other.had == first)
                while (info := await it[0].queue("sub/queue0").info()).ready + info.out:
                    await asyncio.sleep(0.01)
            await publish(it[0], then)
            there = await stack.enter_async_context(Reader(it[1], durable="queue0"))
            await until(lambda: len(there.had) >= 10 and len(other.had) >= 20)
            await it.settle()
            assert (here.had, there.had, other.had) == (first, then, first + then)

    asyncio.run(story())
