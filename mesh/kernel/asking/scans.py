"""XPath scans over values or sessions of this node, in small steps between other work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from mesh.wire.commands import Query

AT_ONCE = 8  # scans in turn; each holds a list of everything to scan

T = TypeVar("T")


class Scan(Protocol[T]):
    """A scan whose matches so far are in `found`."""

    found: list[T]

    def go_on(self) -> bool:
        """Scan another slice, and return False at the end."""


class Scans(Generic[T]):
    """Running and waiting scans.

    `begin` returns the scan for a query, of what there is then; `wake` requests a call of `tick` soon.
    """

    def __init__(self, begin: Callable[[Query], Scan[T]], wake: Callable[[], None]) -> None:
        self._begin = begin
        self._wake = wake
        self._begun: deque[tuple[Scan[T], Callable[[list[T]], None]]] = deque()
        self._waiting: deque[tuple[Query, Callable[[list[T]], None]]] = deque()
        self._is_spent = False  # whether a step was done since the last tick

    def __bool__(self) -> bool:
        return bool(self._begun or self._waiting)

    def begin_scan(self, query: Query, then: Callable[[list[T]], None]) -> None:
        """Begin a scan; `then` receives the matches.

        The scan ends immediately if there is little to scan and no other scan ran since the last tick.
        """
        self._waiting.append((query, then))
        self._continue_scan()

    def tick(self) -> None:
        """Continue the scans, after other work had its turn."""
        self._is_spent = False
        self._continue_scan()

    def _continue_scan(self) -> None:
        if self and not self._is_spent:
            self._is_spent = True
            self._take_turn()
        if self:
            self._wake()

    def _take_turn(self) -> None:
        while self._waiting and len(self._begun) < AT_ONCE:
            query, then = self._waiting.popleft()
            self._begun.append((self._begin(query), then))
        scan, then = self._begun.popleft()
        if scan.go_on():
            self._begun.append((scan, then))
        else:
            then(scan.found)
