"""The outstanding messages of a queue consumer, with their leases."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from mesh.features.queues.model.envelopes.counts import Runs, count, slice_of
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.flow.outstanding_deliveries import OutstandingDeliveries


class LeasedRun(Struct, eq=False):
    """Messages of an envelope that were delivered together, with consecutive tags from `tag`."""

    tag: int
    n: int
    queued: QueuedEnvelope
    runs: Runs
    until: float = inf  # end of the lease

    def part(self, start: int, end: int) -> LeasedRun:
        runs = slice_of(self.runs, start - self.tag, end - self.tag + 1)
        return LeasedRun(start, end - start + 1, self.queued, runs, self.until)


class LeasedDeliveries(OutstandingDeliveries[LeasedRun]):
    """The outstanding messages of one consumer, each with a lease."""

    __slots__ = ()

    def add_delivery(self, queued: QueuedEnvelope, runs: Runs, until: float = inf) -> int:
        """Add messages under the next tags, with leases that end at `until`, and return their count."""
        n = count(runs)
        self.add(LeasedRun(self.given + 1, n, queued, runs, until))
        return n

    def extend(self, first: int, last: int, until: float) -> list[LeasedRun]:
        """Set the leases of the tags `first` to `last` to end at `until`, and return their runs."""
        taken = self.settle(first, last)
        for run in taken:
            run.until = until
        self._runs = sorted([*self._runs, *taken], key=lambda run: run.tag)
        self.out += sum(run.n for run in taken)
        return taken

    @property
    def first_over(self) -> float:
        """The time when the first lease ends; infinity if none does."""
        return min((run.until for run in self._runs), default=inf)

    def take_lapsed(self, now: float) -> list[LeasedRun]:
        late = [run for run in self._runs if run.until <= now]
        return [part for run in late for part in self.settle(run.tag, run.tag + run.n - 1)]
