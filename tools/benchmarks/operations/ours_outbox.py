"""The speed of one sender of an outbox: rows of a database that become messages of a queue.

python -m tools.benchmarks.operations.ours_outbox NODE DATABASE ROWS
"""

import asyncio
import json
import subprocess
import sys
import time

import mesh
from tools.benchmarks.operations.timing import PATIENCE, SIZE, Figures
from tools.lab_parts.jobs.databases import opener

TOGETHER = 1000  # rows in a transaction of the writer


def _init(url: str) -> None:
    command = [sys.executable, "-m", "mesh", "tx", "init-db", url]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


async def _written(url: str, queue: str, rows: int) -> None:
    opened = opener(url)()
    db = await opened if hasattr(opened, "__await__") else opened
    for begin in range(0, rows, TOGETHER):
        async with mesh.transaction(db=db) as tx:
            for _ in range(begin, min(rows, begin + TOGETHER)):
                tx.put(queue, b"." * SIZE)
    closed = db.close()
    if closed is not None:
        await closed


async def sent(node: str, url: str, rows: int) -> Figures:
    """Return the rows per second from the opened sender until the outbox is empty."""
    queue = f"outbox-{time.time_ns()}"
    async with mesh.connect(node, timeout=PATIENCE) as m:
        await m.queue(queue).declare()
        await asyncio.to_thread(_init, url)
        await _written(url, queue, rows)
        used = time.process_time()
        async with mesh.outbox(url, node, timeout=PATIENCE) as outbox:
            began = time.monotonic()
            await outbox.drained()
            spent = time.monotonic() - began
        cpu = time.process_time() - used
        found = (await m.queue(queue).info()).ready
        if found != rows:
            raise SystemExit(f"{rows} rows were sent, but {found} messages are there")
        await m.queue(queue).delete(if_unused=False)
    return {"rate": rows / spent, "cpu": cpu}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(sent(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
