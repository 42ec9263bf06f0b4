"""A mesh of real nodes within the test's own loop: real sockets and files, no processes."""

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
    """Nodes without sockets, for what asks nothing of these."""

    def metric(self, name: str, what: str) -> int:
        return int(self._nodes[name].core.parts.status.info().metrics[what])


async def passing(net: testing.Mesh, work: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> Any:
    """Return the result of `work`, for which time passes in `net` instead of on this machine."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await net.pass_time(0.25)
    return task.result()


def in_memory(*names: str) -> InMemory:
    """Nodes of these names in memory: as `mesh_of`, a hundred times as fast."""
    return InMemory(names)


class Mesh:
    """Nodes by name, and clients of them."""

    def __init__(self, environ: dict[str, str], nodes: dict[str, NodeRuntime]) -> None:
        self.environ = environ
        self.nodes = nodes

    def connect(self, name: str, **options: Any) -> Client:
        """Make a client that gives a busy machine time, unless the test says a `timeout`."""
        with patch.object(connected, "TIMEOUT", LIMIT):
            return mesh.connect(name, environ=self.environ, **options)

    def metric(self, name: str, what: str) -> int:
        return int(self.nodes[name].core.parts.status.info().metrics[what])


@asynccontextmanager
async def mesh_of(*names: str, settings: dict[str, object] | None = None) -> AsyncIterator[Mesh]:
    """Nodes of these names that all know each other; `settings` as in mesh.config.load."""
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
    """The next so many messages."""
    messages = []
    async with asyncio.timeout(LIMIT):
        async for message in subscription:
            messages.append(message)
            if len(messages) == count:
                break
    return messages
