"""The blocking client with a node in its own process.

Generated from mesh/embedded/client.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from typing import Unpack

from mesh.client.like import shows_options
from mesh.client.options import NodeOptions
from mesh.embedded import client
from mesh.sync.client import Client


class NodeClient(Client):
    """A blocking client with a node of its own in this process, created by `mesh.sync.node`."""

    @shows_options(client.node)
    def __init__(self, name: str | None = None, **options: Unpack[NodeOptions]) -> None:
        self._hold(client.node(name, **options))


@shows_options(client.node)
def node(name: str | None = None, **options: Unpack[NodeOptions]) -> NodeClient:
    """Create a node in this process and a blocking client of it, to be used as a context manager.

    The node has a thread and an event loop of its own, so it keeps running while yours is blocked. Other
    nodes find it like any other node. On leaving, the node announces its end and stops.

    Args:
        name: The node's name. Default: the host's name.
        data: The directory for persistent data. Default: messages are kept in memory only.
        cluster: The name of the mesh.
        bind: An address or addresses to listen on.
        seeds: Addresses of nodes to connect to, where multicast DNS does not find them.
        mdns: Whether to use multicast DNS.
        config: A configuration file, or a dict of the same shape: `{"timing": {"probe": 0.5}}`.
        client: The client's name. This and the following arguments are as for `mesh.connect`.
        session: A fixed session number, at least 1.
        timeout: Seconds to connect, and for each step of closing. Default: 5.
        environ: Variables used instead of `os.environ`.
        codec: The codec for values.
        patience: Seconds that a call waits unless its own `timeout` is given.
        tracing: Whether to record OpenTelemetry spans.

    Raises:
        BadConfig, BadArgument: A setting or argument is invalid.
        DataDirRefused, NodeInUse, BindRefused, KeysRefused, StoreError: On entering: the node cannot start.

    Example:
        with mesh.sync.node("sensor-7", seeds="tcp://heron:7710") as m:
            m.publish("sensors/7", b"up")
    """
    return NodeClient(name, **options)
