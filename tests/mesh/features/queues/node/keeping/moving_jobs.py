"""A queue in a mesh in memory, with a consumer whose client goes from node to node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

import mesh.testing
from mesh.errors import MeshError
from mesh.testing import mesh as testing

NODES = ["heron", "stork", "ibis"]
QUEUE = "jobs"


class Jobs:
    """The consumer `joe` and the producer `boss`, which move, and another consumer at heron."""

    def __init__(self, m: mesh.testing.Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
        self.m = m
        self.order = self.order_of_boss = list(NODES)
        self.joe: Any = m.connect("heron", client="joe")
        self.boss: Any = m.connect("heron", client="boss")
        self.other = m.connect("heron", client="other")
        self.got: list[Any] = []  # deliveries of joe, in order
        self.taken: list[Any] = []  # deliveries of the other consumer
        self.acked: list[str] = []
        self.failed: list[str] = []  # codes of acks that failed
        self.begin = asyncio.Semaphore(0)  # of joe
        self._tasks: set[asyncio.Task[None]] = set()
        find = testing.Inhabited.find

        def elsewhere(place: testing.Inhabited, wanted: str) -> str:
            orders = {self.joe._place: self.order, self.boss._place: self.order_of_boss}
            up = [name for name in orders.get(place, ()) if m._nodes[name].is_up]
            return find(place, (up or ["nowhere"])[0] if place in orders else wanted)

        monkeypatch.setattr(testing.Inhabited, "find", elsewhere)

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Jobs]:
        async with contextlib.AsyncExitStack() as stack:
            for client in (self.boss, self.joe, self.other):
                await stack.enter_async_context(client)
            await self.boss.queue(QUEUE).declare()
            try:
                yield self
            finally:
                for task in self._tasks:
                    task.cancel()

    def run(self, work: Any) -> asyncio.Task[None]:
        """Run a coroutine beside the scenario."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        return task

    async def put(self, *texts: str) -> None:
        for text in texts:
            await self.boss.queue(QUEUE).put(text.encode())

    async def consume(
        self, client: Any, into: list[Any], begin: asyncio.Semaphore | None = None, lease: float | None = None
    ) -> None:
        """Begin the jobs of a client, each with a permit of `begin`."""
        async with client.queue(QUEUE).consume(prefetch=5, lease=lease) as consumer:
            while True:
                if begin is not None:
                    await begin.acquire()
                into.append(await anext(consumer))

    async def begun(self, n: int) -> None:
        """Let joe begin `n` more jobs."""
        for _ in range(n):
            self.begin.release()
        await self.m.pass_time(0.5)

    async def ack(self, *deliveries: Any) -> None:
        for delivery in deliveries:
            try:
                await delivery.ack()
                self.acked.append(delivery.content.decode())
            except MeshError as error:
                self.failed.append(error.code)

    def visit(self, *order: str) -> None:
        """Let joe leave the node for the first of `order` that runs."""
        self.order = list(order)
        self.joe._shell.core.line.lose("moved by the test")

    def visit_of_boss(self, *order: str) -> None:
        """Let boss leave the node for the first of `order` that runs."""
        self.order_of_boss = list(order)
        self.boss._shell.core.line.lose("moved by the test")

    @property
    def at(self) -> str:
        """The node of joe."""
        return str(self.joe._shell.core.line.home)

    def figures(self, *names: str) -> dict[str, float]:
        """Return figures of all running nodes together."""
        every = [node.core.parts.context.figures() for node in self.m._nodes.values() if node.is_up]
        return {name: sum(each[name] for each in every) for name in names}


def texts(deliveries: list[Any]) -> list[str]:
    return [delivery.content.decode() for delivery in deliveries]
