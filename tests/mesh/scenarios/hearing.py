"""What does a subscriber hear, and how is it known that nothing more is under way to it?"""

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
        self.end = end  # key of the marks that travel behind its messages
        self._marks = marks

    @property
    def contents(self) -> list[bytes]:
        return [message.content for message in self.messages]

    async def read(self) -> None:
        async for message in self.subscription:
            self.messages.append(message)

    async def heard(self, count: int) -> None:
        """Until it has so many messages."""
        await eventually(lambda: len(self.messages) >= count)

    async def until_mark(self, mark: bytes) -> None:
        async with asyncio.timeout(LIMIT):
            async for message in self._marks:
                if message.content == mark:
                    return


@asynccontextmanager
async def hearing(client: Client, key: str, domain: str | None = None) -> AsyncIterator[Ear]:
    """A subscription that is read all the time."""
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
    """Until whatever this publisher had under way to them in this domain has arrived, once or twice.

    A mark leaves behind it, on the same way, and their sessions get it behind what they got before.
    """
    mark = secrets.token_bytes(8)
    for end in {ear.end for ear in ears}:
        await publisher.publish(end, mark, domain=domain)
    for ear in ears:
        await ear.until_mark(mark)
    await asyncio.sleep(0)  # a mark that is there already is taken at once: before it, its ear has its turn
