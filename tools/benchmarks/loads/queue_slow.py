"""A consumer that needs SECONDS for each job, one after the other, until SIGTERM.

python -m tools.benchmarks.loads.queue_slow NODE QUEUE SECONDS

Prints "ready", and at the end [JOBS, SECONDS]: the completed jobs, and their total time from start to ack.
"""

import asyncio
import contextlib
import json
import signal
import sys
import time

import mesh
from tools.running.queue_opening import opened

AHEAD = 2  # prefetched jobs


async def main(node: str, name: str, seconds: str) -> None:
    over, done = asyncio.Event(), [0, 0.0]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with opened(node) as m, m.queue(name).consume(prefetch=AHEAD) as jobs:
        working = asyncio.create_task(work(jobs, float(seconds), done))
        print("ready", flush=True)
        await over.wait()
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
        print(json.dumps(done), flush=True)


async def work(jobs: mesh.Consumer[object], seconds: float, done: list[float]) -> None:
    async for job in jobs:
        began = time.monotonic()
        async with job:
            await asyncio.sleep(seconds)
        done[0] += 1
        done[1] += time.monotonic() - began


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
