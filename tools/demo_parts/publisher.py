"""Publishes persistent lines, and records the answers.

python -m tools.demo_parts.publisher NODE KEY TEXT LINES BASE [RATE]

Publishes the first LINES lines of TEXT once; every 50th is also sent as a direct message. With a RATE (lines
per second), numbered lines are published again and again until SIGTERM. The program ends when each message
has a final answer. Its files have a line for each message:

BASE-answered: lines that were answered OK or FORWARD_WARNING, which both are a promise;
BASE-warned: the notes of messages that were answered FORWARD_WARNING;
BASE-final: the final states of the same messages.
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

UNANSWERED = 20_000  # messages that may be unanswered
TURN = 0.02  # s between bursts of a paced publisher


async def once(text: list[bytes]) -> AsyncIterator[bytes]:
    for line in text:
        yield line


async def paced(text: list[bytes], rate: int, stop: asyncio.Event) -> AsyncIterator[bytes]:
    """Yield unique numbered lines, `rate` of them per second."""
    start, numbers, endless = time.monotonic(), count(1), cycle(text)
    due = 0
    while not stop.is_set():
        earlier, due = due, int((time.monotonic() - start) * rate)
        for _ in range(due - earlier):
            yield b"%d %s" % (next(numbers), next(endless))
        await asyncio.sleep(TURN)


class Writer:
    """A session that publishes, sends, and records the answers."""

    def __init__(self, m: mesh.Client, answered: RawIOBase, warned: RawIOBase, final: RawIOBase) -> None:
        self._m = m
        self._answered, self._warned, self._final = answered, warned, final
        self._unanswered = asyncio.Queue[tuple[bytes, mesh.Receipt] | None](UNANSWERED)
        self._letters = asyncio.Queue[bytes | None]()
        self._waiting = asyncio.Queue[mesh.Published | None]()

    async def run(self, key: str, source: AsyncIterator[bytes]) -> None:
        """Publish until the source ends and everything has a final answer."""
        async with asyncio.TaskGroup() as last_words:
            last_words.create_task(self._await_last_words())
            async with asyncio.TaskGroup() as first_words:
                first_words.create_task(self._publish(key, source))
                first_words.create_task(self._await_answers())
                first_words.create_task(self._send_letters())
            await self._waiting.put(None)

    async def _publish(self, key: str, source: AsyncIterator[bytes]) -> None:
        """Post line after line without waiting for the answers, and queue every 50th for `_send_letters`."""
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
        """Record the answers, in order."""
        while (item := await self._unanswered.get()) is not None:
            line, receipt = item
            await self._hear(await receipt)
            self._answered.write(line + b"\n")

    async def _send_letters(self) -> None:
        """Send direct messages one after another; they wait while the reader is unreachable."""
        while (line := await self._letters.get()) is not None:
            await self._hear(await self._m.send(LETTER_TO, line, force_queuing=True, persistent=True))

    async def _hear(self, published: mesh.Published) -> None:
        if published.state == "FORWARD_WARNING":
            self._warned.write(published.note.encode() + b"\n")
            await self._waiting.put(published)

    async def _await_last_words(self) -> None:
        """Record the final answers of messages that were answered FORWARD_WARNING.

        A refusal ends the program.
        """
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
    return first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except* mesh.MeshError as errors:
        sys.exit(f"publisher at {sys.argv[1]}: {first_of(errors)}")
