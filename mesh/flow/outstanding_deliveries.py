"""The deliveries of one consumer that it has not settled, by delivery tag."""

# Law 1: the k-th message delivered in an epoch has tag k, and is outstanding until it is settled.
# Law 2: the outstanding messages never exceed the credit. The caller compares `out` before it adds messages.
# Law 3: settling a tag that is not outstanding changes nothing.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

from mesh.errors import RemoteError


class DeliveryRun(Protocol):
    """Messages that were delivered together, with `n` consecutive tags from `tag`."""

    tag: int
    n: int

    def part(self: R, start: int, end: int) -> R:
        """Return the part of the run with the tags from `start` to `end`."""


R = TypeVar("R", bound=DeliveryRun)


class OutstandingDeliveries(Generic[R]):
    """The outstanding deliveries of one consumer, in the order of their tags."""

    __slots__ = ("_runs", "given", "out")

    def __init__(self) -> None:
        self._runs: list[R] = []
        self.given = 0  # the last tag
        self.out = 0  # messages

    def __iter__(self) -> Iterator[R]:
        return iter(tuple(self._runs))

    def add(self, run: R) -> None:
        """Add a delivery whose first tag is the next one, `given` + 1."""
        self._runs.append(run)
        self.given += run.n
        self.out += run.n

    def skip(self, n: int) -> None:
        """Use up `n` tags without a message."""
        self.given += n

    def check_tags(self, first: int, last: int) -> None:
        """Check that the tags were used. Raises: RemoteError if they were not."""
        if not 1 <= first <= last <= self.given:
            what = f"the tags {first} to {last} were settled, but the last assigned tag is {self.given}"
            raise RemoteError(what, code="FORGED_ACK")

    def settle(self, first: int, last: int) -> list[R]:
        """Remove and return the outstanding runs of tags `first` to `last`. Raises: as `check_tags`."""
        if self._runs:
            run = self._runs[0]
            if run.tag == first and run.tag + run.n == last + 1:  # the usual case
                del self._runs[0]
                self.out -= run.n
                return [run]
        self.check_tags(first, last)
        at = max(0, bisect_right(self._runs, first, key=lambda run: run.tag) - 1)
        end, taken, kept = at, list[R](), list[R]()
        while end < len(self._runs) and self._runs[end].tag <= last:
            run = self._runs[end]
            end += 1
            top = run.tag + run.n - 1
            if top < first:
                kept.append(run)
                continue
            start, stop = max(first, run.tag), min(last, top)
            if run.tag < start:
                kept.append(run.part(run.tag, start - 1))
            taken.append(run if stop - start + 1 == run.n else run.part(start, stop))
            if stop < top:
                kept.append(run.part(stop + 1, top))
        self._runs[at:end] = kept
        self.out -= sum([run.n for run in taken])
        return taken

    def put_back(self, run: R) -> None:
        """Make a settled run outstanding again, with its old tags."""
        self._runs.insert(bisect_right(self._runs, run.tag, key=lambda each: each.tag), run)
        self.out += run.n

    def take_all(self) -> list[R]:
        runs, self._runs, self.out = self._runs, [], 0
        return runs


def ranges_of(tags: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges whose first and last tags alternate in `tags`.

    Raises: RemoteError for an odd number of tags.
    """
    if len(tags) % 2:
        raise RemoteError(f"the settled ranges have an odd number of ends, {len(tags)}", code="MALFORMED")
    yield from zip(tags[::2], tags[1::2], strict=True)


def spans_of(tags: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return (index, first tag, last tag) for each span of consecutive tags."""
    if len(tags) == 1:
        return [(0, tags[0], tags[0])]
    starts = [at for at in range(len(tags)) if not at or tags[at] != tags[at - 1] + 1]
    return [(at, tags[at], tags[end - 1]) for at, end in pairwise([*starts, len(tags)])]
