"""What one consumer of a queue has: messages by the counts under which they were given to it."""

# Law 1: the k-th message that is given in an epoch has the count k, and is out until it is settled.
# Law 2: what is out is never more than the credit.
# Law 3: what is said of a count that is not out changes nothing.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import inf

from msgspec import Struct

from mesh.errors import RemoteError
from mesh.queues.lots.counts import Runs, count, slice_of
from mesh.queues.lots.lot import Lot


class Run(Struct, eq=False):
    """Messages of a lot that were given together, under counts in a row from `count` on."""

    count: int
    n: int
    lot: Lot
    runs: Runs
    until: float = inf  # when its lease is over

    def part(self, start: int, end: int) -> Run:
        """Of these counts."""
        runs = slice_of(self.runs, start - self.count, end - self.count + 1)
        return Run(start, end - start + 1, self.lot, runs, self.until)


class Holding:
    """In the order of their counts."""

    __slots__ = ("_runs", "given", "out")

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.given = 0  # the last count
        self.out = 0  # messages

    def __iter__(self) -> Iterator[Run]:
        return iter(tuple(self._runs))

    def give(self, lot: Lot, runs: Runs, until: float = inf) -> int:
        """These messages, in that order; returns how many that are."""
        n = count(runs)
        self._runs.append(Run(self.given + 1, n, lot, runs, until))
        self.given += n
        self.out += n
        return n

    def skip(self, n: int) -> None:
        """So many counts are nobody's."""
        self.given += n

    def check(self, first: int, last: int) -> None:
        """RemoteError for counts of what was never given."""
        if not 1 <= first <= last <= self.given:
            what = f"counts {first} to {last} were settled, {self.given} were given"
            raise RemoteError(what, code="FORGED_ACK")

    def take(self, first: int, last: int) -> list[Run]:
        """What was out of these counts, which is so no more. RemoteError as above."""
        self.check(first, last)
        at = max(0, bisect_right(self._runs, first, key=lambda run: run.count) - 1)
        end, taken, kept = at, list[Run](), list[Run]()
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

    def extend(self, first: int, last: int, until: float) -> list[Run]:
        """The lease of these ends then; returns those that are out."""
        taken = self.take(first, last)
        for run in taken:
            run.until = until
        self._runs = sorted([*self._runs, *taken], key=lambda run: run.count)
        self.out += sum(run.n for run in taken)
        return taken

    @property
    def first_over(self) -> float:
        """When the first lease is over."""
        return min((run.until for run in self._runs), default=inf)

    def over(self, now: float) -> list[Run]:
        """Those whose lease is over, which are out no more."""
        late = [run for run in self._runs if run.until <= now]
        return [part for run in late for part in self.take(run.count, run.count + run.n - 1)]

    def take_all(self) -> list[Run]:
        """All that is out, which is so no more."""
        runs, self._runs, self.out = self._runs, [], 0
        return runs
