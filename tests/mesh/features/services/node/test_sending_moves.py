"""Requests in progress when the client that asks, or the one that serves, moves to another node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

import mesh.testing
from mesh.errors import HandlerLost
from mesh.testing import mesh as testing

NODES = ["heron", "stork", "ibis"]


def place_of(client: Any) -> Any:
    return client._place


class Calls:
    """The clients `asker`, at heron, and `server`, at ibis; a spare server comes while that one works."""

    def __init__(self, m: mesh.testing.Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
        self.m = m
        self.asker: Any = m.connect("heron", client="asker")
        self.server: Any = m.connect("ibis", client="server")
        self.may_reply = asyncio.Event()
        self.served = 0
        self.tasks: list[asyncio.Task[None]] = []
        self.places: dict[Any, str] = {place_of(self.asker): "heron", place_of(self.server): "ibis"}
        find = testing.Inhabited.find
        monkeypatch.setattr(
            testing.Inhabited, "find", lambda place, wanted: find(place, self.places.get(place) or wanted)
        )

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Calls]:
        async with self.asker, self.server, self.m.connect("stork", client="spare") as self.spare:
            serving = [asyncio.create_task(self._serve(self.server))]
            await self.m.pass_time(1)
            self.tasks = serving
            yield self
            for task in serving:
                task.cancel()

    async def _serve(self, server: Any) -> None:
        async with server.serve("calc/add") as requests:
            async for request in requests:
                self.served += 1
                if self.served == 1:
                    await self.may_reply.wait()
                await request.reply(b"%d" % self.served)

    def move(self, client: Any, node: str) -> None:
        self.places[client._place] = node
        client._shell.core.line.lose("moved by the test")

    async def outcome(self, retry_lost: bool, move: Callable[[], None]) -> str:
        """Ask, move a client while the request is served, and return the reply or the code of the error."""
        asking = asyncio.create_task(self.asker.request("calc/add", b"", timeout=30, retry_lost=retry_lost))
        await self.m.pass_time(1)
        assert self.served == 1
        self.tasks.append(asyncio.create_task(self._serve(self.spare)))
        await self.m.pass_time(1)
        move()
        await self.m.pass_time(3)
        self.may_reply.set()
        await self.m.pass_time(3)
        try:
            return str((await asking).content.decode())
        except HandlerLost as error:
            return error.code


Scenario = Callable[[Calls], Coroutine[Any, Any, None]]


@pytest.mark.parametrize("who", ["asker", "server"])
@pytest.mark.parametrize(("retry_lost", "expected"), [(False, "HANDLER_LOST"), (True, "2")])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_request_in_progress_is_lost_or_asked_again_when_a_client_moves(
    monkeypatch: pytest.MonkeyPatch, who: str, retry_lost: bool, expected: str, is_killed: bool
) -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh(NODES, clock="virtual") as m, Calls(m, monkeypatch).opened() as it:
            client = getattr(it, who)

            def move() -> None:
                if is_killed:
                    m.kill(it.places[client._place])
                it.move(client, "stork")

            assert await it.outcome(retry_lost, move) == expected
            assert client._shell.core.line.home == "stork"

    asyncio.run(scenario())
