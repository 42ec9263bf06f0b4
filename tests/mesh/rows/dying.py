"""How does a node die at a named point, and come back? `mesh/shell/crashpoints.py` has the points."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mesh.shell.crashpoints import KILLED
from tests.mesh.running import RunningNode


@asynccontextmanager
async def dies_and_returns(node: RunningNode, crashpoint: str) -> AsyncIterator[None]:
    """It is started anew to die there. What happens inside brings it there; then it runs again as ever."""
    if node.is_running:
        node.kill()
    await asyncio.to_thread(node.start, crashpoint)
    yield
    assert await asyncio.to_thread(node.wait) == KILLED
    await asyncio.to_thread(node.start)
