"""What was a publisher promised while nodes died? Publishes numbers, persistent, and writes each answer down.

python -m tools.benchmarks.kill_publisher NODE TOPIC NAME RATE ANSWERS

RATE messages a second, until SIGTERM; then it waits for the answers that are still out.
"""

import asyncio
import signal
import sys
import time
from pathlib import Path

import mesh
from mesh.errors import PublishRefused, WouldBlock
from tools.benchmarks.told import tell_events

TURN = 0.02  # s between bursts
SIZE = 100  # bytes of a message
PATIENCE = 60.0  # s for the last answers

Unanswered = asyncio.Queue[tuple[int, float, mesh.Receipt] | None]


async def publish(m: mesh.Client, topic: str, name: str, rate: int, unanswered: Unanswered) -> None:
    """Without waiting for answers; when the window is full, for room."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    start, number = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - start) * rate)
        while number < due and not stop.is_set():
            posted = time.monotonic()
            content = f"{name} {number + 1} {posted:.6f} ".encode().ljust(SIZE, b".")
            try:
                receipt = m.post(topic, content, persistent=True)
            except WouldBlock:
                await asyncio.sleep(TURN)
                continue
            number += 1
            unanswered.put_nowait((number, posted, receipt))
        await asyncio.sleep(TURN)
    unanswered.put_nowait(None)


async def answer(receipt: mesh.Receipt) -> str:
    """ "OK", or the code of the refusal."""
    try:
        return (await receipt).state
    except PublishRefused as error:
        return error.code


async def write_down(unanswered: Unanswered, path: Path) -> None:
    """NUMBER POSTED STATE, a line an answer."""
    with path.open("x", buffering=1) as file:
        while (item := await unanswered.get()) is not None:
            number, posted, receipt = item
            file.write(f"{number} {posted:.6f} {await answer(receipt)}\n")


async def main(node: str, topic: str, name: str, rate: str, answers: str) -> None:
    unanswered: Unanswered = asyncio.Queue()
    async with mesh.connect(node, timeout=PATIENCE) as m, asyncio.TaskGroup() as tasks:
        events = tasks.create_task(tell_events(m))
        publishing = tasks.create_task(publish(m, topic, name, int(rate), unanswered))
        writing = tasks.create_task(write_down(unanswered, Path(answers)))
        await publishing
        async with asyncio.timeout(PATIENCE):
            await writing
        events.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
