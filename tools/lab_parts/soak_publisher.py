"""A publisher of persistent numbers at a steady rate in a long run, with a record of the answers.

python -m tools.lab_parts.soak_publisher NODE TOPIC NUMBER RATE LEDGER

NUMBER, 0 to 255, identifies the publisher. On SIGTERM it waits for the missing answers, at most 120 s; then
the record says "done".
"""

import asyncio
import signal
import sys
import time
from collections import deque
from pathlib import Path

import mesh
from mesh.client.receipt import Receipt
from mesh.errors import PublishRefused, WouldBlock
from mesh.streams.ranges import Ranges
from tools.lab_parts import ledger
from tools.running.told import tell_events

SIZE = 100  # bytes of a message
TURN = 0.02  # s between bursts
WRITTEN = 1.0  # s between two writes of the record
PATIENCE = 120.0  # s for the last answers
MOST = 100_000  # unanswered messages


class Book:
    """The numbers of the accepted and of the refused messages."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answered, self._refused = Ranges(), Ranges()
        self.posted = 0
        self.waiting: deque[tuple[int, Receipt]] = deque()

    async def listen(self) -> None:
        """Await the answers in the order of the messages."""
        while True:
            while self.waiting:
                number, receipt = self.waiting[0]
                await self._note(number, receipt)
                self.waiting.popleft()
            await asyncio.sleep(TURN)

    async def _note(self, number: int, receipt: Receipt) -> None:
        try:
            await receipt
            self._answered.add(number, number)
        except PublishRefused:
            self._refused.add(number, number)

    async def keep(self) -> None:
        while True:
            self.write()
            await asyncio.sleep(WRITTEN)

    def write(self, *, done: bool = False) -> None:
        answered, refused = ledger.pairs(self._answered), ledger.pairs(self._refused)
        ledger.write(
            self._path, {"posted": self.posted, "answered": answered, "refused": refused, "done": done}
        )


async def post(m: mesh.Client, topic: str, who: int, rate: int, book: Book) -> None:
    """Post until SIGTERM without waiting for answers; skip messages that cannot be posted in time."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    begin, padding = bytes((who,)), b"." * (SIZE - 9)
    begun, skipped = time.monotonic(), 0
    while not stop.is_set():
        # Messages that could not be posted in time are left out, so that there is no burst after a fault.
        due = int((time.monotonic() - begun) * rate) - skipped
        while book.posted < due and len(book.waiting) < MOST:
            try:
                content = begin + (book.posted + 1).to_bytes(8) + padding
                receipt = m.post(topic, content, persistent=True)
            except WouldBlock:
                break
            book.posted += 1
            book.waiting.append((book.posted, receipt))
        skipped += max(0, due - book.posted)
        await asyncio.sleep(TURN)


async def main(node: str, topic: str, who: str, rate: str, path: str) -> None:
    book = Book(Path(path))
    async with mesh.connect(node, timeout=PATIENCE) as m, asyncio.TaskGroup() as tasks:
        beside = [tasks.create_task(work) for work in (book.listen(), book.keep(), tell_events(m))]
        await post(m, topic, int(who), int(rate), book)
        async with asyncio.timeout(PATIENCE):
            while book.waiting:  # noqa: ASYNC110  it is emptied at its own pace
                await asyncio.sleep(TURN)
        for task in beside:
            task.cancel()
    book.write(done=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
