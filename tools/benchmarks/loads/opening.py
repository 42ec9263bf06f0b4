"""Connections of benchmark programs: to a node by name or address, or with a node of their own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mesh

OWN = "own"  # prefix of a pseudo address: OWN seeds|bind ADDRESS
READY = "own/ready"
PLAIN = {"discovery": {"remember": False}}


def with_own_nodes(address: str) -> tuple[str, str]:
    """Return the pseudo addresses of the sender and of the receiver, each with a node of its own."""
    return f"{OWN} seeds {address}", f"{OWN} bind {address}"


@asynccontextmanager
async def opened(node: str, **options: Any) -> AsyncIterator[mesh.Client]:
    """Yield a connected client.

    A receiver with a node of its own subscribes to READY. A sender with a node of its own is ready when its
    node knows that subscription.
    """
    if not node.startswith(f"{OWN} "):
        async with mesh.connect(node, **options) as m:
            yield m
        return
    _, side, address = node.split()
    where = {side: address}
    async with AsyncExitStack() as stack:
        own = mesh.node(f"own-{side}", mdns=False, config=PLAIN, **where, **options)  # type: ignore[arg-type]
        m = await stack.enter_async_context(own)
        if side == "bind":
            await stack.enter_async_context(m.subscribe(READY, initial=False))
        else:
            while not (await m.publish(READY, b"")).matched:
                pass
        yield m
