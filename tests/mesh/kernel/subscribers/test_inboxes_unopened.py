"""Direct messages for sessions that moved before they opened their inbox, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mesh.errors import NotConnected
from tests.mesh.kernel.subscribers.moves import Moves

KAY = "/node/heron/client/kay"


@asynccontextmanager
async def moved(it: Moves, *order: str) -> AsyncIterator[Any]:
    """Connect a client to heron, and move it and joe. It has not opened its inbox."""
    it.is_opening = True
    async with it.m.connect("heron", client="kay", session=1) as kay:
        it.is_opening = False
        for node in order:
            await move(it, kay, node)
        yield kay


async def move(it: Moves, client: Any, node: str) -> None:
    client._shell.core.line.lose("moved by the test")
    it.visit(node)
    await it.m.pass_time(5)
    assert (client._shell.core.line.home, it.home) == (node, node)


async def matched(it: Moves, text: str, to: str = KAY) -> int:
    return int((await it.publishers["ibis"].send(to, text.encode())).matched)


def readers(it: Moves) -> list[str]:
    return [reader.text for reader in it.m._nodes["heron"].core.parts.inboxes.remote]


async def read(it: Moves, client: Any, seconds: float = 3) -> list[str]:
    got: list[str] = []
    async with client.inbox() as inbox:
        reading = asyncio.create_task(it._read(inbox, got))
        await it.m.pass_time(seconds)
        reading.cancel()
    return got


@pytest.mark.parametrize("order", [["stork"], ["stork", "ibis"], ["stork", "heron"]])
def test_messages_wait_at_home_until_it_is_opened(play: Any, order: list[str]) -> None:
    async def scenario(it: Moves) -> None:
        async with moved(it, *order) as kay:
            assert await matched(it, "1", f"{KAY}/session/1") == 1
            assert await matched(it, "2") == 1
            [one] = await it.publishers["ibis"].send(["xpath://client[@name='kay']"], b"3")
            assert one.error is None
            assert sorted(await read(it, kay)) == ["1", "2", "3"]
            assert await matched(it, "4") == 1, "closed again"
            assert await read(it, kay) == ["4"]
        await it.m.pass_time(1)
        assert f"{KAY}/session/1" not in readers(it)
        with pytest.raises(NotConnected):
            await matched(it, "lost")

    play(scenario)


def test_a_client_that_is_disconnected_or_has_returned_to_its_home_counts_there(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        async with moved(it, "stork") as kay:
            it.order = ["nowhere"]
            kay._shell.core.line.lose("moved by the test")
            await it.m.pass_time(2)
            with pytest.raises(NotConnected):
                await matched(it, "lost")
            it.order = ["stork"]
            await it.m.pass_time(30)
            assert await matched(it, "1") == 1
            await move(it, kay, "heron")
            assert f"{KAY}/session/1" not in readers(it)
            assert await matched(it, "2") == 1
            assert await read(it, kay) == ["1", "2"]

    play(scenario)


def test_after_a_restart_of_the_home_or_of_the_visited_node_they_wait_again(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        async with moved(it, "stork") as kay:
            for node in ("heron", "stork"):
                it.m.kill(node)
                await it.m.pass_time(3)
                it.m.start(node)
                await it.m.pass_time(30)
                assert await matched(it, node) == 1
            assert await read(it, kay) == ["heron", "stork"]

    play(scenario)
