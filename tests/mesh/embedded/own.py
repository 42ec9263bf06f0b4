"""Nodes embedded in the test's own process, on loopback. They find each other by their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mesh
from mesh.embedded.client import NodeClient
from mesh.shell.node import NodeRuntime
from tests.mesh.running import LIMIT, environment, state_directory

TIMING = {"probe": 5.0, "ping": 0.1, "silence": 60.0, "backoff_min": 0.02}  # a busy node must not look dead
SETTINGS: dict[str, Any] = {"discovery": {"remember": False, "interfaces": ["lo"]}, "timing": TIMING}


class Place:
    """A state directory of the test's own, and nodes in it."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ

    def node(self, name: str, *beside: NodeClient, **options: Any) -> NodeClient:
        seeds = [address_of(other) for other in beside]
        given = {"seeds": seeds, "config": SETTINGS, "environ": self.environ, "timeout": LIMIT}
        return mesh.node(name, **{**given, **options})

    def sync_node(self, name: str, **options: Any) -> Any:
        given = {"config": SETTINGS, "environ": self.environ, "timeout": LIMIT}
        return mesh.sync.node(name, **{**given, **options})


@contextmanager
def place() -> Iterator[Place]:
    with state_directory() as state:
        yield Place(environment(state))


def runtime(m: NodeClient) -> NodeRuntime:
    """Return the runtime in the thread of its node. The caller may only read it."""
    assert m._home.node is not None
    return m._home.node.began.result()


def address_of(m: NodeClient) -> str:
    return str(runtime(m).described()["tcp"][0])
