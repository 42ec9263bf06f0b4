"""Connects a program to its node, which may be down at the moment."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import mesh
from mesh.errors import MeshError

PATIENCE = 240.0  # s; a node's start may take long
TURN = 0.05  # s


@asynccontextmanager
async def opened(node: str) -> AsyncIterator[mesh.Client]:
    """Yield a client of the node as soon as the node is up. Raises MeshError after PATIENCE seconds."""
    limit = time.monotonic() + PATIENCE
    async with AsyncExitStack() as stack:
        while True:
            try:
                m = await stack.enter_async_context(mesh.connect(node, timeout=PATIENCE))
                break
            except MeshError:
                if time.monotonic() > limit:
                    raise
                await asyncio.sleep(TURN)
        yield m
