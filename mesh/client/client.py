"""What users hold: `async with mesh.connect() as m`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mesh.client.asking import Asking
from mesh.client.connected import Event
from mesh.client.later import Later
from mesh.client.publishing import Publishing
from mesh.errors import MeshError


class Client(Publishing, Asking, Later):
    """A session at a node. Make one with `mesh.connect`; all calls from one event loop."""


def connect(
    address: str | None = None,
    *,
    client: str | None = None,
    session: int | None = None,
    timeout: float = 5.0,
    cluster: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Client:
    """A client of the node at `address` (`tcp://…`, `ipc://…`, or a local node's name), as a context manager.

    Without an address: `MESH_URL`, else the only node of this user on this machine. `session` is a
    well-known positive number, or None for one that the node makes up. `timeout` in seconds.
    `cluster`: over TCP, the mesh whose keys are used; without it `MESH_CLUSTER`, else the only one there is.
    Entering it raises NodeNotFound, KeysRefused or Refused.
    """
    return Client(address, client=client, session=session, timeout=timeout, cluster=cluster, environ=environ)


__all__ = ["Client", "Event", "MeshError", "connect"]
