"""A consumer that works on jobs while programs are killed, and records each event.

python -m tools.running.queue_consumer NODE QUEUE EVENTS SEED

Runs until SIGTERM. Each event is a line: TIME WHAT NAME NUMBER TRIES. Values of WHAT: took, acking (before
the ack), acked, nacked (before the nack), and late (the ack or nack failed).
"""

import asyncio
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import mesh
from mesh.errors import LeaseOver, LocalError
from tools.running.queue_opening import opened
from tools.running.told import tell_events

PREFETCH = 64
WORK = 0.05  # most s of work on a job
NACKED = 0.02  # share of the jobs


class Work:
    """The work on each job, and its records."""

    def __init__(self, file: TextIO, seed: int) -> None:
        self._file, self._chance = file, random.Random(seed)

    def write(self, what: str, job: mesh.Delivery[Any]) -> None:
        name, number = job.content.split(b" ", 2)[:2]
        tries = job.attempt - 1
        self._file.write(f"{time.monotonic():.6f} {what} {name.decode()} {int(number)} {tries}\n")

    async def do(self, job: mesh.Delivery[Any]) -> None:
        fate = self._chance.random()
        await asyncio.sleep(WORK * self._chance.random())
        try:
            if fate < NACKED:
                self.write("nacked", job)
                await job.nack(delay=WORK * self._chance.random())
            else:
                self.write("acking", job)
                await job.ack()
                self.write("acked", job)
        except (LeaseOver, LocalError):
            self.write("late", job)


async def main(node: str, queue: str, events: str, seed: str) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    with Path(events).open("a", buffering=1) as file:  # noqa: ASYNC230  nothing else is waiting yet
        work = Work(file, int(seed))
        async with opened(node) as m, asyncio.TaskGroup() as tasks:
            telling = tasks.create_task(tell_events(m))
            async with m.queue(queue).consume(prefetch=PREFETCH) as consumer:

                async def read() -> None:
                    async for job in consumer:
                        work.write("took", job)
                        tasks.create_task(work.do(job))

                reading = tasks.create_task(read())
                await over.wait()
                reading.cancel()
            telling.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
