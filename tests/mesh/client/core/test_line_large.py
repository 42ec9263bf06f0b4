"""Large messages over a slow line: nobody calls the other one silent while something leaves and arrives."""

import asyncio

import pytest

from mesh.client.client import Client
from mesh.client.core import line as connection
from mesh.wire.limits import MIB
from tests.mesh.meshes import mesh_of, take
from tests.mesh.slowline import slow_line

LIMIT = 60.0  # s that any of it may take
SETTINGS: dict[str, object] = {"limits.max_content": 64 * MIB}


async def over_a_slow_line(size: int, rate: float) -> tuple[list[str], int]:
    """So much up and down a line of so many bytes a second: (what befell the client, its connections)."""
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
                async with asyncio.timeout(LIMIT):
                    assert (await anext(down)).content == content
            listening.cancel()
            return heard, line.connections


async def _listen(m: Client, heard: list[str]) -> None:
    async for event in m.events():
        heard.append(f"{event.kind}: {event.text}")


def test_trial_B2_a_message_that_takes_longer_than_a_silence_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENCE", 1.0)
    monkeypatch.setattr(connection, "PING", 0.3)
    assert asyncio.run(over_a_slow_line(4 * MIB, 2 * MIB)) == ([], 1)


def test_trial_B2_a_last_value_that_takes_longer_than_a_question_may_is_got() -> None:
    async def story() -> None:
        content = bytes(range(256)) * (4 * MIB // 256)
        async with mesh_of("a", settings=SETTINGS) as m, m.connect("a") as near, asyncio.timeout(LIMIT):
            await near.publish("k", content)
            node = str(m.nodes["a"].described()["ipc"])
            async with slow_line(node, 2 * MIB) as line, m.connect(line.address, timeout=0.3) as far:
                assert [message.content for message in await far.get("k")] == [content]

    asyncio.run(story())


@pytest.mark.slow
def test_trial_B2_so_it_does_with_the_true_figures() -> None:
    """Eight MiB, one in a second: longer than the six seconds for which a client hears nothing at most."""
    assert asyncio.run(over_a_slow_line(8 * MIB, MIB)) == ([], 1)
