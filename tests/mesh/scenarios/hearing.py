"""A subscriber that keeps its messages, and a check that no more are in transit to it."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mesh.client.client import Client
from mesh.client.message import Message
from mesh.client.subscription import Subscription
from tests.mesh.meshes import LIMIT, eventually


class Ear:
    """The messages that one subscription has brought so far."""

    def __init__(self, subscription: Subscription, marks: Subscription, end: str) -> None:
        self.messages: list[Message] = []
        self.subscription = subscription
        self.end = end  # key of the marks that follow its messages
        self._marks = marks

    @property
    def contents(self) -> list[bytes]:
        return [message.content for message in self.messages]

    async def read(self) -> None:
        async for message in self.subscription:
            self.messages.append(message)

    async def heard(self, count: int) -> None:
        """Wait until at least `count` messages have arrived."""
        await eventually(lambda: len(self.messages) >= count)

    async def until_mark(self, mark: bytes) -> None:
        async with asyncio.timeout(LIMIT):
            async for message in self._marks:
                if message.content == mark:
                    return


@asynccontextmanager
async def hearing(client: Client, key: str, domain: str | None = None) -> AsyncIterator[Ear]:
    """Subscribe, and read the subscription during the block."""
    end = f"{key}/end"
    async with (
        client.subscribe(key, domain=domain) as subscription,
        client.subscribe(end, domain=domain, initial=False) as marks,
    ):
        ear = Ear(subscription, marks, end)
        reader = asyncio.create_task(ear.read())
        try:
            yield ear
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)


async def nothing_more(publisher: Client, *ears: Ear, domain: str | None = None) -> None:
    """Wait until all messages of this publisher in this domain have reached the ears.

    A mark leaves after them on the same route, and each session receives it after what it received before.
    """
    mark = secrets.token_bytes(8)
    for end in {ear.end for ear in ears}:
        await publisher.publish(end, mark, domain=domain)
    for ear in ears:
        await ear.until_mark(mark)
    await asyncio.sleep(0)  # lets each ear read what precedes its mark
