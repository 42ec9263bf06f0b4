"""The outstanding messages of one consumer, by delivery tag."""

# Law 1: the k-th message delivered in an epoch has tag k, and is outstanding until it is settled.
# Law 2: the outstanding messages never exceed the credit.
# Law 3: settling a tag that is not outstanding changes nothing.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import inf

from msgspec import Struct

from mesh.errors import RemoteError
from mesh.queues.lots.counts import Runs, count, slice_of
from mesh.queues.lots.queued_envelope import QueuedEnvelope


class DeliveryRun(Struct, eq=False):
    """Messages of an envelope that were delivered together, with consecutive tags from `count`."""

    count: int
    n: int
    lot: QueuedEnvelope
    runs: Runs
    until: float = inf  # end of the lease

    def part(self, start: int, end: int) -> DeliveryRun:
        """Return the part of the run with the tags from `start` to `end`."""
        runs = slice_of(self.runs, start - self.count, end - self.count + 1)
        return DeliveryRun(start, end - start + 1, self.lot, runs, self.until)


class OutstandingDeliveries:
    """The outstanding messages of one consumer, in the order of their tags."""

    __slots__ = ("_runs", "given", "out")

    def __init__(self) -> None:
        self._runs: list[DeliveryRun] = []
        self.given = 0  # the last tag
        self.out = 0  # messages

    def __iter__(self) -> Iterator[DeliveryRun]:
        return iter(tuple(self._runs))

    def add_delivery(self, lot: QueuedEnvelope, runs: Runs, until: float = inf) -> int:
        """Add messages under the next tags, and return their count."""
        n = count(runs)
        self._runs.append(DeliveryRun(self.given + 1, n, lot, runs, until))
        self.given += n
        self.out += n
        return n

    def skip(self, n: int) -> None:
        """Use up `n` tags without a message."""
        self.given += n

    def check(self, first: int, last: int) -> None:
        """Check that the tags were used. Raises: RemoteError if they were not."""
        if not 1 <= first <= last <= self.given:
            what = f"tags {first} to {last} were settled; the last one is {self.given}"
            raise RemoteError(what, code="FORGED_ACK")

    def settle(self, first: int, last: int) -> list[DeliveryRun]:
        """Remove and return the outstanding runs of the tags `first` to `last`. Raises as `check`."""
        self.check(first, last)
        at = max(0, bisect_right(self._runs, first, key=lambda run: run.count) - 1)
        end, taken, kept = at, list[DeliveryRun](), list[DeliveryRun]()
        while end < len(self._runs) and self._runs[end].count <= last:
            run = self._runs[end]
            end += 1
            top = run.count + run.n - 1
            if top < first:
                kept.append(run)
                continue
            start, stop = max(first, run.count), min(last, top)
            if run.count < start:
                kept.append(run.part(run.count, start - 1))
            taken.append(run if stop - start + 1 == run.n else run.part(start, stop))
            if stop < top:
                kept.append(run.part(stop + 1, top))
        self._runs[at:end] = kept
        self.out -= sum(run.n for run in taken)
        return taken

    def extend(self, first: int, last: int, until: float) -> list[DeliveryRun]:
        """Let the leases of the tags `first` to `last` end at `until`, and return their runs."""
        taken = self.settle(first, last)
        for run in taken:
            run.until = until
        self._runs = sorted([*self._runs, *taken], key=lambda run: run.count)
        self.out += sum(run.n for run in taken)
        return taken

    @property
    def first_over(self) -> float:
        """The time when the first lease ends; infinity if none does."""
        return min((run.until for run in self._runs), default=inf)

    def take_lapsed(self, now: float) -> list[DeliveryRun]:
        late = [run for run in self._runs if run.until <= now]
        return [part for run in late for part in self.settle(run.count, run.count + run.n - 1)]

    def take_all(self) -> list[DeliveryRun]:
        runs, self._runs, self.out = self._runs, [], 0
        return runs
