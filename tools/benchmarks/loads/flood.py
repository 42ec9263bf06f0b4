"""Sends a flood of messages at a steady rate, or reads and discards it.

python -m tools.benchmarks.loads.flood NODE send TOPIC RATE SECONDS
python -m tools.benchmarks.loads.flood NODE read TOPIC READY

RATE is rounded down to a multiple of 100 messages per second, but is at least 100. The reader creates the
file READY when it is subscribed, and runs until it is ended.
"""

import asyncio
import sys
import time
from pathlib import Path

import mesh

CONTENT = b"." * 1024  # bytes
STEP = 0.01  # s between two bursts


async def send(node: str, topic: str, rate: str, seconds: str) -> None:
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
    async with mesh.connect(node) as m, m.subscribe(topic, initial=False) as subscription:
        Path(ready).touch()  # noqa: ASYNC240  nothing else is waiting yet
        async for _ in subscription.batches():
            pass


if __name__ == "__main__":
    node, what, *rest = sys.argv[1:]
    asyncio.run(send(node, *rest) if what == "send" else read(node, *rest))
