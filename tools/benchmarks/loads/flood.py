"""A flood at a steady rate, and a reader of it.

python -m tools.benchmarks.loads.flood NODE send TOPIC RATE SECONDS
python -m tools.benchmarks.loads.flood NODE read TOPIC READY

The sender ends by itself. The reader runs until it is ended, and creates the file READY when it is
subscribed.
"""

import asyncio
import sys
import time
from pathlib import Path

import mesh

CONTENT = b"." * 1024  # bytes
STEP = 0.01  # s between two bursts


async def send(node: str, topic: str, rate: str, seconds: str) -> None:
    """Send at a steady rate without waiting for answers."""
    handful = max(1, int(float(rate) * STEP))
    async with mesh.connect(node, timeout=60.0) as m:
        due, end = time.monotonic(), time.monotonic() + float(seconds)
        while due < end:
            for _ in range(handful):
                await m.publish_oneway(topic, CONTENT)
            due += STEP
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        await m.flush()


async def read(node: str, topic: str, ready: str) -> None:
    """Read and discard all messages."""
    async with mesh.connect(node) as m, m.subscribe(topic, initial=False) as subscription:
        Path(ready).touch()  # noqa: ASYNC240  nothing else is waiting yet
        async for _ in subscription.batches():
            pass


if __name__ == "__main__":
    node, what, *rest = sys.argv[1:]
    asyncio.run(send(node, *rest) if what == "send" else read(node, *rest))
