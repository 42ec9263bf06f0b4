"""The clients of Heronry for messages to another site.

The sender waits for room in its window, and at the end for the answers. The address is STATE:NODE, the state
directory of a site and one of its nodes.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mesh
from tools.benchmarks.sites.sending import Send, Sending, run

PATIENCE = 60.0  # s until the other site is reached
TURN = 0.05  # s


def _connected(address: str) -> mesh.Client:
    state, _, node = address.rpartition(":")
    return mesh.connect(node, environ={"MESH_STATE_DIR": state})


@asynccontextmanager
async def taking(address: str, sending: Sending) -> AsyncIterator[AsyncIterator[bytes]]:
    async with _connected(address) as m, m.subscribe(sending.name, initial=False) as messages:

        async def contents() -> AsyncIterator[bytes]:
            async for message in messages:
                yield message.content

        yield contents()


@asynccontextmanager
async def opening(address: str, sending: Sending) -> AsyncIterator[Send]:
    async with _connected(address) as m:
        limit = time.monotonic() + PATIENCE
        while not all(site.state == "up" for site in (await m.views()).remote.values()):
            if time.monotonic() > limit:
                raise TimeoutError("the other site was not reached")
            await asyncio.sleep(TURN)

        async def send(content: bytes) -> None:
            while True:
                try:
                    m.post(sending.name, content, persistent=sending.persistent)
                except mesh.WouldBlock:
                    await m.room()
                else:
                    return

        yield send
        await m.flush()


if __name__ == "__main__":
    run(taking, opening, window=1)  # a post waits for no answer
