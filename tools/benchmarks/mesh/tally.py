"""The tally of a benchmark run: messages lost, duplicated and out of order, rates and latencies."""

import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from mesh import sync
from mesh.errors import MeshTimeout

HEAD = struct.Struct("<QQQ")  # run, number, time of the post in ns
BEGIN = 1 << 62  # added to the number of planned messages
OVER = 1 << 63  # added to the number of published messages
PATIENCE = 30.0  # s without a message until the rest counts as lost
LOOK = 0.2  # s


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of a run: rates in messages a second, latencies in seconds from `post` to the receiver."""

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
    """The messages of one run that one subscriber received."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.planned: int | None = None  # known from the start mark
        self.expected: int | None = None  # known from the end mark
        self.arrived = self.doubled = self.disordered = 0
        self.first = self.last = 0  # ns
        self._at_first = 0  # messages of the first batch
        self.latencies: list[int] = []
        self._seen: set[int] = set()
        self._highest = -1

    def read(self, subscription: sync.Subscription) -> None:
        """Read until everything expected has arrived, or nothing has arrived for 30 s."""
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
        """Count `contents`, which arrived in one batch."""
        now = time.monotonic_ns()
        for content in contents:
            if len(content) < HEAD.size:
                continue  # not a benchmark message
            run, number, sent = HEAD.unpack_from(content)
            if run != self.run:
                continue  # another run
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
        """The number of published messages, as far as it is known."""
        return self._highest + 1 if self.expected is None else self.expected

    @property
    def missed(self) -> int:
        """The number of messages before the first received one, if the subscription began late."""
        return min(self._seen, default=self.published) if self.planned is None else 0

    @property
    def lost(self) -> int:
        return self.published - self.missed - self.arrived

    @property
    def receive_rate(self) -> float:
        """The messages a second, from the first batch to the last; 0 if there was only one batch."""
        received = (self.last - self.first) / 1e9
        return (self.arrived - self._at_first) / received if received else 0.0

    def rate_since(self, began: int) -> float:
        """Return messages a second since `began`, the time of the first publication in ns."""
        return self.arrived * 1e9 / (self.last - began) if self.last > began else 0.0


def summary(tally: RunTally, published: int, took: float, began: int | None = None) -> Result:
    """Return the figures of a run.

    `took` is the time in seconds until all messages were answered. The receive rate counts from `began` (ns),
    or from the first batch.
    """
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
    """Return the median, the 99th percentile and the maximum."""
    ordered = sorted(values) or [0.0]
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1]
