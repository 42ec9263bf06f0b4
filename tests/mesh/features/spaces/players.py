"""A mesh in memory with clients of maps and counters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mesh.testing
from mesh.features.spaces.node.parts import SpaceParts

T = TypeVar("T")

NODES = ("heron", "stork", "ibis")


class Players:
    """A mesh, in which time passes while a call runs."""

    def __init__(self, m: mesh.testing.Mesh) -> None:
        self.m = m

    def parts(self, name: str) -> SpaceParts:
        found: SpaceParts = self.m._nodes[name].core.parts[SpaceParts]
        return found

    def uuid(self, name: str) -> bytes:
        return self.m._nodes[name].core._context.me.uuid

    async def outcome(self, call: Awaitable[T], limit: float = 60.0) -> T:
        """Let time pass until the call is done, and return its result. Raises: as the call."""
        task, end = asyncio.ensure_future(call), self.m.time + limit
        while not task.done():
            assert self.m.time < end, "the call never ended"
            await self.m.pass_time(0.1)
        return task.result()

    async def until(self, is_true: Callable[[], Any], limit: float = 60.0) -> None:
        end = self.m.time + limit
        while not is_true():
            assert self.m.time < end, "the condition never held"
            await self.m.pass_time(0.1)


def play(scenario: Callable[[Players], Awaitable[None]], nodes: tuple[str, ...] = NODES) -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(list(nodes), clock="virtual") as m:
            await m.joined()
            await scenario(Players(m))

    asyncio.run(within())
