"""How does a program get to its node that may be dead at the moment?"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import mesh
from mesh.errors import MeshError

PATIENCE = 240.0  # s; longer than a node may take to start beside others
TURN = 0.05  # s


@asynccontextmanager
async def opened(node: str) -> AsyncIterator[mesh.Client]:
    """A client of the node, as soon as it is there."""
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
