"""A producer that puts numbers into a queue while programs are killed, and records each answer.

python -m tools.running.queue_producer NODE QUEUE NAME RATE ANSWERS

Puts RATE jobs per second until SIGTERM, or fewer if answers are late; then it waits for the missing answers.
Each process of a producer has a NAME of its own.
"""

import asyncio
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

import mesh
from mesh.errors import MeshError, WouldBlock
from tools.running.queue_opening import PATIENCE, opened
from tools.running.told import tell_events

TURN = 0.02  # s between bursts
SIZE = 100  # bytes of a job
Waiting = asyncio.Queue[tuple[int, mesh.Receipt] | None]  # None: no more


async def put(queue: mesh.Queue, name: str, rate: int, unanswered: Waiting, stop: asyncio.Event) -> None:
    """Put without waiting for answers, but wait for space when the window is full."""
    start, number = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - start) * rate)
        while number < due and not stop.is_set():
            try:
                receipt = queue.post(f"{name} {number + 1} ".encode().ljust(SIZE, b"."))
            except WouldBlock:
                break
            number += 1
            unanswered.put_nowait((number, receipt))
        await asyncio.sleep(TURN)
    unanswered.put_nowait(None)


async def write(name: str, unanswered: Waiting, file: TextIO) -> None:
    """Write TIME NAME NUMBER STATE for each job; STATE: "OK", or the code of the refusal."""
    while (item := await unanswered.get()) is not None:
        number, receipt = item
        try:
            state: str = (await receipt).state
        except MeshError as error:
            state = error.code
        file.write(f"{time.monotonic():.6f} {name} {number} {state}\n")


async def main(node: str, queue: str, name: str, rate: str, answers: str) -> None:
    unanswered, stop = Waiting(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    with Path(answers).open("a", buffering=1) as file:  # noqa: ASYNC230  nothing else is waiting yet
        async with opened(node) as m, asyncio.TaskGroup() as tasks:
            events = tasks.create_task(tell_events(m))
            putting = tasks.create_task(put(m.queue(queue), name, int(rate), unanswered, stop))
            writing = tasks.create_task(write(name, unanswered, file))
            await putting
            async with asyncio.timeout(PATIENCE):
                await writing
            events.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
