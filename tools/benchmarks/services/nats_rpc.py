"""The speed of NATS requests with the Python client; servers are a queue group."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.msg import Msg

from tools.benchmarks.services.asking import PATIENCE, Asking, Call, Echo, run


@asynccontextmanager
async def serving(address: str, echo: Echo) -> AsyncIterator[None]:
    connection = await nats.connect(address)

    async def answer(message: Msg) -> None:
        await message.respond(await echo.reply(message.data))

    await connection.subscribe(echo.asking.name, queue="servers", cb=answer, pending_msgs_limit=0)
    await connection.flush()
    yield
    await connection.close()


@asynccontextmanager
async def opening(address: str, asking: Asking) -> AsyncIterator[Call]:
    connection = await nats.connect(address)

    async def call(content: bytes) -> bytes:
        return bytes((await connection.request(asking.name, content, timeout=PATIENCE)).data)

    yield call
    await connection.close()


if __name__ == "__main__":
    run(serving, opening)
