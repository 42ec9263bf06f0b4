"""Which master answers, and how soon? Asks for one value on a fixed schedule, and writes down who had it.

python -m tools.benchmarks.loads.balance_reader NODE KEY DOMAIN RATE FILE

A line for each get: when it was asked (s), how long it took (s), and the master, or the code of an error.
Until SIGTERM; then it waits for the answers that are still out.
"""

import asyncio
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

import mesh
from mesh.errors import MeshError

TURN = 0.02  # s between bursts
PATIENCE = 60.0  # s for the last answers


async def ask(m: mesh.Client, key: str, domain: str, file: TextIO) -> None:
    start = time.monotonic()
    try:
        found = await m.get(key, domain=domain, fresh=True)
        source = found[0].source if found else "NOTHING"
    except MeshError as error:
        source = error.code
    file.write(f"{start:.6f} {time.monotonic() - start:.6f} {source}\n")


async def main(node: str, key: str, domain: str, rate: str, path: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    with Path(path).open("x", buffering=1) as file:  # noqa: ASYNC230  nothing else is waiting yet
        async with mesh.connect(node, timeout=PATIENCE) as m, asyncio.TaskGroup() as gets:
            start, number = time.monotonic(), 0
            while not stop.is_set():
                due = int((time.monotonic() - start) * float(rate))
                for _ in range(due - number):
                    gets.create_task(ask(m, key, domain, file))
                number = due
                await asyncio.sleep(TURN)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
