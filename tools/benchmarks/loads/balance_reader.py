"""Gets one value on a fixed schedule, and writes which master answered, and how soon.

python -m tools.benchmarks.loads.balance_reader NODE KEY DOMAIN RATE FILE

Writes a line for each get: the time of the request (s), the latency (s), and the master, NOTHING without a
value, or an error code. On SIGTERM it waits for the missing answers and ends.
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
