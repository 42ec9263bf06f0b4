"""A node whose queues have stores of their own. As a program it puts messages until it is killed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mesh.config import load
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.node.parts import QueueParts
from mesh.shell.node import NodeRuntime
from mesh.shell.starting import start
from mesh.wire.commands import Answer
from mesh.wire.envelope import PERSISTENT, Envelope
from tests.mesh.running import environment
from tests.waiting import LIMIT

STREAM = b"p" * 16


@asynccontextmanager
async def node(file: Path, state: Path, **options: Any) -> AsyncIterator[NodeRuntime]:
    """Run the node of that file during the block."""
    environ: Mapping[str, str] = environment(state)
    it = await start(load(file, environ, {}), environ, **options)
    try:
        yield it
    finally:
        await it.close()


async def declare(it: NodeRuntime, *names: str) -> None:
    """Declare queues, and wait until the definitions are on disk."""
    for name in names:
        if name not in it.core.parts[QueueParts].declaring.names():
            it.core.parts[QueueParts].declaring.declare_queue(name, QueueTerms(), "a test")
    done = asyncio.Event()
    it.core.parts.disk.commit((), lambda error: done.set())
    it.driver.idle()
    await asyncio.wait_for(done.wait(), LIMIT)


async def put(it: NodeRuntime, name: str, number: int, content: bytes = b"") -> str:
    """Put a message, and return the state of the answer."""
    content = content or b"%d" % number
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    to = f"queue/{name}"
    envelope = Envelope(
        STREAM, to, number, number, ("job",), 1, len(content), content, flags=PERSISTENT, to=to
    )  # fmt: skip
    it.core.parts.router.publish_here(b"test", envelope, answer.set_result)
    it.driver.idle()
    return (await asyncio.wait_for(answer, LIMIT)).state


def waiting(it: NodeRuntime, name: str) -> list[bytes]:
    """Return the contents that are ready in a queue, in order."""
    part = it.core.parts[QueueParts].queues.get(name).part
    return [content for queued in part.order.ready_envelopes() for content in queued.envelope.contents()]


def settle(it: NodeRuntime, name: str) -> int:
    """Purge a queue, and return how many messages it had."""
    queues = it.core.parts[QueueParts].queues
    queue = queues.get(name)
    count = queue.part.backlog.purge()
    queue.write_changed()
    return count


async def until_killed(file: Path, state: Path) -> None:
    async with node(file, state) as it:
        await declare(it, "orders", "others")
        for number in range(1, 10**6):
            states = await asyncio.gather(put(it, "orders", number), put(it, "others", number))
            print(number, *states, flush=True)


if __name__ == "__main__":
    asyncio.run(until_killed(Path(sys.argv[1]), Path(sys.argv[2])))
