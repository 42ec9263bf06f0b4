"""Two nodes, a client at each, and tasks that serve in the background."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from mesh.client.client import Client
from tests.mesh.meshes import InMemory, in_memory


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[InMemory, Client, Client]]:
    """Yield a mesh of two nodes, and a client at each."""
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


def run(scenario: Any) -> None:
    asyncio.run(scenario())
    gc.collect()
