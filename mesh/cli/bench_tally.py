"""What has come of a run of the bench, and is it right?"""

import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from mesh import sync
from mesh.errors import MeshTimeout

HEAD = struct.Struct(
    "<QQQ"
)  # run, number, when it was posted (ns of the clock that a machine's processes share)
BEGIN = 1 << 62  # in place of a number: so many are planned,
OVER = 1 << 63  # and so many were published
PATIENCE = 30.0  # s without any message after which the rest counts as lost: three silences of a link
LOOK = 0.2  # s


@dataclass(frozen=True, slots=True)
class Result:
    """Rates in messages a second, latencies (from `post` to the subscriber's loop) in seconds."""

    published: int
    publish_rate: float
    receive_rate: float
    lost: int
    doubled: int
    disordered: int
    p50: float
    p99: float
    worst: float

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.disordered)


class RunTally:
    """The messages that a subscriber has of one run."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.planned: int | None = None  # known when its beginning was heard
        self.expected: int | None = None  # known when all are published
        self.arrived = self.doubled = self.disordered = 0
        self.first = self.last = 0  # ns
        self._at_first = 0  # messages of the first batch, which came in no time
        self.latencies: list[int] = []
        self._seen: set[int] = set()
        self._highest = -1

    def read(self, subscription: sync.Subscription) -> None:
        """Until all that is expected has come, or nothing comes any more."""
        heard = time.monotonic()
        while self.expected is None or (self.arrived < self.expected and time.monotonic() < heard + PATIENCE):
            try:
                batch = subscription.next_batch(timeout=LOOK)
            except MeshTimeout:
                continue
            if batch is None:
                return
            heard = time.monotonic()
            self.add(batch.contents())

    def add(self, contents: Iterable[bytes]) -> None:
        """Count contents that came together."""
        now = time.monotonic_ns()
        for content in contents:
            if len(content) < HEAD.size:
                continue  # nobody's bench
            run, number, sent = HEAD.unpack_from(content)
            if run != self.run:
                continue  # somebody else's bench
            if number >= BEGIN:
                self._mark(number)
                continue
            self.first, self.last = self.first or now, now
            if number in self._seen:
                self.doubled += 1
                continue
            self.disordered += number < self._highest
            self._highest = max(self._highest, number)
            self._seen.add(number)
            self.arrived += 1
            self._at_first += now == self.first
            self.latencies.append(now - sent)

    def _mark(self, number: int) -> None:
        if number >= OVER:
            self.expected = number - OVER
        else:
            self.planned = number - BEGIN

    @property
    def published(self) -> int:
        """As far as it is known."""
        return self._highest + 1 if self.expected is None else self.expected

    @property
    def missed(self) -> int:
        """Messages before the first one, when the subscriber came late."""
        return min(self._seen, default=self.published) if self.planned is None else 0

    @property
    def lost(self) -> int:
        return self.published - self.missed - self.arrived

    @property
    def receive_rate(self) -> float:
        """Messages a second, from the first batch to the last; 0: there was only one."""
        received = (self.last - self.first) / 1e9
        return (self.arrived - self._at_first) / received if received else 0.0

    def rate_since(self, began: int) -> float:
        """Messages a second since then (ns), when the first one was published."""
        return self.arrived * 1e9 / (self.last - began) if self.last > began else 0.0


def summary(tally: RunTally, published: int, took: float, began: int | None = None) -> Result:
    """`took`: seconds until all were answered, since `began` (ns). Both rates begin there, if it is known."""
    p50, p99, worst = percentiles([latency / 1e9 for latency in tally.latencies])
    return Result(
        published=published,
        publish_rate=published / took,
        receive_rate=tally.receive_rate if began is None else tally.rate_since(began),
        lost=published - tally.arrived,
        doubled=tally.doubled,
        disordered=tally.disordered,
        p50=p50,
        p99=p99,
        worst=worst,
    )


def percentiles(values: Iterable[float]) -> tuple[float, float, float]:
    """(the middle one, the one that 99 of 100 do not exceed, the worst)"""
    ordered = sorted(values) or [0.0]
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1]
