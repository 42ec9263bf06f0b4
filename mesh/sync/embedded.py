"""What users without an event loop hold of a node in their own process: `with mesh.sync.node() as m`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from mesh.embedded import client as aio
from mesh.sync.client import Client


class NodeClient(Client):
    """A client with a node of its own, in this process. Make one with `mesh.sync.node`."""

    def __init__(self, made: aio.NodeClient, timeout: float | None) -> None:
        self._hold(made, timeout)


def node(
    name: str | None = None,
    *,
    data: str | os.PathLike[str] | None = None,
    cluster: str | None = None,
    bind: str | Iterable[str] = (),
    seeds: str | Iterable[str] = (),
    mdns: bool | None = None,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    client: str | None = None,
    timeout: float | None = None,
    environ: Mapping[str, str] = os.environ,
) -> NodeClient:
    """A node in this very process, and a client of it, as a context manager; arguments and errors as for
    `mesh.node`."""
    made = aio.node(
        name,
        data=data,
        cluster=cluster,
        bind=bind,
        seeds=seeds,
        mdns=mdns,
        config=config,
        client=client,
        timeout=timeout,
        environ=environ,
    )
    return NodeClient(made, timeout)
