"""The blocking client: `with mesh.sync.connect() as m`.

Generated from mesh/client/client.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from typing import Unpack

from mesh.client import client
from mesh.client.like import shows_options
from mesh.client.options import ConnectOptions
from mesh.sync.asking import Asking
from mesh.sync.deciding import Deciding
from mesh.sync.handling import Handling
from mesh.sync.maps import Spacing
from mesh.sync.offering import Offering
from mesh.sync.publishing import Publishing
from mesh.sync.queue import Queueing
from mesh.sync.requesting import Requesting
from mesh.sync.retained_values import RetainedValues
from mesh.sync.sending_verbs import SendingVerbs
from mesh.sync.subscribing import Subscribing
from mesh.sync.transacting import Transacting


class Client(
    Publishing,
    RetainedValues,
    Subscribing,
    Handling,
    SendingVerbs,
    Requesting,
    Offering,
    Queueing,
    Spacing,
    Transacting,
    Deciding,
    Asking,
):
    """A session at a node for code without an event loop, created by `mesh.sync.connect`.

    Example:
        with mesh.sync.connect() as m:
            m.publish("sensors/kitchen/temp", 21.5)
    """

    @shows_options(client.connect)
    def __init__(self, address: str | None = None, *others: str, **options: Unpack[ConnectOptions]) -> None:
        self._hold(client.connect(address, *others, **options))


@shows_options(client.connect)
def connect(address: str | None = None, *others: str, **options: Unpack[ConnectOptions]) -> Client:
    """Create a blocking client of the node at `address`, to be used as a context manager.

    A node that is full sends the client to another node of its mesh.

    Args:
        address: `tcp://…`, `ipc://…`, or the name of a node that runs here for this user, or that such a node
            knows. Default: `MESH_URL`, else the only node of this user on this machine.
        others: Further nodes, at most 15, tried in this order if the first one does not accept the client.
            After them, the client tries the nodes that it or earlier clients learned of.
        client: The client's name. Default: the user's name.
        session: A fixed session number, at least 1. Default: the node assigns one.
        timeout: Seconds to connect, 5 by default. If given, connecting also waits that long for a node that
            is not running yet.
        cluster: The mesh whose keys are used over TCP. Default: `MESH_CLUSTER`, else the only known mesh.
        environ: Variables used instead of `os.environ`.
        codec: "json", "msgpack" or an object like `mesh.Codec`, for values that are neither bytes nor str.
        patience: Seconds that a call waits unless its own `timeout` is given. Default: publishing waits
            without limit.
        tracing: Whether to record OpenTelemetry spans and carry the trace context in message headers.
        fail_back: "never" stays at a node until it is lost; "when_idle" returns to the first of several nodes
            after it has been up for a minute, at most once in ten minutes, and only while nothing is
            unanswered or unsettled.

    Returns:
        The client. Entering it connects.

    Raises:
        BadArgument, BadName, BadType: An argument is invalid.
        NodeNotFound, KeysRefused, Refused: On entering: no such node, unusable keys, or the node refused. Of
            several nodes, the last refusal counts; without any, NO_NODE lists each node with its reason.

    Example:
        with mesh.sync.connect("heron", "stork", client="joe", timeout=10) as m:
            print(m.name)
    """
    return Client(address, *others, **options)
