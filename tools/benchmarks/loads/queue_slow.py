"""Somebody who needs so long for each job, one after the other, until SIGTERM.

python -m tools.benchmarks.loads.queue_slow NODE QUEUE SECONDS
"""

import asyncio
import contextlib
import signal
import sys

import mesh
from tools.benchmarks.loads.queue_opening import opened

AHEAD = 2  # jobs that he has


async def main(node: str, name: str, seconds: str) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with opened(node) as m, m.queue(name).consume(prefetch=AHEAD) as jobs:
        working = asyncio.create_task(work(jobs, float(seconds)))
        print("ready", flush=True)
        await over.wait()
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def work(jobs: mesh.Consumer[object], seconds: float) -> None:
    async for job in jobs:
        async with job:
            await asyncio.sleep(seconds)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
