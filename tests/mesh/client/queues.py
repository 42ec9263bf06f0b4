"""A queue of a node in memory."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import mesh
from mesh.client.client import Client
from mesh.features.queues.client.queue import Queue
from tests.mesh.meshes import in_memory
from tests.mesh.running import LIMIT


@asynccontextmanager
async def queue(**terms: Any) -> AsyncIterator[tuple[Client, Queue]]:
    """Yield a client and its queue."""
    async with in_memory("a") as m, m.connect("a") as ma:
        q = ma.queue("jobs")
        await q.declare(**terms)
        yield ma, q


def run(scenario: Callable[[], Any]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(LIMIT):
            await scenario()

    asyncio.run(in_time())
    gc.collect()


async def got(q: Queue) -> mesh.Delivery[Any]:
    job = await q.get(timeout=LIMIT)
    assert job is not None
    return job
