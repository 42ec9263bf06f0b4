"""Shared code of the programs that repeat an operation: the load, the clock, and the figures as JSON.

python -m tools.benchmarks.operations.CLIENT ADDRESS LOAD
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass

from tools.benchmarks.loads.figures import percentile

PATIENCE = 60.0  # s for one answer
SIZE = 100  # bytes of a content
KEYS = 100  # of a map
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Load:
    """At most `count` operations in at most `seconds`, of which `window` are under way at the same time."""

    name: str  # in the names of queues, tables and keys
    what: str  # kind of operation
    count: int
    window: int = 1
    jobs: int = 1  # acks of a transaction, and messages
    seconds: float = 10.0

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> "Load":
        return cls(**json.loads(text))

    @property
    def all_jobs(self) -> int:
        """The jobs to be queued before: more than are taken, as each worker may have some in advance."""
        return (self.count + 2 * self.window) * self.jobs

    def contents(self) -> list[bytes]:
        return [number.to_bytes(8, "little").ljust(SIZE, b".") for number in range(self.all_jobs)]


class Run:
    """A run of a load. `done` counts the operations that have ended."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.done = 0

    def check_queues(self, left: int, there: int) -> None:
        """Raise SystemExit unless each job is in its first queue, or else once in the second one."""
        done, all_jobs = self.done * self.load.jobs, self.load.all_jobs
        if (left, there) != (all_jobs - done, done):
            raise SystemExit(f"of {all_jobs} jobs, {done} were moved, but {left} are left and {there} there")


Operation = Callable[[int, int], Awaitable[None]]  # of a worker, with the number of the operation
Opening = Callable[[str, Run], AbstractAsyncContextManager[Operation]]  # prepares before, checks afterwards


async def timed(run: Run, operation: Operation) -> Figures:
    """Repeat an operation, and return its rate (1/s), and percentiles of its duration (s).

    Each worker ends with the operation that exceeds the time.
    """
    load, taken = run.load, list[float]()
    numbers = iter(range(load.count))
    used, began = time.process_time(), time.monotonic()

    async def work(worker: int) -> None:
        for number in numbers:
            since = time.monotonic()
            await operation(worker, number)
            run.done += 1
            taken.append(time.monotonic() - since)
            if since + taken[-1] > began + load.seconds:
                return

    async with asyncio.TaskGroup() as tasks:
        for worker in range(load.window):
            tasks.create_task(work(worker))
    spent, cpu = time.monotonic() - began, time.process_time() - used
    halves = {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99)}
    return {"rate": run.done / spent, **halves, "done": run.done, "cpu": cpu}


async def figures(opening: Opening, address: str, load: Load) -> Figures:
    run = Run(load)
    async with opening(address, run) as operation:
        return await timed(run, operation)


def main(opening: Opening) -> None:
    """Repeat the operation that the arguments of the program name, and print the figures as JSON."""
    address, packed = sys.argv[1:]
    print(json.dumps(asyncio.run(figures(opening, address, Load.unpacked(packed)))))
