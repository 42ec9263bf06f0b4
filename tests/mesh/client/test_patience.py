"""How long does a client wait for a node that is not there yet? Real nodes in the test's own loop."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import mesh
from mesh.client.connected import TIMEOUT
from mesh.config import load
from mesh.errors import NodeNotFound
from mesh.shell.node import NodeRuntime
from mesh.shell.starting import start
from tests.mesh.meshes import LIMIT, mesh_of
from tests.mesh.running import environment, state_directory


@asynccontextmanager
async def node(environ: dict[str, str], bind: str = "tcp://127.0.0.1:0") -> AsyncIterator[NodeRuntime]:
    given = {"node.id": "a", "node.cluster": "patience", "node.bind": [bind], "discovery.mdns": False}
    made = await start(load(None, {}, given), environ)
    try:
        yield made
    finally:
        await made.close()


@pytest.mark.parametrize("how", ["by name", "the only one", "by address"])
def test_trial_B6_a_timeout_that_is_given_is_waited_for_a_node_that_is_started_anew(how: str) -> None:
    async def story() -> None:
        with state_directory() as state:
            environ = environment(state)
            async with node(environ) as a:
                tcp = a.described()["tcp"][0]
            address = {"by name": "a", "the only one": None, "by address": tcp}[how]
            client = mesh.connect(address, environ=environ, timeout=LIMIT)
            entering = asyncio.ensure_future(client.__aenter__())
            for _ in range(20):  # it has looked, and found nobody
                await asyncio.sleep(0)
            assert not entering.done()
            async with node(environ, tcp):
                await entering
                assert (await client.publish("k", b"v")).ok
                await client.close()

    asyncio.run(story())


def test_trial_B6_a_node_that_does_not_come_is_told_when_the_time_is_over() -> None:
    async def story() -> None:
        with state_directory() as state:
            start = time.monotonic()
            with pytest.raises(NodeNotFound, match="mesh up"):
                async with mesh.connect("a", environ=environment(state), timeout=0.3):
                    pass
            assert time.monotonic() - start >= 0.3

    asyncio.run(story())


def test_trial_B6_without_a_timeout_it_is_told_at_once_and_so_is_what_waiting_does_not_change() -> None:
    async def story() -> None:
        async with asyncio.timeout(LIMIT):
            async with mesh_of("a", "b") as m:
                with pytest.raises(NodeNotFound) as many:
                    async with mesh.connect(environ=m.environ, timeout=10 * LIMIT):
                        pass
                assert many.value.code == "MANY_NODES"
            start = time.monotonic()
            with state_directory() as state, pytest.raises(NodeNotFound):
                async with mesh.connect("a", environ=environment(state)):
                    pass
            assert time.monotonic() - start < TIMEOUT / 2

    asyncio.run(story())
