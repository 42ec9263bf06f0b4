"""The speed of Heronry's transactions: acks of jobs of one queue, and puts into another.

Operations: commit; plain: the same without a transaction; put: one put alone.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mesh
from tools.benchmarks.operations.timing import PATIENCE, SIZE, Operation, Run, main

PREFETCH = 1000


class _Jobs:
    """The jobs of a consumer, for several workers."""

    def __init__(self, consumer: Any, count: int) -> None:
        self._consumer, self._count, self._lock = consumer, count, asyncio.Lock()

    async def take(self) -> list[mesh.Delivery[object]]:
        async with self._lock:
            return [await anext(self._consumer) for _ in range(self._count)]


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load = run.load
    async with mesh.connect(address, timeout=PATIENCE) as m:
        source, target = m.queue(f"from/{load.name}"), m.queue(f"to/{load.name}")
        await source.declare()
        await target.declare()
        if load.what == "put":
            yield _put(target)
            return
        contents = load.contents()
        for at in range(0, len(contents), PREFETCH):
            await source.put_many(contents[at : at + PREFETCH])
        async with source.consume(prefetch=PREFETCH) as consumer:
            jobs = _Jobs(consumer, load.jobs)
            yield _plain(jobs, target) if load.what == "plain" else _commit(jobs, m, target)
        rows = [await queue.info() for queue in (source, target)]
        run.check_queues(*[row.ready + row.out for row in rows])


def _put(target: mesh.Queue) -> Operation:
    content = b"." * SIZE

    async def put(_worker: int, _number: int) -> None:
        await target.put(content)

    return put


def _plain(jobs: _Jobs, target: mesh.Queue) -> Operation:
    async def move(_worker: int, _number: int) -> None:
        taken = await jobs.take()
        await target.put_many([job.content for job in taken])
        await asyncio.gather(*(job.ack() for job in taken))

    return move


def _commit(jobs: _Jobs, m: Any, target: mesh.Queue) -> Operation:
    async def commit(_worker: int, _number: int) -> None:
        taken = await jobs.take()
        async with m.transaction() as tx:
            for job in taken:
                tx.ack(job)
                tx.put(target.name, job.content)

    return commit


if __name__ == "__main__":
    main(opening)
