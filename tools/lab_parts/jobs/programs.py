"""The programs of a run: `python -m tools.lab_parts.jobs.programs ROLE ARGUMENTS`.

The writer puts one job after the other into the outbox of the source. Workers do the jobs in the target, and
pass each on with its outbox; the last worker notes what arrives. Each program goes on where it was killed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import mesh
from mesh.errors import MeshError
from tools.lab_parts.jobs.databases import opener

AGAIN = 0.2  # s until another attempt
TOGETHER = 50  # jobs in a transaction of the writer
JOBS, RESULTS = "jobs", "results"  # queues
NEXT = "SELECT coalesce(max(job), -1) + 1 FROM source"


async def _result(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


async def write(url: str, count: int) -> None:
    """Write jobs up to `count`, each in the table `source` and in the outbox."""
    db = await _result(opener(url)())
    place = "?" if url.startswith("sqlite") else "%s"
    try:
        while True:
            async with mesh.transaction(db=db) as tx:
                ((first,),) = await _result((await _result(db.execute(NEXT))).fetchall())
                if first >= count:
                    return
                for job in range(first, min(count, first + TOGETHER)):
                    await _result(db.execute(f"INSERT INTO source VALUES ({place})", (job,)))
                    tx.put(JOBS, str(job))
    finally:
        await _result(db.close())


async def work(url: str, node: str, queue: str) -> None:
    """Do the jobs of a queue: note each in the table of its name; jobs are passed on, results are not."""
    place = "?" if url.startswith("sqlite") else "%s"
    db = await _result(opener(url)())
    try:
        async with mesh.connect(node, timeout=60) as m, m.queue(queue).consume(inbox=db, prefetch=50) as jobs:
            async for job in jobs:
                async with job:
                    if job.done_before:
                        continue
                    row = (int(job.text), job.headers["outbox-row"])
                    await _result(job.db.execute(f"INSERT INTO {queue} VALUES ({place}, {place})", row))
                    if queue == JOBS:
                        async with m.transaction(db=job.db) as tx:
                            tx.put(RESULTS, job.text)
    finally:
        await _result(db.close())


async def _always(role: str, *given: str) -> None:
    """Run a role; after an error, such as of a database that was killed, run it again."""
    while True:
        try:
            if role == "write":
                await write(given[0], int(given[1]))
            else:
                await work(*given)
            return
        except mesh.NodeNotFound:
            raise
        except (MeshError, Exception) as error:
            print(f"{role}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
            await asyncio.sleep(AGAIN)


if __name__ == "__main__":
    asyncio.run(_always(*sys.argv[1:]))
