"""Somebody who takes from a queue: how much may he have, and which messages?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf
from typing import Protocol

from mesh.errors import RemoteError
from mesh.queues.lots.counts import numbers_of
from mesh.queues.lots.line import FIRST
from mesh.queues.lots.lot import Lot, LotKey
from mesh.queues.takers.holding import Holding, Run
from mesh.values import Headers

LAPSED = 1_000  # messages that a taker had too long, and may still settle


class TakerSelector(Protocol):
    """A selector, as it is asked."""

    text: str

    def wants(self, key: str, priority: int, headers: Headers) -> bool: ...


class QueueTaker:
    """A consumer, by the key of its subscription; it outlives a short absence of its session."""

    def __init__(
        self,
        key: bytes,
        name: str,
        epoch: int,
        credit: int,
        selector: TakerSelector | None = None,
        lease: float = inf,
    ) -> None:
        """`name`: that of its session. `lease`: s."""
        self.key = key
        self.name = name
        self.epoch = epoch
        self.credit = credit
        self.selector = selector
        self.lease = lease
        self.holding = Holding()
        self.lapsed: dict[int, tuple[Lot, int]] = {}  # by count: what it had too long
        self.settled: set[int] = set()  # counts of what was acked before this epoch
        self.acked: deque[tuple[bytes, int, int]] = deque(maxlen=LAPSED)  # stream, first and last, of late
        self.away = inf  # since when its session is gone
        self.is_paused = False  # until it is on disk that he takes
        self.passed: dict[int, LotKey] = {}  # by priority: nothing up to here is for it
        self.seen: dict[int, int] = {}  # by priority: how far he has looked on the disk
        self.vain = 0  # messages at which he has looked since he has found the last one,
        self.rests = 0.0  # until when he looks at no more,
        self.is_through = False  # and has he looked at all that is in memory?
        self.turn = 0  # when it was given something last

    @property
    def room(self) -> int:
        """How many more it may be given now."""
        return 0 if self.is_paused or self.away < inf else max(0, self.credit - self.busy)

    @property
    def busy(self) -> int:
        """How many messages he has now."""
        return self.holding.out

    def place(self, priority: int) -> LotKey:
        """Behind this it may find something."""
        return self.passed.get(priority, FIRST)

    def place_on_disk(self, priority: int) -> int:
        """Behind this position he may find something."""
        return self.seen.get(priority, 0)

    def look_again(self, priority: int, key: LotKey) -> None:
        """There is something at this place that was not there before."""
        if key <= self.place(priority):
            self.passed[priority] = (key[0], key[1], key[2] - 1)

    def lapse(self, run: Run) -> None:
        """It had these too long."""
        for count, number in enumerate(numbers_of(run.runs), run.count):
            self.lapsed[count] = run.lot, number
        while len(self.lapsed) > LAPSED:
            del self.lapsed[next(iter(self.lapsed))]

    def take_lapsed(self, first: int, last: int) -> Iterator[tuple[int, Lot, int]]:
        """(count, lot, number) of what it had too long of these counts."""
        for count in [c for c in self.lapsed if first <= c <= last]:
            yield count, *self.lapsed.pop(count)


def ranges_of(counts: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """First and last of each. RemoteError for half a range."""
    if len(counts) % 2:
        raise RemoteError(f"{len(counts)} ends of ranges were settled", code="MALFORMED")
    yield from zip(counts[::2], counts[1::2], strict=True)
