"""A client that requests services while programs are killed, and records each outcome.

python -m tools.running.service_asker NODE ADDRESS LIFE RATE RECORDS SEED

Sends RATE requests per second until SIGTERM, unless 500 are open, then waits for the open ones. Each process
has a name LIFE of its own. See service_records for the format of its lines.
"""

import asyncio
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import mesh
from mesh.errors import MeshError
from tools.running.queue_opening import opened
from tools.running.service_records import ALL, NOBODY, ONE, RETRIED, TOLD, Task
from tools.running.told import tell_events

TURN = 0.02  # s between bursts
KINDS = {ONE: 12, RETRIED: 3, TOLD: 3, ALL: 2}  # relative frequencies
FATES = {"reply": 16, "fail": 2, "drop": 1}
STRAY = 0.03  # share of requests to an unserved address
LIMITS = (0.5, 2.0, 5.0)  # s timeouts
WORK, SLOW, IS_SLOW = 0.05, 3.0, 0.02  # most s of work; slow work; its share
MOST = 500  # open at once

Open = set["asyncio.Task[None]"]


class Asker:
    """A requester, and its records."""

    def __init__(self, m: mesh.Client, address: str, life: str, file: TextIO, seed: int) -> None:
        self._m, self._address, self._life, self._file = m, address, life, file
        self._chance = random.Random(seed)
        self._number = 0

    def write(self, what: str, number: int, *words: object) -> None:
        line = " ".join(map(str, (what, self._life, number, *words)))
        self._file.write(f"{time.monotonic():.6f} {line}\n")

    async def ask(self) -> None:
        """Send a random request, wait for its outcome, and record both."""
        chance, self._number = self._chance, self._number + 1
        number = self._number
        (kind,) = chance.choices(list(KINDS), list(KINDS.values()))
        (fate,) = chance.choices(list(FATES), list(FATES.values()))
        to = NOBODY if chance.random() < STRAY else self._address
        seconds = chance.uniform(0.0, SLOW if chance.random() < IS_SLOW else WORK)
        limit = chance.choice(LIMITS)
        content = Task((self._life, number), fate, seconds).written()
        self.write("asked", number, kind, to, fate, f"{seconds:.3f}", limit)
        try:
            await self._asked(kind, to, content, limit, number)
        except MeshError as error:
            self.write("ended", number, error.code)
        else:
            self.write("ended", number, "OK")

    async def _asked(self, kind: str, to: str, content: bytes, limit: float, number: int) -> None:
        m = self._m
        if kind == TOLD:
            await m.send(to, content, expiry=limit)
        elif kind == ALL:
            async with m.gather(to, content, timeout=limit) as answers:
                async for answer in answers:
                    if answer.error is None:
                        self._got(number, answer)
        else:
            self._got(number, await m.request(to, content, timeout=limit, retry_lost=kind == RETRIED))

    def _got(self, number: int, reply: mesh.Message[Any]) -> None:
        server, life, its = reply.content.decode().split()
        self.write("got", number, server, life, its)


async def ask_all(asker: Asker, rate: int, stop: asyncio.Event) -> None:
    """Send requests at a steady rate until `stop`, and return when all have ended.

    A request that is due while MOST are open is skipped.
    """
    start, count = time.monotonic(), 0
    unfinished: Open = set()
    while not stop.is_set():
        due = int((time.monotonic() - start) * rate)
        while count < due:
            count += 1
            if len(unfinished) < MOST:
                task = asyncio.create_task(asker.ask())
                unfinished.add(task)
                task.add_done_callback(unfinished.discard)
        await asyncio.sleep(TURN)
    await asyncio.gather(*unfinished)


async def main(node: str, address: str, life: str, rate: str, records: str, seed: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    with Path(records).open("a", buffering=1) as file:  # noqa: ASYNC230  nothing else is waiting yet
        async with opened(node) as m:
            telling = asyncio.create_task(tell_events(m))
            await ask_all(Asker(m, address, life, file, int(seed)), int(rate), stop)
            telling.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
