"""The speed of Heronry's queues: puts are answered, and acks confirmed, from disk.

python -m tools.benchmarks.queues.ours_queue put[-many|-lone]|take[-each] NODE JOBS
"""

import asyncio
import sys
from collections import deque

import mesh
from mesh.errors import NoQueue, WouldBlock
from tools.benchmarks.queues.jobs import Figures, Jobs, Putting, Taken, run, until_ended

PATIENCE = 120.0  # s


async def there(queue: mesh.Queue) -> None:
    """Declare the queue unless it exists."""
    try:
        await queue.info()
    except NoQueue:
        await queue.declare()


async def put(address: str, jobs: Jobs) -> Figures:
    async with mesh.connect(address, timeout=PATIENCE) as m:
        queue = m.queue(jobs.name)
        await there(queue)
        putting = Putting(jobs)
        unanswered: deque[mesh.Receipt] = deque()
        for content in putting.contents:
            if len(unanswered) >= jobs.window:
                await unanswered.popleft()
            while True:
                try:
                    unanswered.append(queue.post(content))
                    break
                except WouldBlock:
                    await unanswered.popleft()
        for receipt in unanswered:
            await receipt
        return putting.told()


async def put_lone(address: str, jobs: Jobs) -> Figures:
    """Put each job in an envelope of its own, as alternating priorities cannot share one."""
    async with mesh.connect(address, timeout=PATIENCE) as m:
        queue = m.queue(jobs.name)
        await there(queue)
        putting = Putting(jobs)
        unanswered: deque[mesh.Receipt] = deque()
        for number, content in enumerate(putting.contents):
            if len(unanswered) >= jobs.window:
                await unanswered.popleft()
            while True:
                try:
                    unanswered.append(queue.post(content, priority=4 + number % 2))
                    break
                except WouldBlock:
                    await unanswered.popleft()
        for receipt in unanswered:
            await receipt
        return putting.told()


async def put_many(address: str, jobs: Jobs) -> Figures:
    async with mesh.connect(address, timeout=PATIENCE) as m:
        queue = m.queue(jobs.name)
        await there(queue)
        putting = Putting(jobs)
        contents = putting.contents
        for at in range(0, len(contents), jobs.window):
            await queue.put_many(contents[at : at + jobs.window])
        return putting.told()


async def take(address: str, jobs: Jobs) -> Figures:
    """Consume in batches as they arrive; ack each while the next is read."""
    taken, over = Taken(jobs), until_ended()
    async with mesh.connect(address, timeout=PATIENCE) as m:
        queue = m.queue(jobs.name)
        await there(queue)
        async with queue.consume(prefetch=jobs.window) as consumer, asyncio.TaskGroup() as tasks:

            async def done(batch: mesh.Deliveries[object]) -> None:
                await batch.ack()
                taken.acked(len(batch))

            async def read() -> None:
                async for batch in consumer.batches():
                    again = [place for place, job in enumerate(batch) if job.redelivered]
                    taken.take(batch.contents(), again)
                    tasks.create_task(done(batch))

            reading = tasks.create_task(read())
            taken.ready()
            await over.wait()
            reading.cancel()
        return taken.told()


async def take_each(address: str, jobs: Jobs) -> Figures:
    """Consume one by one, and ack each job in a task of its own."""
    taken, over = Taken(jobs), until_ended()
    async with mesh.connect(address, timeout=PATIENCE) as m:
        queue = m.queue(jobs.name)
        await there(queue)
        async with queue.consume(prefetch=jobs.window) as consumer, asyncio.TaskGroup() as tasks:

            async def done(job: mesh.Delivery[object]) -> None:
                async with job:
                    taken.take([job.content], [0] if job.redelivered else [])
                taken.acked(1)

            async def read() -> None:
                async for job in consumer:
                    tasks.create_task(done(job))

            reading = tasks.create_task(read())
            taken.ready()
            await over.wait()
            reading.cancel()
        return taken.told()


if __name__ == "__main__":
    sys.argv[1], _, how = sys.argv[1].partition("-")
    run({"many": put_many, "lone": put_lone}.get(how, put), take_each if how == "each" else take)
