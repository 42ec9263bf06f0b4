"""XPath scans over the values of this node, in small steps between other work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from mesh.routing.retained_value import RetainedValue
from mesh.routing.scan import XPathScan
from mesh.wire.commands import Query

AT_ONCE = 8  # scans in turn; each holds a list of all values

OnFound = Callable[[list[RetainedValue]], None]


class Scans:
    """Running and waiting scans.

    `values` returns the current values; `wake` requests a call of `tick` soon.
    """

    def __init__(self, values: Callable[[], Iterable[RetainedValue]], wake: Callable[[], None]) -> None:
        self._values = values
        self._wake = wake
        self._begun: deque[tuple[XPathScan, OnFound]] = deque()
        self._waiting: deque[tuple[Query, OnFound]] = deque()
        self._is_spent = False  # whether a step was done since the last tick

    def __bool__(self) -> bool:
        return bool(self._begun or self._waiting)

    def begin_scan(self, query: Query, then: OnFound) -> None:
        """Begin a scan; `then` receives the values.

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
            self._begun.append((XPathScan(query, self._values()), then))
        scan, then = self._begun.popleft()
        if scan.go_on():
            self._begun.append((scan, then))
        else:
            then(scan.found)
