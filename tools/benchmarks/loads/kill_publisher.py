"""Publishes persistent numbered messages while nodes die, and writes each answer to a file.

python -m tools.benchmarks.loads.kill_publisher NODE TOPIC DOMAIN NAME RATE ANSWERS

Publishes RATE messages per second until SIGTERM, or fewer if answers are late. Then it waits for the missing
answers, at most 60 s. DOMAIN may be "".
"""

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TextIO

import mesh
from mesh.errors import PublishRefused, WouldBlock
from tools.running.told import tell_events

TURN = 0.02  # s between bursts
SIZE = 100  # bytes of a message
PATIENCE = 60.0  # s for the last answers

Posted = tuple[int, float, mesh.Receipt]  # number, time (s), and receipt
Queue = asyncio.Queue[Posted | None]  # None: no more


async def publish(m: mesh.Client, topic: str, domain: str, name: str, rate: int, unanswered: Queue) -> None:
    """Publish until SIGTERM without waiting for answers, then put None into `unanswered`.

    When the window is full, wait for TURN seconds before the next attempt.
    """
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    start, number = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - start) * rate)
        while number < due and not stop.is_set():
            posted = time.monotonic()
            content = f"{name} {number + 1} {posted:.6f} ".encode().ljust(SIZE, b".")
            try:
                receipt = m.post(topic, content, domain=domain or None, persistent=True)
            except WouldBlock:
                await asyncio.sleep(TURN)
                continue
            number += 1
            unanswered.put_nowait((number, posted, receipt))
        await asyncio.sleep(TURN)
    unanswered.put_nowait(None)


async def answer(result: Awaitable[mesh.Published]) -> str:
    """Return the state of the result, such as "OK" or "FORWARD_WARNING", or the code of the refusal."""
    try:
        return (await result).state
    except PublishRefused as error:
        return error.code


async def write_first(unanswered: Queue, warned: Queue, file: TextIO) -> None:
    """Write NUMBER POSTED STATE for each message.

    Messages with a warning are put into `warned`, and None after the last one.
    """
    while (item := await unanswered.get()) is not None:
        number, posted, receipt = item
        state = await answer(receipt)
        file.write(f"{number} {posted:.6f} {state}\n")
        if state == "FORWARD_WARNING":
            warned.put_nowait(item)
    warned.put_nowait(None)


async def write_last(m: mesh.Client, warned: Queue, file: TextIO) -> None:
    """Write a second line, with the final answer, for each message in `warned`."""
    while (item := await warned.get()) is not None:
        number, posted, receipt = item
        file.write(f"{number} {posted:.6f} {await answer(m.final(receipt))}\n")


async def main(node: str, topic: str, domain: str, name: str, rate: str, answers: str) -> None:
    unanswered, warned = Queue(), Queue()
    with Path(answers).open("x", buffering=1) as file:  # noqa: ASYNC230  nothing else is waiting yet
        async with mesh.connect(node, timeout=PATIENCE) as m, asyncio.TaskGroup() as tasks:
            events = tasks.create_task(tell_events(m))
            publishing = tasks.create_task(publish(m, topic, domain, name, int(rate), unanswered))
            first = tasks.create_task(write_first(unanswered, warned, file))
            last = tasks.create_task(write_last(m, warned, file))
            await publishing
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(first, last)
            events.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
