"""The clock of a mesh in memory: this machine's time plus skipped time, or skipped time alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import count

CROWDED = 256  # timers, before the first cleanup


class ClockTimer:
    """A scheduled call of `function`, which can be cancelled."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], None]) -> None:
        self.function: Callable[[], None] | None = function

    def cancel(self) -> None:
        self.function = None


class Clock:
    """The clock of a mesh, in seconds since the mesh began, which stands still until `go` is called.

    A virtual clock is only moved by `step`. `rung` is called in the loop when a timer is due, and steps
    through the due timers. Before that, the clock does not pass the time of the first due timer, so a slow
    loop makes no timer late.
    """

    def __init__(self, is_virtual: bool, rung: Callable[[], None]) -> None:
        self.is_virtual = is_virtual
        self._rung = rung
        self._begun = time.time_ns()
        self._stands: float | None = 0.0  # None: the clock runs
        self._ahead = 0.0  # s ahead of this machine's clock
        self._shown = 0.0  # the latest time shown
        self._timers: list[tuple[float, int, ClockTimer]] = []
        self._crowded = CROWDED  # timers at which cancelled ones are removed
        self._numbers = count()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell: asyncio.TimerHandle | None = None
        self._armed = float("inf")  # time of the scheduled call

    def time(self) -> float:
        if self._stands is not None:
            return self._stands
        self._shown = max(self._shown, min(self.machine(), self._due()))
        return self._shown

    def machine(self) -> float:
        """Return the time, even if it is later than a timer that has not been called yet."""
        return time.monotonic() + self._ahead if self._stands is None else self._stands

    def wall(self) -> int:
        """Return the time in ns since 1970, which advances with `time`."""
        return self._begun + int(self.time() * 1e9)

    @property
    def is_standing(self) -> bool:
        return self._stands is not None

    def call_at(self, when: float, function: Callable[[], None], /) -> ClockTimer:
        timer = ClockTimer(function)
        heappush(self._timers, (when, next(self._numbers), timer))
        if len(self._timers) > self._crowded:
            self._timers = [row for row in self._timers if row[2].function is not None]
            heapify(self._timers)
            self._crowded = CROWDED + 2 * len(self._timers)
        self._arm()
        return timer

    def step(self, end: float) -> bool:
        """Advance to the next timer and call it; if none is due by `end`, stop there and return False."""
        due = self._due()
        self._stands = max(self.time(), min(due, end))
        if due > end:
            return False
        function = heappop(self._timers)[2].function
        if function is not None:
            function()
        return True

    def _due(self) -> float:
        while self._timers and self._timers[0][2].function is None:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else float("inf")

    # --- running and standing -----------------------------------------------------------------------------

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Stop the clock within the block, where only `step` advances it."""
        was_standing = self.is_standing
        self._stands = self.time()
        try:
            yield
        finally:
            if not was_standing:
                self.go()

    def go(self) -> None:
        """Make the clock follow this machine's clock, unless it is virtual."""
        if not self.is_virtual:
            self._shown = self.time()
            self._ahead, self._stands = self._shown - time.monotonic(), None
            self._disarm()  # it was scheduled for another offset
            self._arm()

    def stop(self) -> None:
        """Stop for good; no further timer is called."""
        self._stands = self.time()
        self._timers.clear()
        self._disarm()

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call the timers in `loop`, until another loop is set."""
        self._disarm()
        self._loop = loop
        self._arm()

    def _disarm(self) -> None:
        if self._bell is not None:
            self._bell.cancel()
        self._bell, self._armed = None, float("inf")

    def _arm(self) -> None:
        if self.is_standing or self._loop is None or self._loop.is_closed():
            return
        due = self._due()
        if due < self._armed:
            self._disarm()
            self._armed = due
            self._bell = self._loop.call_later(max(0.0, due - self.machine()), self._ring)

    def _ring(self) -> None:
        self._disarm()
        if not self.is_standing:  # stepping runs due timers itself
            self._rung()
            self._arm()
