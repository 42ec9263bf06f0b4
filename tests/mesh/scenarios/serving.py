"""Servers of addresses that keep what they receive, and a wait for what a node knows of them."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from mesh.client.client import Client
from mesh.client.message import Message
from tests.mesh.meshes import eventually
from tests.mesh.scenarios.topology import Files

FILE = "[discovery]\nmdns = false\n"
BESIDE_A = FILE + '[node]\npeers = ["{a}"]\n'


def files_of(*names: str) -> Files:
    """Return the files of nodes without rules; all know the first one, whose name is `a`."""
    return {name: BESIDE_A if name != "a" else FILE for name in names}


class Server:
    """A server of an address during the block, and the messages that it has received.

    Each request is answered with `re ` and its content, and with its headers.
    """

    def __init__(self, client: Client, address: str, **how: Any) -> None:
        self.messages: list[Message[Any]] = []
        self._service = client.serve(address, **{"prefetch": 1000, **how})

    @property
    def contents(self) -> list[bytes]:
        return [message.content for message in self.messages]

    async def __aenter__(self) -> Self:
        await self._service.__aenter__()
        self._task = asyncio.create_task(self._serve())
        return self

    async def _serve(self) -> None:
        async for request in self._service:
            self.messages.append(request)
            if request.wants_reply:
                await request.reply(b"re " + request.content, headers=request.headers)

    async def received(self, count: int) -> None:
        """Wait until at least `count` messages have arrived."""
        await eventually(lambda: len(self.messages) >= count)

    async def leave(self) -> None:
        """Stop serving."""
        await self._service.close()
        await self._task

    async def __aexit__(self, *why: object) -> None:
        await self.leave()


async def known(client: Client, address: str) -> dict[str, int]:
    """Return the numbers of servers that the client's node knows, by node."""
    rows = (await client.call("servers", address=address))["servers"]
    return {row["node"]: row["consumers"] for row in rows}


async def knows(client: Client, address: str, **consumers: int) -> None:
    """Wait until the client's node knows exactly these numbers of servers, by node."""

    async def is_so() -> bool:
        return await known(client, address) == consumers

    await eventually(is_so)
