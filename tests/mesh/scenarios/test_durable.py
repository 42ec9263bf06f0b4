"""Durable subscriptions at several real nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

import mesh
from tests.mesh.embedded.own import place
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.test_queues import Nodes

TOPIC = "birds/heron"
ALL = list(range(30))


@asynccontextmanager
async def three(count: int = 3) -> AsyncIterator[tuple[Nodes, AsyncExitStack]]:
    with place() as here:
        async with AsyncExitStack() as stack:
            it = Nodes(here, stack)
            for _ in range(count):
                await it.add()
            yield it, stack


class Reader:
    """A reader of all messages, which acks those that can be acked."""

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


@pytest.mark.smoke
def test_B4_durable_subscriptions_at_several_nodes_have_all_in_order() -> None:
    async def scenario() -> None:
        async with three() as (it, stack):
            names = {"alpha": 0, "beta": 1, "gamma": 2, "delta": 0, "epsilon": 1}
            readers = [await stack.enter_async_context(Reader(it[i], durable=n)) for n, i in names.items()]
            await publish(it[0], ALL)
            await eventually(lambda: all(len(reader.had) >= len(ALL) for reader in readers))
            await it.settle()
            assert [reader.had for reader in readers] == [ALL] * 5

    asyncio.run(scenario())
