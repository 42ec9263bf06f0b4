"""Floods and crowds of honest programs: the node survives, and none of them is refused."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mesh.security.joining import new_mesh
from tests.mesh.running import RunningNode, running, state_directory
from tests.mesh.scenarios.crowds import asking, come

PROGRAMS, TIMES = 3, 2
AT_ONCE, CONNECTIONS = 3, 150
STOPPED = 13.0  # s: longer than the limits for a HELLO and for a client's signs of life
CROWD = 30

pytestmark = pytest.mark.slow


@contextmanager
def reached(way: str) -> Iterator[RunningNode]:
    """A node, whose `environ` lets programs connect to it in this way."""
    if way != "keys":
        with running("heron") as node:
            yield node
        return
    with state_directory(on_disk=True) as state:
        cluster = f"test-{secrets.token_hex(4)}"
        new_mesh(state, cluster)
        node = RunningNode("heron", state, cluster, ("--bind", "tcp://127.0.0.1:0"))
        node.environ["MESH_CLUSTER"] = cluster
        node.start()
        yield node
        assert node.stop() == 0


def address_of(node: RunningNode, way: str) -> str:
    return node.name if way == "file" else node.tcp


def flooded(way: str, times: int) -> None:
    """Flood a node with requests, kill the programs, and restart the node, `times` times."""
    with reached(way) as node:
        for _ in range(times):
            with asking(node.environ, address_of(node, way), PROGRAMS):
                pass
            assert asyncio.run(come(address_of(node, way), 1, 1, node.environ)) == {"in": 1}
            assert node.is_running, node.log
            assert node.stop() == 0
            node.start()


def stopped_meanwhile(connections: int, at_once: int) -> None:
    """Pause a node while connections come and go."""

    async def scenario(node: RunningNode) -> None:
        crowd = asyncio.create_task(come(node.tcp, connections, at_once, node.environ))
        await asyncio.to_thread(node.pause)
        try:
            await asyncio.to_thread(time.sleep, STOPPED)
        finally:
            node.resume()
        assert await crowd == {"in": connections}

    with running("heron") as node:
        asyncio.run(scenario(node))


@pytest.mark.parametrize("way", ["file", "tcp", "keys"])
def test_programs_that_ask_without_end_and_are_killed_leave_the_node_alive(way: str) -> None:
    flooded(way, TIMES)


def test_of_many_short_connections_to_a_node_none_is_refused() -> None:
    with running("heron") as node:
        assert asyncio.run(come(node.tcp, CONNECTIONS, AT_ONCE, node.environ)) == {"in": CONNECTIONS}


@pytest.mark.parametrize("connections, at_once", [(CONNECTIONS, AT_ONCE), (CROWD, CROWD)])
def test_of_connections_to_a_node_that_is_stopped_for_a_while_none_is_refused(
    connections: int, at_once: int
) -> None:
    stopped_meanwhile(connections, at_once)
