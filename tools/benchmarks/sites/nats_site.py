"""The speed of NATS messages to another cluster by a gateway; receivers answer each message."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.errors import Error

from tools.benchmarks.sites.sending import Send, Sending, run

PATIENCE = 60.0  # s timeout of a message
FIRST = 1.0  # s timeout of the first probe


@asynccontextmanager
async def taking(address: str, sending: Sending) -> AsyncIterator[AsyncIterator[bytes]]:
    connection = await nats.connect(address)
    subscription = await connection.subscribe(sending.name, pending_msgs_limit=0, pending_bytes_limit=0)
    await connection.flush()

    async def contents() -> AsyncIterator[bytes]:
        async for message in subscription.messages:
            await message.respond(b"")
            if message.data:
                yield message.data

    yield contents()
    await connection.flush()
    await connection.close()


@asynccontextmanager
async def opening(address: str, sending: Sending) -> AsyncIterator[Send]:
    connection = await nats.connect(address)

    async def send(content: bytes) -> None:
        await connection.request(sending.name, content, timeout=PATIENCE)

    limit = time.monotonic() + PATIENCE
    while True:  # until the receivers are known here
        try:
            await connection.request(sending.name, b"", timeout=FIRST)
            break
        except Error:
            if time.monotonic() > limit:
                raise
            await asyncio.sleep(FIRST)
    yield send
    await connection.close()


if __name__ == "__main__":
    run(taking, opening)
