"""The blocking client with a node in its own process: `with mesh.sync.node() as m`."""

from __future__ import annotations

from typing import Unpack

from mesh.client.like import shows_options
from mesh.client.options import NodeOptions
from mesh.embedded import client as aio
from mesh.sync.client import Client


class NodeClient(Client):
    """A blocking client with a node of its own in this process, created by `mesh.sync.node`."""

    @shows_options(aio.NodeClient.__init__)
    def __init__(self, name: str | None = None, **options: Unpack[NodeOptions]) -> None:
        self._hold(aio.NodeClient(name, **options))


@shows_options(NodeClient.__init__)
def node(name: str | None = None, **options: Unpack[NodeOptions]) -> NodeClient:
    """Create a node in this process and a blocking client of it, to be used as a context manager.

    Args:
        name: As for `mesh.node`.
        options: As for `mesh.node`.

    Returns:
        The client of the node. Entering the context starts the node and connects the client.

    Raises:
        MeshError: As for `mesh.node`.

    Example:
        with mesh.sync.node("sensor-7") as m:
            m.publish("sensors/7", b"up")
    """
    return NodeClient(name, **options)
