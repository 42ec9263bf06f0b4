"""A server that does as each request says while programs are killed, and records each event.

python -m tools.running.service_server NODE ADDRESS LIFE RECORDS

Runs until SIGTERM, then finishes open requests. Each event is a line: TIME WHAT NAME NUMBER. Possible values
of WHAT: began, or replying, failing and dropping, each written just before that action.
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import mesh
from tools.running.queue_opening import opened
from tools.running.service_records import Task, task_of
from tools.running.told import tell_events

PREFETCH = 16
FAILED = "NOT_TODAY"


class Work:
    """The work on each request, and its records."""

    def __init__(self, life: str, file: TextIO) -> None:
        self._life, self._file = life, file

    def write(self, what: str, task: Task) -> None:
        name, number = task.name
        self._file.write(f"{time.monotonic():.6f} {what} {name} {number}\n")

    async def do(self, task: Task, request: mesh.Request[Any]) -> None:
        """Handle a request.

        A dropped request fails once no reference to it is left.
        """
        await asyncio.sleep(task.seconds)
        if task.fate == "drop":
            self.write("dropping", task)
        elif task.fate == "fail":
            self.write("failing", task)
            await request.fail(FAILED, self._life)
        else:
            self.write("replying", task)
            name, number = task.name
            await request.reply(f"{self._life} {name} {number}".encode())


@asynccontextmanager
async def told(m: mesh.Client) -> AsyncIterator[None]:
    """Print the client's events to stderr until the context ends."""
    telling = asyncio.create_task(tell_events(m))
    try:
        yield
    finally:
        telling.cancel()


async def main(node: str, address: str, life: str, records: str) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    with Path(records).open("a", buffering=1) as file:  # noqa: ASYNC230  nothing else is waiting yet
        work = Work(life, file)
        async with (
            opened(node) as m,
            told(m),
            m.serve(address, prefetch=PREFETCH) as service,
            asyncio.TaskGroup() as tasks,
        ):

            async def read() -> None:
                async for request in service:
                    task = task_of(request.content)
                    work.write("began", task)
                    tasks.create_task(work.do(task, request))
                    del request

            reading = tasks.create_task(read())
            await over.wait()
            reading.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
