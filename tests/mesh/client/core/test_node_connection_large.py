"""Large messages over a slow line: a transfer keeps both ends from calling each other silent."""

import asyncio

import pytest

from mesh.client.client import Client
from mesh.wire.limits import MIB
from tests.mesh.meshes import LIMIT, mesh_of, take
from tests.mesh.slowline import slow_line

SETTINGS: dict[str, object] = {"limits.max_content": 64 * MIB}


async def over_a_slow_line(size: int, rate: float) -> tuple[list[str], int]:
    """Send `size` bytes up and down a line of `rate` bytes a second; return (events, connections)."""
    content, heard = bytes(range(256)) * (size // 256), list[str]()
    async with mesh_of("a", settings=SETTINGS) as m, m.connect("a") as near, asyncio.timeout(LIMIT):
        node = str(m.nodes["a"].described()["ipc"])
        async with slow_line(node, rate) as line, m.connect(line.address) as far:
            listening = asyncio.create_task(_listen(far, heard))
            async with near.subscribe("up") as up:
                assert (await far.publish("up", content)).ok
                [message] = await take(up, 1)
                assert message.content == content
            async with far.subscribe("down") as down:
                await near.publish("down", content)
                assert (await anext(down)).content == content
            listening.cancel()
            return heard, line.connections


async def _listen(m: Client, heard: list[str]) -> None:
    async for event in m.events():
        heard.append(f"{event.kind}: {event.text}")


@pytest.mark.slow
def test_trial_B2_so_it_does_with_the_true_figures() -> None:
    """Eight MiB, one in a second, take longer than the six seconds of silence that a client accepts."""
    assert asyncio.run(over_a_slow_line(8 * MIB, MIB)) == ([], 1)
