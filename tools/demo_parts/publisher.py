"""What has a publisher been promised? Publishes lines, persistent, and writes down what was answered.

python -m tools.demo_parts.publisher NODE KEY TEXT LINES BASE [RATE]

The first LINES lines of TEXT, once; some of them go as letters, too. With a RATE (lines a second): numbered,
again and again, until SIGTERM. It ends when every message has its last word. It writes, a line a message,
    BASE-answered   lines that were answered: OK or FORWARD_WARNING, both are a promise
    BASE-warned     of lines and letters that were answered FORWARD_WARNING: what they wait for
    BASE-final      of those, the state that the master gave them in the end
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from io import RawIOBase
from itertools import count, cycle
from pathlib import Path

import mesh
from mesh.errors import WouldBlock
from tools.demo_parts.compare import lines
from tools.demo_parts.journey import DOMAIN, EVERY, LETTER_TO

UNANSWERED = 20_000  # messages that may wait for their answer
TURN = 0.02  # s between bursts of a paced publisher


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


class Writer:
    """One session that publishes, sends, and listens to what becomes of it."""

    def __init__(self, m: mesh.Client, answered: RawIOBase, warned: RawIOBase, final: RawIOBase) -> None:
        self._m = m
        self._answered, self._warned, self._final = answered, warned, final
        self._unanswered = asyncio.Queue[tuple[bytes, mesh.Receipt] | None](UNANSWERED)
        self._letters = asyncio.Queue[bytes | None]()
        self._waiting = asyncio.Queue[mesh.Published | None]()

    async def run(self, key: str, source: AsyncIterator[bytes]) -> None:
        """Until the source ends, and all has its last word."""
        async with asyncio.TaskGroup() as last_words:
            last_words.create_task(self._await_last_words())
            async with asyncio.TaskGroup() as first_words:
                first_words.create_task(self._publish(key, source))
                first_words.create_task(self._await_answers())
                first_words.create_task(self._send_letters())
            await self._waiting.put(None)

    async def _publish(self, key: str, source: AsyncIterator[bytes]) -> None:
        """Post line after line, without waiting for the answers."""
        number = 0
        async for line in source:
            while True:
                try:
                    receipt = self._m.post(key, line, domain=DOMAIN, persistent=True)
                    break
                except WouldBlock:
                    await self._m.room()
            await self._unanswered.put((line, receipt))
            if number % EVERY == 0:
                await self._letters.put(line)
            number += 1
        await self._unanswered.put(None)
        await self._letters.put(None)

    async def _await_answers(self) -> None:
        """Write down what was answered, in order."""
        while (item := await self._unanswered.get()) is not None:
            line, receipt = item
            await self._hear(await receipt)
            self._answered.write(line + b"\n")

    async def _send_letters(self) -> None:
        """One after another. They shall wait while the way to the reader is cut."""
        while (line := await self._letters.get()) is not None:
            await self._hear(await self._m.send(LETTER_TO, line, force_queuing=True, persistent=True))

    async def _hear(self, published: mesh.Published) -> None:
        if published.state == "FORWARD_WARNING":
            self._warned.write(published.note.encode() + b"\n")
            await self._waiting.put(published)

    async def _await_last_words(self) -> None:
        """Write down what the master says of messages that had to wait. A refusal ends the program."""
        while (published := await self._waiting.get()) is not None:
            final = await self._m.final(published)
            self._final.write(final.state.encode() + b"\n")


async def main(node: str, key: str, text: str, most: str, base: str, rate: str = "") -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    found = list(lines(Path(text), int(most)))
    source = paced(found, int(rate), stop) if rate else once(found)
    one, two, three = (Path(f"{base}-{what}") for what in ("answered", "warned", "final"))
    with (
        one.open("xb", buffering=0) as answered,
        two.open("xb", buffering=0) as warned,
        three.open("xb", buffering=0) as final,
    ):
        async with mesh.connect(node) as m:
            await Writer(m, answered, warned, final).run(key, source)


def first_of(error: BaseException) -> BaseException:
    """The first that went wrong, in groups of groups."""
    return first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except* mesh.MeshError as errors:
        sys.exit(f"publisher at {sys.argv[1]}: {first_of(errors)}")
