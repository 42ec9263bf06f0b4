"""A node that dies at a named point and restarts. `mesh/shell/crashpoints.py` has the points."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mesh.shell.crashpoints import KILLED
from tests.mesh.running import RunningNode


@asynccontextmanager
async def dies_and_returns(node: RunningNode, crashpoint: str) -> AsyncIterator[None]:
    """Restart the node with a crash point, which the block must reach, and then restart it normally."""
    if node.is_running:
        node.kill()
    await asyncio.to_thread(node.start, crashpoint)
    yield
    assert await asyncio.to_thread(node.wait) == KILLED
    await asyncio.to_thread(node.start)
