"""Timers that delays of the event loop postpone."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf

from mesh.discovery.member import MemberEvent
from mesh.discovery.requests import DiscoveryRequest

SOON = 0.001  # s; keeps a timer that fired early from its old due time

Act = Callable[[float], list[MemberEvent | DiscoveryRequest]]


@dataclass(slots=True, eq=False)
class Timer:
    """A pending action; `act` is None once it is canceled."""

    act: Act | None


class Timers:
    """Timers in order of due time, then of creation."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._serial = count()
        self._lag = 0.0  # s of total delay of the own loop

    def schedule(self, seconds: float, now: float, act: Act) -> Timer:
        """Schedule `act` to run after `seconds`, but not sooner than after SOON."""
        timer = Timer(act)
        due = self.local(now) + max(seconds, SOON)
        heappush(self._heap, (due, next(self._serial), timer))
        return timer

    def local(self, now: float) -> float:
        """Return `now` on a clock that stops whenever the event loop of this node is delayed."""
        return now - self._lag

    def postpone(self, seconds: float) -> None:
        """Postpone all timers by a delay of the loop in s, so that pending input is read before they fire."""
        self._lag += seconds

    def tick(self, now: float) -> list[MemberEvent | DiscoveryRequest]:
        results: list[MemberEvent | DiscoveryRequest] = []
        # The sum must be the same as in deadline(). Otherwise rounding could wake a loop forever for nothing.
        while self._heap and self._heap[0][0] + self._lag <= now:
            act = heappop(self._heap)[2].act
            if act is not None:
                results += act(now)
        return results

    def deadline(self) -> float:
        """Return the time in s when `tick` is next needed, or infinity if no timer is pending."""
        while self._heap and self._heap[0][2].act is None:
            heappop(self._heap)
        return self._heap[0][0] + self._lag if self._heap else inf


def call_off(timer: Timer | None) -> None:
    if timer is not None:
        timer.act = None
