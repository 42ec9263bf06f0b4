"""What users hold: `async with mesh.connect() as m`."""

from __future__ import annotations

from typing import Any, Self

from mesh.client.events import Event
from mesh.client.find import find_node
from mesh.client.later import Later
from mesh.client.like import making
from mesh.client.offering import Offering
from mesh.client.queue import Queueing
from mesh.client.requesting import Requesting
from mesh.client.sending import SendingVerbs
from mesh.errors import MeshError, NodeNotFound
from mesh.local.localnodes import running_nodes
from mesh.local.private import state_dir


class Client(SendingVerbs, Requesting, Queueing, Offering, Later):
    """A session at a node. Make one with `mesh.connect`; all calls from one event loop."""

    async def __aenter__(self) -> Self:
        if (found := await self._elsewhere()) is not None:
            self._way.address, self._way.cluster = found
        return await super().__aenter__()

    async def _elsewhere(self) -> tuple[str, str | None] | None:
        """The address and the mesh of a node that is known by its name to one that runs here."""
        try:
            find_node(self._way.address, self._way.environ)
            return None
        except NodeNotFound as error:
            name = self._way.address or self._way.environ.get("MESH_URL")
            if not name or error.code != NodeNotFound.code:
                return None
        for here in running_nodes(state_dir(self._way.environ)):
            try:
                async with Client(here["ipc"], timeout=self._timeout, environ=self._way.environ) as m:
                    address = (await m.call("where", node=name))["address"]
            except MeshError:  # it ends just now, or is of an older release
                continue
            if address:
                return address, self._way.cluster or (here["cluster"] if here["keyed"] else None)
        return None


@making(Client.__init__)
def connect(*args: Any, **options: Any) -> Client:
    """A client of the node at `address` (`tcp://…`, `ipc://…` or a node's name), as a context manager.

    A name is that of a node of this user here, or of one that such a node knows, wherever it is.
    Without an address: `MESH_URL`, else the only node of this user on this machine. `session` is a
    well-known positive number, or None for one that the node makes up. `timeout` in seconds,
    5 by default; if it is given, a node that is not there is waited for so long, as while it is started anew.
    `cluster`: over TCP, the mesh whose keys are used; without it `MESH_CLUSTER`, else the only one there is.
    `codec`: "json", "msgpack" or one of your own (`mesh.Codec`), for values that are neither bytes nor str.
    `patience`: seconds that a call waits for its end if its own `timeout` says nothing else; without it
    publishing waits as long as it takes. `tracing`: publish and receive with spans of
    OpenTelemetry, and with its context in the headers. `environ`: instead of `os.environ`. Entering it raises
    NodeNotFound, KeysRefused or Refused.
    """
    return Client(*args, **options)


__all__ = ["Client", "Event", "MeshError", "connect"]
