"""Nodes in the test's own process, on loopback, which find each other by the address of the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mesh
from mesh.embedded.client import NodeClient
from mesh.shell.node import NodeRuntime
from tests.mesh.running import environment, state_directory

QUICK = {"probe": 0.1, "ping": 0.1, "silence": 0.5, "backoff_min": 0.02}
SETTINGS: dict[str, Any] = {"discovery": {"remember": False, "interfaces": ["lo"]}, "timing": QUICK}


class Place:
    """A state directory of the test's own."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ

    def node(self, name: str, *beside: NodeClient, **options: Any) -> NodeClient:
        seeds = [address_of(other) for other in beside]
        return mesh.node(name, **{"seeds": seeds, "config": SETTINGS, "environ": self.environ, **options})

    def sync_node(self, name: str, **options: Any) -> Any:
        return mesh.sync.node(name, **{"config": SETTINGS, "environ": self.environ, **options})


@contextmanager
def place() -> Iterator[Place]:
    with state_directory() as state:
        yield Place(environment(state))


def runtime(m: NodeClient) -> NodeRuntime:
    """What runs in the thread of its node; to be looked at only."""
    assert m._home.node is not None
    return m._home.node.began.result()


def address_of(m: NodeClient) -> str:
    return str(runtime(m).described()["tcp"][0])


def states(m: NodeClient) -> dict[str, str]:
    """What a node believes of each that it knows."""
    return {peer.node.name: str(peer.link.state) for peer in runtime(m).core.parts.neighbours.peers.values()}
