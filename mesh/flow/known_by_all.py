"""Callbacks that run when other nodes have confirmed a version of the data that this node sent."""

# Law 1: the waits of a key end in the order in which they began, even those that a callback adds.
# Law 2: a wait ends when all nodes know its version, but after `within` seconds at the latest.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from itertools import takewhile
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
Then = Callable[[], None]


class KnownByAll(Generic[K]):
    """The waits of each key, with the versions that they need; the versions of a key never decrease.

    Each wait lasts at most `within` seconds.
    """

    def __init__(self, within: float) -> None:
        self._within = within
        self._waiting: dict[K, deque[tuple[int, float, Then]]] = {}  # version, deadline, callback
        self._is_busy: set[K] = set()  # keys whose waits are ending

    def __len__(self) -> int:
        return len(self._waiting)

    def when(self, key: K, version: int, now: float, then: Then, is_known: bool = False) -> None:
        """Call `then` when all nodes know the version, or when the wait has timed out.

        With `is_known`, the call is immediate unless earlier waits of the key have not ended.
        """
        if is_known and key not in self._waiting:
            then()
            return
        self._waiting.setdefault(key, deque()).append((version, now + self._within, then))

    def end_waits(self, now: float, known: Callable[[K], float], keys: Iterable[K] | None = None) -> None:
        """End the waits of `keys` (`None`: all) that are over; `known(key)` is the version that all know."""
        for key in list(self._waiting if keys is None else keys):
            if key in self._waiting and key not in self._is_busy:
                self._end_waits(key, now, known)

    def _end_waits(self, key: K, now: float, known: Callable[[K], float]) -> None:
        waiting = self._waiting[key]
        self._is_busy.add(key)
        while waiting and (waiting[0][0] <= known(key) or waiting[0][1] <= now):
            waiting.popleft()[2]()
        self._is_busy.discard(key)
        if not waiting:
            del self._waiting[key]

    def late(self, now: float) -> dict[K, int]:
        """Return the keys with an overdue wait, each with the highest version that such a wait needs."""
        found = {}
        for key, waiting in self._waiting.items():
            for version, _, _ in takewhile(lambda wait: wait[1] <= now, waiting):
                found[key] = version
        return found

    @property
    def deadline(self) -> float | None:
        """The earliest deadline of all waits, or None."""
        return min((waiting[0][1] for waiting in self._waiting.values() if waiting), default=None)
