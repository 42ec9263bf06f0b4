"""What users without an event loop hold of a node in their own process: `with mesh.sync.node() as m`."""

from __future__ import annotations

from typing import Any

from mesh.client.like import like, making
from mesh.embedded import client as aio
from mesh.sync.client import Client


class NodeClient(Client):
    """A client with a node of its own in this process. Make one with `mesh.sync.node`."""

    @like(aio.NodeClient.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        self._hold(aio.NodeClient(*args, **options))


@making(NodeClient.__init__)
def node(*args: Any, **options: Any) -> NodeClient:
    """A node in this very process, and a client of it, as a context manager; arguments and errors as for
    `mesh.node`."""
    return NodeClient(*args, **options)
