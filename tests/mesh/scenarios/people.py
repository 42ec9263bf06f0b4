"""Clients at the nodes of sites, and the messages in their inboxes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

import mesh
from mesh.client.client import Client
from mesh.client.message import Message
from mesh.client.subscription import Subscription
from tests.mesh.running import RunningNode


def at(node: RunningNode) -> Client:
    """Return a client named joe at that node."""
    return mesh.connect(node.name, client="joe", environ=node.environ)


class Person:
    """A client at a node, and the messages in its inbox."""

    def __init__(self, node: RunningNode, client: Client) -> None:
        self.node, self.client = node, client
        self.letters: list[Message] = []

    async def read(self, inbox: Subscription) -> None:
        async for letter in inbox:
            self.letters.append(letter)


@asynccontextmanager
async def people(nodes: Iterable[RunningNode]) -> AsyncIterator[list[Person]]:
    """Connect a client named joe at each of these nodes, and read its inbox during the block."""
    async with AsyncExitStack() as stack:
        found, readers = [], []
        for node in nodes:
            client = await stack.enter_async_context(at(node))
            person = Person(node, client)
            readers.append(asyncio.create_task(person.read(await stack.enter_async_context(client.inbox()))))
            found.append(person)
        try:
            yield found
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
