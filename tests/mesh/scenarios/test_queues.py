"""Queues at several real nodes: messages that are put at two nodes reach the consumer at one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

import mesh
from mesh.embedded.client import NodeClient
from tests.mesh.embedded.own import Place, place, runtime
from tests.mesh.meshes import eventually

NAMES = "abcde"
SETTLED = 1.0  # s without further moves


def alive(m: NodeClient) -> set[str]:
    return {member.node.name for member in runtime(m).core.parts.neighbours.membership.alive()}


class Nodes:
    """Nodes that know each other, each with a client."""

    def __init__(self, here: Place, stack: AsyncExitStack) -> None:
        self._here, self._stack = here, stack
        self.all: list[NodeClient] = []

    def __getitem__(self, i: int) -> NodeClient:
        return self.all[i]

    async def add(self) -> NodeClient:
        made = self._here.node(NAMES[len(self.all)], *self.all[:1])
        self.all.append(await self._stack.enter_async_context(made))
        names = set(NAMES[: len(self.all)])
        await eventually(lambda: all(alive(m) == names for m in self.all))
        return made

    async def declare(self, name: str = "jobs", **terms: Any) -> None:
        await self[0].queue(name).declare(**terms)
        await eventually(partial(self._have, name))

    async def _have(self, name: str) -> bool:
        return all([name in await self._known(m) for m in self.all])

    async def _known(self, m: NodeClient) -> set[str]:
        return {row["name"] for row in (await m.call("queue_ls", here=True))["queues"]}

    async def settle(self, seconds: float = SETTLED) -> None:
        """Wait until `seconds` have passed by the clock of each node, so that no further move is due."""
        desks = [runtime(m).core.parts.context for m in self.all]
        begun = [context.clock.now for context in desks]
        await eventually(
            lambda: all(context.clock.now >= t + seconds for context, t in zip(desks, begun, strict=True))
        )

    async def ready(self, name: str = "jobs") -> list[int]:
        return [(await m.call("queue_info", name=name, here=True))["ready"] for m in self.all]


@asynccontextmanager
async def nodes(n: int, **terms: Any) -> AsyncIterator[Nodes]:
    with place() as here:
        async with AsyncExitStack() as stack:
            made = Nodes(here, stack)
            for _ in range(n):
                await made.add()
            await made.declare(**terms)
            yield made


class Taker:
    """A consumer that accepts all it may have, and acks only on request."""

    def __init__(self, m: mesh.Client, **how: Any) -> None:
        self.had: list[int] = []
        self._jobs: list[mesh.Delivery[Any]] = []
        self._consumer = m.queue("jobs").consume(**{"prefetch": 1000, **how})

    async def __aenter__(self) -> Taker:
        await self._consumer.__aenter__()
        self._task = asyncio.create_task(self._take())
        return self

    async def _take(self) -> None:
        async for job in self._consumer:
            self.had.append(int(job.content))
            self._jobs.append(job)

    async def ack(self) -> None:
        jobs, self._jobs = self._jobs, []
        await self._consumer.ack(jobs)

    async def close(self) -> None:
        await self._consumer.close()
        await self._task

    async def __aexit__(self, *why: object) -> None:
        await self.close()


async def put(m: mesh.Client, numbers: Iterable[int], **how: Any) -> None:
    for n in numbers:
        await m.queue("jobs").put(b"%d" % n, **how)


@pytest.mark.smoke
def test_B1_all_that_is_put_at_two_nodes_is_taken_once_at_one() -> None:
    async def scenario() -> None:
        async with nodes(3) as it:
            async with Taker(it[2]) as taker:
                await put(it[0], range(75))
                await put(it[0], range(75, 150), persistent=False)
                await put(it[2], range(150, 225))
                await put(it[2], range(225, 300), persistent=False)
                await eventually(lambda: len(taker.had) == 300)
                await taker.ack()
                await it.settle()
                assert sorted(taker.had) == list(range(300))
            async with Taker(it[2]) as again:
                await it.settle()
                assert again.had == [] and await it.ready() == [0, 0, 0]

    asyncio.run(scenario())
