"""Keeps a node's event loop busy with a client that reads many topics all the time.

python -m tools.benchmarks.loads.balance_load NODE DOMAIN TOPICS READY

Publishes TOPICS topics and creates the file READY. After SIGUSR1 it reads all of them again and again, until
it is ended.
"""

import asyncio
import signal
import sys
from pathlib import Path

import mesh
from mesh.errors import WouldBlock

AT_ONCE = 2  # reads: while one is answered, another waits
PATIENCE = 60.0  # s for an answer


async def fill(m: mesh.Client, domain: str, topics: int) -> None:
    for number in range(topics):
        while True:
            try:
                m.post(f"topic/{number}", b"x" * 100, domain=domain)
                break
            except WouldBlock:
                await m.room()
    await m.flush()


async def read(m: mesh.Client, domain: str, topics: int) -> None:
    while True:
        found = await m.get(pattern="topic/#", domain=domain, fresh=True)
        assert len(found) == topics, f"{len(found)} of {topics} topics"


async def main(node: str, domain: str, topics: str, ready: str) -> None:
    begin = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, begin.set)
    async with mesh.connect(node, timeout=PATIENCE) as m:
        await fill(m, domain, int(topics))
        Path(ready).touch()  # noqa: ASYNC240  nothing else is waiting
        await begin.wait()
        async with asyncio.TaskGroup() as reads:
            for _ in range(AT_ONCE):
                reads.create_task(read(m, domain, int(topics)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
