"""What has a publisher been promised? Publishes lines, persistent, and writes down each that was answered.

python -m tools.demo_parts.publisher NODE KEY TEXT LINES ANSWERED [RATE]

The first LINES lines of TEXT, once. With a RATE (lines a second): numbered, again and again, until
SIGTERM; then it waits for the answers that are still out.
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from itertools import count, cycle
from pathlib import Path

import mesh
from mesh.errors import WouldBlock
from tools.demo_parts.compare import lines

UNANSWERED = 20_000  # messages that may wait for their answer
TURN = 0.02  # s between bursts of a paced publisher

Unanswered = asyncio.Queue[tuple[bytes, mesh.Receipt] | None]


async def once(text: list[bytes]) -> AsyncIterator[bytes]:
    """Every line, as fast as they are taken."""
    for line in text:
        yield line


async def paced(text: list[bytes], rate: int, stop: asyncio.Event) -> AsyncIterator[bytes]:
    """Numbered lines, so that no two are alike, `rate` of them a second."""
    start, numbers, endless = time.monotonic(), count(1), cycle(text)
    due = 0
    while not stop.is_set():
        earlier, due = due, int((time.monotonic() - start) * rate)
        for _ in range(due - earlier):
            yield b"%d %s" % (next(numbers), next(endless))
        await asyncio.sleep(TURN)


async def publish(m: mesh.Client, key: str, source: AsyncIterator[bytes], unanswered: Unanswered) -> None:
    """Post line after line, without waiting for the answers."""
    async for line in source:
        while True:
            try:
                receipt = m.post(key, line, persistent=True)
                break
            except WouldBlock:
                await m.flush()
        await unanswered.put((line, receipt))
    await unanswered.put(None)


async def write_down(unanswered: Unanswered, path: Path) -> None:
    """What was answered, in order."""
    with path.open("xb", buffering=0) as file:
        while (item := await unanswered.get()) is not None:
            line, receipt = item
            await receipt
            file.write(line + b"\n")


async def main(node: str, key: str, text: str, most: str, answered: str, rate: str = "") -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    found = list(lines(Path(text), int(most)))
    source = paced(found, int(rate), stop) if rate else once(found)
    unanswered: Unanswered = asyncio.Queue(UNANSWERED)
    async with mesh.connect(node) as m, asyncio.TaskGroup() as tasks:
        tasks.create_task(publish(m, key, source, unanswered))
        tasks.create_task(write_down(unanswered, Path(answered)))


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except* mesh.MeshError as errors:
        sys.exit(f"publisher at {sys.argv[1]}: {errors.exceptions[0]}")
