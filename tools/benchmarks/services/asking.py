"""Shared code of the Python clients and servers: the requests, and the figures as JSON.

python -m tools.benchmarks.services.CLIENT serve|ask ADDRESS ASKING
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.benchmarks.loads.figures import percentile

Figures = dict[str, float]
Call = Callable[[bytes], Awaitable[bytes]]
NUMBER = 8  # bytes of the number that begins each request
PATIENCE = 30.0  # s timeout of each request
TURN = 0.05  # s


@dataclass(frozen=True, slots=True)
class Asking:
    """The requests of one run: `parallel` at a time, or `rate` per second on a schedule."""

    name: str  # of the address, and of the ready files
    requests: int
    parallel: int = 1
    rate: int = 0
    size: int = 100  # bytes of each
    server: int = 0  # number of this server,
    work: float = 0.0  # and s of work per request; 0: none

    @property
    def ready(self) -> Path:
        """The file that exists once the server is ready."""
        return Path(f"{self.name.replace('/', '-')}-{self.server}.ready")

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> "Asking":
        return cls(**json.loads(text))


class Echo:
    """The service of one server: it replies with the request, and does `work` for one request at a time."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self.served = 0
        self._alone = asyncio.Lock()

    async def reply(self, content: bytes) -> bytes:
        self.served += 1
        if self.asking.work:
            async with self._alone:
                await asyncio.sleep(self.asking.work)
        return content


class Run:
    """Sends the requests of one run, and counts missing and wrong replies."""

    def __init__(self, asking: Asking, call: Call) -> None:
        self._asking, self._call = asking, call
        self._next = 0
        self._failed = self._wrong = 0
        self._taken: list[float] = []
        self._late: list[float] = []

    async def figures(self) -> Figures:
        await self._until_served()
        used, began = time.process_time(), time.monotonic()
        await (self._on_schedule() if self._asking.rate else self._at_a_time())
        spent, cpu = time.monotonic() - began, time.process_time() - used
        taken = self._taken or [0.0]
        return {
            "rate": len(self._taken) / spent,
            "p50": percentile(taken, 0.5),
            "p99": percentile(taken, 0.99),
            "late": percentile(self._late, 0.5) if self._late else 0.0,
            "failed": self._failed,
            "wrong": self._wrong,
            "cpu": cpu,
        }

    async def _until_served(self) -> None:
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                await self._call(b"first")
                return
            except Exception:
                if time.monotonic() > limit:
                    raise
                await asyncio.sleep(TURN)

    async def _at_a_time(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._asking.parallel):
                tasks.create_task(self._one_by_one())

    async def _one_by_one(self) -> None:
        while self._next < self._asking.requests:
            number, self._next = self._next, self._next + 1
            await self._ask(number, time.monotonic())

    async def _on_schedule(self) -> None:
        """Send on a schedule; the latencies include delays of the sender."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._asking.requests):
                due = began + number / self._asking.rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                self._late.append(time.monotonic() - due)
                tasks.create_task(self._ask(number, due))

    async def _ask(self, number: int, since: float) -> None:
        content = number.to_bytes(NUMBER, "little").ljust(self._asking.size, b".")
        try:
            reply = await self._call(content)
        except Exception as error:
            if not self._failed:
                print(f"request {number}: {error!r}", file=sys.stderr)
            self._failed += 1
            return
        self._taken.append(time.monotonic() - since)
        self._wrong += reply != content


Serving = Callable[[str, Echo], AbstractAsyncContextManager[object]]
Opening = Callable[[str, Asking], AbstractAsyncContextManager[Call]]


async def _serve(serving: Serving, address: str, asking: Asking) -> Figures:
    """Serve until SIGTERM, and return the number of requests and the CPU time (s)."""
    over, echo = asyncio.Event(), Echo(asking)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with serving(address, echo):
        asking.ready.touch()
        await over.wait()
    return {"served": echo.served, "cpu": time.process_time()}


async def _ask(opening: Opening, address: str, asking: Asking) -> Figures:
    async with opening(address, asking) as call:
        return await Run(asking, call).figures()


def run(serving: Serving, opening: Opening) -> None:
    """Serve or ask, as the arguments of the program say, and print the figures as JSON."""
    role, address, packed = sys.argv[1:]
    asking = Asking.unpacked(packed)
    made = _serve(serving, address, asking) if role == "serve" else _ask(opening, address, asking)
    print(json.dumps(asyncio.run(made)))
