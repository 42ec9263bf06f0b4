"""Clients with a token that try to exhaust a node. Each repeats one action until it is killed.

python -m tests.mesh.scenarios.greedy ADDRESS
"""

import asyncio
import os
import secrets
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

import mesh
from mesh.client.client import Client
from mesh.errors import MeshError
from tests.mesh.running import LIMIT

BODY = 64 * 1024  # bytes of a content
SUBSCRIPTIONS, ADDRESSES = 100, 50  # of one client
EACH = 3  # clients of each kind
NEW = 20  # s until a client reconnects with a new key
REQUESTS: deque[asyncio.Task[None]] = deque(maxlen=10_000)  # the newest ones
Try = Callable[[Client, int], Awaitable[Any]]


def body() -> bytes:
    return os.urandom(64) + bytes(BODY)


async def letters(m: Client, n: int) -> None:
    """Send a direct message to a client that does not exist."""
    to = f"/node/heron/client/nobody-{secrets.token_hex(4)}"
    await m.send(to, body(), force_queuing=True, persistent=n % 4 == 0)


async def puts(m: Client, n: int) -> None:
    """Put a transient message into a queue without consumers."""
    queue = m.queue(f"greedy-{n % 50}")
    if n < 50:
        await queue.declare(max_bytes=2**45)
    await queue.put(body(), persistent=False)


async def declares(m: Client, n: int) -> None:
    """Declare and delete a queue."""
    queue = m.queue(f"passing-{secrets.token_hex(6)}")
    await queue.declare()
    await queue.delete()


async def durables(m: Client, n: int) -> None:
    """Publish to an unread durable subscription to everything."""
    if n == 0:
        async with m.subscribe("#", durable="greedy"):
            pass
    await m.publish(f"durable/{n % 1000}", body(), persistent=True)


async def topics(m: Client, n: int) -> None:
    """Publish to a new topic, in one of many domains."""
    await m.publish(f"topic/{secrets.token_hex(60)}", body()[: n % 5000], domain=f"d{n % 10_000}")


async def questions(m: Client, n: int) -> None:
    """Ask questions with large answers."""
    await asyncio.gather(*[m.get(pattern="#") for _ in range(16)])


async def unread(m: Client, n: int) -> None:
    """Publish to subscriptions that are not read, and send requests that are not settled."""
    if n == 0:
        for k in range(SUBSCRIPTIONS):
            await m.subscribe(f"unread/{id(m)}/{k}", initial=False).__aenter__()
        for k in range(ADDRESSES):
            await m.serve(f"never/{id(m)}/{k}", prefetch=10_000).__aenter__()
    await m.publish(f"unread/{id(m)}/{n % SUBSCRIPTIONS}", body())
    if n % 2:
        request = m.request(f"never/{id(m)}/{n % ADDRESSES}", body(), timeout=600)
        REQUESTS.append(asyncio.create_task(quiet(request)))


async def quiet(work: Awaitable[Any]) -> None:
    with suppress(MeshError):
        await work


TRIES: dict[str, Try] = {
    each.__name__: each for each in (letters, puts, declares, durables, topics, questions, unread)
}


async def run(address: str) -> None:
    """Run some clients of each kind, which reconnect all the time."""

    async def one(what: str) -> None:
        while True:
            try:
                async with mesh.connect(address, client=f"greedy-{what}", timeout=LIMIT) as m:
                    print(what, flush=True)
                    async with asyncio.timeout(NEW):
                        for n in count():
                            await quiet(TRIES[what](m, n))
            except (MeshError, TimeoutError):
                await asyncio.sleep(0.1)

    await asyncio.gather(*[one(what) for what in TRIES for _ in range(EACH)])


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
