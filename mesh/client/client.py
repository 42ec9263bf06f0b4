"""The asynchronous client: `async with mesh.connect() as m`."""

from __future__ import annotations

from typing import Self, Unpack

from mesh.client.asking import Asking
from mesh.client.connected import Connected
from mesh.client.events import Event
from mesh.client.find import find_node
from mesh.client.handler import Handlers
from mesh.client.handling import Handling
from mesh.client.like import shows_options
from mesh.client.options import ConnectOptions
from mesh.client.publishing import Publishing
from mesh.client.retained_values import RetainedValues
from mesh.client.sending import SendingVerbs
from mesh.client.subscribing import Subscribing
from mesh.errors import MeshError, NodeNotFound
from mesh.features.queues.client.queue import Queueing
from mesh.features.services.client.offering import Offering
from mesh.features.services.client.requesting import Requesting
from mesh.features.spaces.client.spacing import Spacing
from mesh.features.transactions.client.prepared import Deciding
from mesh.features.transactions.client.transacting import Transacting
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir


# Each base has the calls of one feature, and derives from Posting alone.
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
    """A session at a node, created by `mesh.connect` and used as an asynchronous context manager.

    All calls must come from the event loop in which the client was opened.

    Example:
        async with mesh.connect() as m:
            await m.publish("sensors/kitchen/temp", 21.5)
    """

    @shows_options(Connected.__init__)
    def __init__(self, address: str | None = None, *others: str, **options: Unpack[ConnectOptions]) -> None:
        super().__init__(address, *others, **options)
        self._handlers = Handlers()

    async def __aenter__(self) -> Self:
        for given in self._wanted.names or (self._way.address,):
            if (found := await self._elsewhere(given)) is not None:
                self._way.elsewhere[given or ""] = found
        return await super().__aenter__()

    async def _elsewhere(self, given: str | None) -> tuple[str, str | None] | None:
        """Ask the local nodes for the node `given`, which runs elsewhere; return its address and mesh.

        Return None if the address needs no lookup, or no local node knows the name.
        """
        try:
            find_node(given, self._way.environ)
            return None
        except NodeNotFound as error:
            name = given or self._way.environ.get("MESH_URL")
            if not name or error.code != NodeNotFound.code:
                return None
        for here in running_nodes(state_dir(self._way.environ)):
            try:
                async with Client(here["ipc"], timeout=self._timeout, environ=self._way.environ) as m:
                    address = (await m.call("where", node=name))["address"]
            except MeshError:  # it is stopping, or of an older release
                continue
            if address:
                return address, self._way.cluster or (here["cluster"] if here["keyed"] else None)
        return None


@shows_options(Connected.__init__)
def connect(address: str | None = None, *others: str, **options: Unpack[ConnectOptions]) -> Client:
    """Create a client of the node at `address`, to be used as a context manager.

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
        async with mesh.connect("heron", "stork", client="joe", timeout=10) as m:
            print(m.name)
    """
    return Client(address, *others, **options)


__all__ = ["Client", "Event", "MeshError", "connect"]
