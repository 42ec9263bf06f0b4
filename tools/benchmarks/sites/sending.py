"""Shared code of the clients between sites: the messages, and the figures as JSON.

python -m tools.benchmarks.sites.CLIENT take|send ADDRESS SENDING
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tools.benchmarks.loads.figures import counted

NUMBER = 8  # bytes of the number that begins each message
QUIET = 30.0  # s without news until messages are lost

Figures = dict[str, float]
Send = Callable[[bytes], Awaitable[object]]  # returns with the answer


@dataclass(frozen=True, slots=True)
class Sending:
    """The messages of one run, which `window` concurrent tasks send."""

    name: str
    messages: int
    size: int = 1024
    window: int = 1000
    persistent: bool = False  # ours only: stored on disk at both sites

    @property
    def ready(self) -> Path:
        """The file that exists once the receiver is ready."""
        return Path(f"{self.name.replace('/', '-')}.ready")

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> "Sending":
        return cls(**json.loads(text))


Taking = Callable[[str, Sending], AbstractAsyncContextManager[AsyncIterator[bytes]]]
Opening = Callable[[str, Sending], AbstractAsyncContextManager[Send]]


async def _take(taking: Taking, address: str, sending: Sending) -> Figures:
    """Receive until all messages have arrived, or none arrives for QUIET seconds."""
    numbers: list[int] = []
    last = 0.0
    async with taking(address, sending) as contents:
        sending.ready.touch()
        while len(numbers) < sending.messages:
            try:
                content = await asyncio.wait_for(anext(contents), QUIET)
            except TimeoutError:
                break
            numbers.append(int.from_bytes(content[:NUMBER], "little"))
            last = time.monotonic()
    return {"last": last, "cpu": time.process_time(), **asdict(counted(sending.messages, [numbers]))}


async def _send(opening: Opening, address: str, sending: Sending) -> Figures:
    """Send all messages by `window` tasks, each of which awaits `send` for one message after the other."""
    async with opening(address, sending) as send:
        numbers = iter(range(sending.messages))

        async def one_by_one() -> None:
            for number in numbers:
                await send(number.to_bytes(NUMBER, "little").ljust(sending.size, b"."))

        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(sending.window):
                tasks.create_task(one_by_one())
        answered = time.monotonic()
    return {"began": began, "answered": answered, "cpu": time.process_time()}


def run(taking: Taking, opening: Opening, window: int = 0) -> None:
    """Take or send, as the arguments of the program say, and print the figures as JSON.

    `window` replaces the given one, unless it is 0.
    """
    role, address, packed = sys.argv[1:]
    sending = Sending.unpacked(packed)
    sending = replace(sending, window=window or sending.window)
    made = _take(taking, address, sending) if role == "take" else _send(opening, address, sending)
    print(json.dumps(asyncio.run(made)))
