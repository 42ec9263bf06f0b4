"""Stream numbers in flight: the route that they use, and the waiters that need their answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from mesh.streams.ranges import Ranges

# Law 1: a stream keeps its route while anything of it is in flight, unless its owner assigns another one.
# Law 2: an answer counts only for the route by which it came, and each number counts once for a waiter. Other
# answers change nothing.
# Law 3: an answer that is not final frees bytes, and its numbers stay in flight.
# Law 4: lost numbers are returned once. An empty stream is forgotten, with its route.

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Hashable)
R = TypeVar("R")
AnsweredPart: TypeAlias = tuple[W, int, int, int]  # waiter, first and last number, freed bytes


class LostNumbers(NamedTuple, Generic[K, W]):
    """The numbers of one waiter that are no longer in flight, and their bytes."""

    stream: K
    waiter: W
    numbers: Ranges
    size: int


class InFlight(Generic[K, W, R]):
    """The unanswered numbers of streams, by waiter, and the route of each stream.

    A relay calls `record_sent`, and drops lost envelopes. An owner calls `record_kept` with its stored
    envelopes as waiters; after a loss it assigns another route and sends the envelopes again.
    """

    __slots__ = ("_open", "_routes", "_sizes")

    def __init__(self) -> None:
        self._open: dict[K, dict[W, Ranges]] = {}
        self._routes: dict[K, R] = {}
        self._sizes: dict[tuple[K, W], int] = {}  # bytes, of waiters whose bytes are counted

    def __iter__(self) -> Iterator[K]:
        return iter(self._open)

    def __len__(self) -> int:
        """Return the number of streams."""
        return len(self._open)

    def __contains__(self, stream: K) -> bool:
        return stream in self._open

    # --- routes -----------------------------------------------------------------------------------------

    def route_of(self, stream: K) -> R | None:
        return self._routes.get(stream)

    def assign_route(self, stream: K, route: R | None) -> None:
        """Set the route of a stream, which must be in flight; `None` removes its route."""
        assert stream in self._open, "law 4: only a stream in flight has a route"
        if route is None:
            self._routes.pop(stream, None)
        else:
            self._routes[stream] = route

    def streams_by(self, is_route: Callable[[R], bool]) -> list[K]:
        """Return the streams whose route `is_route` selects, oldest first."""
        return [stream for stream in self._open if stream in self._routes and is_route(self._routes[stream])]

    # --- numbers ----------------------------------------------------------------------------------------

    def record_sent(self, stream: K, route: R, waiter: W, first: int, last: int, size: int = 0) -> None:
        """Add numbers that were sent for `waiter`, which may have some of them in flight already.

        `route` must be the route of the stream, if it has one. `size` is the number of bytes in transit.
        """
        waiters = self._open.get(stream)
        if waiters is None:
            waiters = self._open[stream] = {}
        assert self._routes.setdefault(stream, route) == route, "law 1: a stream in flight has one route"
        numbers = waiters.get(waiter)
        if numbers is None:
            numbers = waiters[waiter] = Ranges()
        numbers.add(first, last)
        if size:
            self._sizes[stream, waiter] = self._sizes.get((stream, waiter), 0) + size

    def record_kept(self, stream: K, waiter: W, runs: Sequence[tuple[int, int]]) -> Ranges:
        """Add a new waiter, and return its live set of numbers, which shrinks with each final answer."""
        waiters = self._open.get(stream)
        if waiters is None:
            waiters = self._open[stream] = {}
        assert waiter not in waiters
        numbers = waiters[waiter] = Ranges()
        numbers.add_all(runs)
        return numbers

    def apply_answer(
        self,
        stream: K,
        first: int,
        last: int,
        is_final: bool = True,
        route: R | None = None,
        is_shared: bool = True,
    ) -> list[AnsweredPart[W]]:
        """Return the parts of an answer that waiters need, and remove their numbers if it is final.

        `route` is the route by which the answer came; `None` means that the caller has checked it. Pass
        `is_shared=False` if no number has two waiters: the search then ends with the last number.
        """
        waiters = self._open.get(stream)
        if waiters is None or not 1 <= first <= last:
            return []
        if route is not None and route != self._routes.get(stream):
            return []
        parts: list[AnsweredPart[W]] = []
        done: list[W] = []
        missing = last - first + 1
        for waiter, numbers in waiters.items():
            taken = numbers.remove(first, last) if is_final else numbers.common(first, last)
            if not taken:
                continue
            for a, b in taken:
                parts.append((waiter, a, b, 0))
                missing -= b - a + 1
            if not numbers:
                done.append(waiter)
            if not (missing or is_shared):
                break
        if self._sizes:
            parts = [*self._freed(stream, parts, is_final)]
        for waiter in done:
            del waiters[waiter]
        if not waiters:
            del self._open[stream]
            self._routes.pop(stream, None)
        return parts

    def _freed(
        self, stream: K, parts: Sequence[AnsweredPart[W]], is_final: bool
    ) -> Iterator[AnsweredPart[W]]:
        """Yield the parts, each with the bytes that it frees: its share of the bytes left to its waiter."""
        for waiter, found in groupby(parts, itemgetter(0)):
            runs = [(first, last) for _, first, last, _ in found]
            size, numbers = self._sizes.pop((stream, waiter), 0), self._open[stream][waiter]
            share = numbers.count() + (sum(last - first + 1 for first, last in runs) if is_final else 0)
            for first, last in runs:
                count = last - first + 1
                freed = size * count // share
                size, share = size - freed, share - count
                yield waiter, first, last, freed
            if size:
                self._sizes[stream, waiter] = size

    def has_range(self, stream: K, waiter: W, first: int, last: int) -> bool:
        """Return whether all numbers from `first` to `last` are in flight for the waiter."""
        numbers = self._open.get(stream, {}).get(waiter)
        return numbers is not None and numbers.covers(first, last)

    def waiters(self, stream: K) -> list[W]:
        """Return the waiters of a stream, oldest first."""
        return list(self._open.get(stream, ()))

    def overlapping(self, stream: K, first: int, last: int) -> list[W]:
        """Return the waiters with any number from `first` to `last` in flight, oldest first."""
        if not 1 <= first <= last:
            return []
        waiters = self._open.get(stream, {})
        return [waiter for waiter, numbers in waiters.items() if numbers.overlaps(first, last)]

    # --- losses -----------------------------------------------------------------------------------------

    def drop(self, stream: K, waiter: W) -> LostNumbers[K, W]:
        """Remove an existing waiter from a stream, and return its numbers in flight."""
        waiters = self._open[stream]
        numbers = waiters.pop(waiter)
        if not waiters:
            del self._open[stream]
            self._routes.pop(stream, None)
        return LostNumbers(stream, waiter, numbers, self._sizes.pop((stream, waiter), 0))

    def drop_stream(self, stream: K) -> list[LostNumbers[K, W]]:
        return [self.drop(stream, waiter) for waiter in self.waiters(stream)]

    def drop_routes(self, is_lost: Callable[[R], bool]) -> list[LostNumbers[K, W]]:
        """Remove the streams whose route `is_lost` selects, and return their numbers in flight."""
        return [lost for stream in self.streams_by(is_lost) for lost in self.drop_stream(stream)]

    def drop_waiters(self, is_gone: Callable[[W], bool]) -> list[LostNumbers[K, W]]:
        """Remove the waiters that `is_gone` selects from all streams, and return their numbers in flight."""
        gone = [(stream, each) for stream, waiters in self._open.items() for each in waiters if is_gone(each)]
        return [self.drop(stream, waiter) for stream, waiter in gone]
