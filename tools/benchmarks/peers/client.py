"""Shared code of the Python clients: the sender's schedule, the receiver's count, both printed as JSON.

python -m tools.benchmarks.peers.CLIENT send|receive ADDRESS LOAD
"""

import asyncio
import json
import math
import struct
import sys
import time
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from itertools import cycle, islice
from typing import Any

from tools.benchmarks.loads.figures import counted, percentile
from tools.benchmarks.loads.load import NUMBER, Load

DUE = struct.Struct("<d")  # due time (monotonic s) of the first message
HEAD = NUMBER + DUE.size
STALL = 10.0  # s without news until messages are lost
QUIET = 0.2  # s in which duplicates would arrive
LOOK = 0.01  # s
TURN = 100  # messages until other tasks get a turn
Figures = dict[str, float]


class Sending:
    """The messages to send, and when each is due.

    All messages are made before the measurement. The first one of a schedule has its due time, and the due
    times of the others follow from their numbers.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        self._late: list[float] = []
        self._made = [self._content(number) for number in range(load.messages)]
        self._used = time.process_time()
        self.began = time.monotonic() + (0.1 if load.rate else 0.0)
        if load.rate:
            self._made[0] = self._content(0, DUE.pack(self.began))

    def _content(self, number: int, due: bytes = b"") -> bytes:
        return (number.to_bytes(NUMBER, "little") + due).ljust(self.load.size, b".")

    def wait(self, number: int) -> float:
        """Return the seconds until a message is due; 0 or less if it is due, and without a schedule."""
        return self.began + number / self.load.rate - time.monotonic() if self.load.rate else 0.0

    def messages(self) -> Iterator[tuple[str, bytes]]:
        """Yield topic and content of each message, not before it is due."""
        if not self.load.rate:
            yield from self._slice(0, self.load.messages)
            return
        for number, message in enumerate(self._slice(0, self.load.messages)):
            if (wait := self.wait(number)) > 0:
                time.sleep(wait)
            self._late.append(-self.wait(number))
            yield message

    def _slice(self, begin: int, end: int) -> Iterator[tuple[str, bytes]]:
        keys = islice(cycle(self.load.keys), begin % self.load.topics, None)
        return zip(keys, self._made[begin:end], strict=False)

    async def in_turns(self) -> AsyncGenerator[Iterator[tuple[str, bytes]], None]:
        """Yield the due messages in groups of at most TURN, and let the loop write each group."""
        end = 0
        while end < self.load.messages:
            time.sleep(max(0.0, self.wait(end)))  # noqa: ASYNC251  the loop's own clock is too coarse
            begin, end = end, min(self._due(), end + TURN)
            self._late += [-self.wait(number) for number in (begin, end - 1)]
            yield self._slice(begin, end)
            for _ in range(3):  # the writing task needs several wakeups
                await asyncio.sleep(0)

    def _due(self) -> int:
        rate, passed = self.load.rate, time.monotonic() - self.began
        return min(self.load.messages, int(passed * rate) + 1) if rate else self.load.messages

    def told(self) -> Figures:
        """Return start and end of sending (monotonic s), and the CPU time of sending (s).

        The figure `late` is the median delay of messages on a schedule (s), or 0 without a schedule.
        """
        answered, cpu = time.monotonic(), time.process_time() - self._used
        late = percentile(self._late, 0.5) if self._late else 0.0
        return {"began": self.began, "answered": answered, "cpu": cpu, "late": late}


class Tally:
    """The messages that have arrived, and when."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.first = self.last = 0.0
        self.heads: list[bytes] = []
        self._came: list[tuple[float, int]] = []  # time, and number of messages by then
        self._used = time.process_time()

    def ready(self) -> None:
        self.load.ready.touch()

    def take(self, content: bytes) -> None:
        self.last = time.monotonic()
        self.heads.append(content[:HEAD])
        if self.load.rate:
            self._came.append((self.last, len(self.heads)))
        elif not self.first:
            self.first = self.last

    def take_all(self, contents: Sequence[bytes]) -> None:
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.heads += [content[:HEAD] for content in contents]
        self._came.append((self.last, len(self.heads)))

    @property
    def is_full(self) -> bool:
        return len(self.heads) >= self.load.messages

    def told(self) -> Figures:
        cpu = time.process_time() - self._used
        numbers = array("Q", b"".join([head[:NUMBER] for head in self.heads]))
        # Each session is a publisher of its own, and there is no order between publishers.
        orders = self.load.messages if self.load.at_a_time else self.load.topics
        by_order = [array("Q") for _ in range(orders)]
        for number in numbers:
            by_order[number % len(by_order)].append(number)
        count = counted(self.load.messages, by_order)
        found = {
            "first": self.first,
            "last": self.last,
            "cpu": cpu,
            "lost": count.lost,
            "doubled": count.doubled,
            "disordered": count.disordered,
        }
        return found | (self._under_way(numbers) if self.load.rate and numbers else {})

    def _under_way(self, numbers: Sequence[int]) -> Figures:
        """Return percentiles of the latencies (s) from the due times; delays of the sender are included."""
        dues = [DUE.unpack_from(head, NUMBER)[0] for head in self.heads if not any(head[:NUMBER])]
        times: list[float] = []
        for at, end in self._came:
            times += [at] * (end - len(times))
        rate, began = self.load.rate, dues[0] if dues else math.nan
        taken = [at - began - number / rate for at, number in zip(times, numbers, strict=True)]
        return {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99), "max": max(taken)}


async def all_of(tally: Tally) -> None:
    """Wait until all messages and possible duplicates have arrived, or none arrives for STALL seconds.

    The limit for the first message is 3 * STALL.
    """
    seen, since = 0, time.monotonic()
    while not tally.is_full and time.monotonic() - since < (STALL if seen else 3 * STALL):
        if len(tally.heads) != seen:
            seen, since = len(tally.heads), time.monotonic()
        await asyncio.sleep(LOOK)
    await asyncio.sleep(QUIET)


def run(send: Callable[[str, Load], Any], receive: Callable[[str, Load], Any]) -> None:
    """Send or receive, as the arguments of the program say, and print the figures as JSON."""
    role, address, packed = sys.argv[1:]
    found = (send if role == "send" else receive)(address, Load.unpacked(packed))
    print(json.dumps(asyncio.run(found) if asyncio.iscoroutine(found) else found))


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.partition(":")
    return host, int(port)
