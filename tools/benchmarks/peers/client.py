"""What do all clients in Python share? The schedule of who sends, the count of what came, both told as JSON.

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

DUE = struct.Struct("<d")  # when the first message was due (monotonic s), behind its number
HEAD = NUMBER + DUE.size
STALL = 10.0  # s without anything new, after which the rest counts as lost
QUIET = 0.2  # s in which whatever would come twice shows itself
LOOK = 0.01  # s
TURN = 100  # messages after which others of an event loop have theirs, even if all is late
Figures = dict[str, float]


class Sending:
    """The messages to send, and when each is due. They are made before the clock runs.

    The first of a schedule says when it was due; when the others were is known from their numbers.
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
        """Seconds until it is due; 0 or less: it is."""
        return self.began + number / self.load.rate - time.monotonic() if self.load.rate else 0.0

    def messages(self) -> Iterator[tuple[str, bytes]]:
        """Topics and contents of all, each not before it is due."""
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
        """Likewise all that are due; what was sent is written before this one sleeps."""
        end = 0
        while end < self.load.messages:
            time.sleep(max(0.0, self.wait(end)))  # noqa: ASYNC251  the loop's own clock is too coarse
            begin, end = end, min(self._due(), end + TURN)
            self._late += [-self.wait(number) for number in (begin, end - 1)]
            yield self._slice(begin, end)
            for _ in range(3):  # a task that writes is woken by one that is woken by what was sent
                await asyncio.sleep(0)

    def _due(self) -> int:
        """The number of messages that are due by now."""
        rate, passed = self.load.rate, time.monotonic() - self.began
        return min(self.load.messages, int(passed * rate) + 1) if rate else self.load.messages

    def told(self) -> Figures:
        """When it began and when all was taken from this client (s), what it cost this process (s).

        Where there is a schedule, how late messages were handed over, too (s, median).
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
        self._came: list[tuple[float, int]] = []  # when, and how many had come by then
        self._used = time.process_time()

    def ready(self) -> None:
        """From now on nothing is missed."""
        self.load.ready.touch()

    def take(self, content: bytes) -> None:
        self.last = time.monotonic()
        self.heads.append(content[:HEAD])
        if self.load.rate:
            self._came.append((self.last, len(self.heads)))
        elif not self.first:
            self.first = self.last

    def take_all(self, contents: Sequence[bytes]) -> None:
        """They came together."""
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
        # Each session is a publisher of its own, and between publishers there is no order.
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
        """The latencies; what is late in the sender is part of them: from when a message was due."""
        dues = [DUE.unpack_from(head, NUMBER)[0] for head in self.heads if not any(head[:NUMBER])]
        times: list[float] = []
        for at, end in self._came:
            times += [at] * (end - len(times))
        rate, began = self.load.rate, dues[0] if dues else math.nan
        taken = [at - began - number / rate for at, number in zip(times, numbers, strict=True)]
        return {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99), "max": max(taken)}


async def all_of(tally: Tally) -> None:
    """Until all are here and nothing comes twice, or nothing more comes (before the first there is time)."""
    seen, since = 0, time.monotonic()
    while not tally.is_full and time.monotonic() - since < (STALL if seen else 3 * STALL):
        if len(tally.heads) != seen:
            seen, since = len(tally.heads), time.monotonic()
        await asyncio.sleep(LOOK)
    await asyncio.sleep(QUIET)


def run(send: Callable[[str, Load], Any], receive: Callable[[str, Load], Any]) -> None:
    """Run a client that was started as a program."""
    role, address, packed = sys.argv[1:]
    found = (send if role == "send" else receive)(address, Load.unpacked(packed))
    print(json.dumps(asyncio.run(found) if asyncio.iscoroutine(found) else found))


def host_and_port(address: str) -> tuple[str, int]:
    """Of HOST:PORT."""
    host, _, port = address.partition(":")
    return host, int(port)
