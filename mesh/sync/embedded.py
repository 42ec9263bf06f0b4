"""The blocking client with a node in its own process: `with mesh.sync.node() as m`."""

from __future__ import annotations

from typing import Any

from mesh.client.like import like, making
from mesh.embedded import client as aio
from mesh.sync.client import Client


class NodeClient(Client):
    """A blocking client with a node of its own in this process, created by `mesh.sync.node`."""

    @like(aio.NodeClient.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        self._hold(aio.NodeClient(*args, **options))


@making(NodeClient.__init__)
def node(*args: Any, **options: Any) -> NodeClient:
    """Create a node in this process and a blocking client of it, to be used as a context manager.

    Args:
        args: As for `mesh.node`.
        options: As for `mesh.node`.

    Returns:
        The client of the node. Entering the context starts the node and connects the client.

    Raises:
        MeshError: As for `mesh.node`.

    Example:
        with mesh.sync.node("sensor-7") as m:
            m.publish("sensors/7", b"up")
    """
    return NodeClient(*args, **options)
