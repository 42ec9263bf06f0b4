"""Meshes in the test's own event loop: real nodes with sockets and files, or nodes in memory."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from unittest.mock import patch

import mesh
from mesh import testing
from mesh.client import connected
from mesh.client.client import Client
from mesh.config import load
from mesh.shell.node import NodeRuntime
from mesh.shell.starting import start
from tests import waiting
from tests.mesh.running import environment, state_directory

LIMIT = waiting.LIMIT


class InMemory(testing.Mesh):
    """A mesh in memory, for tests that need no sockets."""

    def metric(self, name: str, what: str) -> int:
        return int(self._nodes[name].core.parts.status.node_info().metrics[what])


async def passing(net: testing.Mesh, work: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> Any:
    """Run `work` while simulated time passes in `net`, and return its result."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await net.pass_time(0.25)
    return task.result()


def in_memory(*names: str) -> InMemory:
    """Create a mesh of nodes in memory, a hundred times as fast as `mesh_of`."""
    return InMemory(names)


class Mesh:
    """Running nodes by name, and clients of them."""

    def __init__(self, environ: dict[str, str], nodes: dict[str, NodeRuntime]) -> None:
        self.environ = environ
        self.nodes = nodes

    def connect(self, name: str, **options: Any) -> Client:
        """Create a client. Without a `timeout`, a busy machine has enough time."""
        with patch.object(connected, "TIMEOUT", LIMIT):
            return mesh.connect(name, environ=self.environ, **options)

    def metric(self, name: str, what: str) -> int:
        return int(self.nodes[name].core.parts.status.node_info().metrics[what])


@asynccontextmanager
async def mesh_of(*names: str, settings: dict[str, object] | None = None) -> AsyncIterator[Mesh]:
    """Run nodes that all know each other during the block; `settings` as in mesh.config.load."""
    cluster = f"test-{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        state = stack.enter_context(state_directory())
        environ = environment(state)
        nodes: dict[str, NodeRuntime] = {}
        for name in names:
            peers = [node.described()["tcp"][0] for node in nodes.values()][:1]
            given = {
                "node.id": name,
                "node.cluster": cluster,
                "node.peers": peers,
                "discovery.mdns": False,
                **(settings or {}),
            }
            node = await start(load(None, {}, given), environ)
            stack.push_async_callback(node.close)
            nodes[name] = node
        made = Mesh(environ, nodes)
        await eventually(lambda: all(alive(made, name) == len(names) for name in names))
        yield made


def alive(made: Mesh, name: str) -> int:
    return len(made.nodes[name].core.parts.neighbours.membership.alive())


eventually = waiting.eventually


async def take(subscription: Any, count: int) -> list[Any]:
    """Return the next `count` messages of the subscription."""
    messages = []
    async with asyncio.timeout(LIMIT):
        async for message in subscription:
            messages.append(message)
            if len(messages) == count:
                break
    return messages
