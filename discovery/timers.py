"""What is due when? A late loop moves all that is under way."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf

from discovery.member import MemberEvent
from discovery.requests import DiscoveryRequest

SOON = 0.001  # s: what rounding fired too early must not be set to the very same moment again

Act = Callable[[float], list[MemberEvent | DiscoveryRequest]]


@dataclass(slots=True, eq=False)
class Timer:
    """Something to be done later. Without `act` it was called off."""

    act: Act | None


class Timers:
    """Earliest first; of two at the same moment, the one that was set first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._serial = count()
        self._lag = 0.0  # s that our own loop was late, in all

    def after(self, seconds: float, now: float, act: Act) -> Timer:
        """Do it so much later."""
        timer = Timer(act)
        due = self.local(now) + max(seconds, SOON)
        heappush(self._heap, (due, next(self._serial), timer))
        return timer

    def local(self, now: float) -> float:
        """Seconds on a clock that stood still whenever we did: what to measure patience with."""
        return now - self._lag

    def lagged(self, seconds: float) -> None:
        """We were late by so much: what came in meanwhile must be read before anybody is judged."""
        self._lag += seconds

    def tick(self, now: float) -> list[MemberEvent | DiscoveryRequest]:
        """Do what is due."""
        results: list[MemberEvent | DiscoveryRequest] = []
        # The same sum as in deadline(): with another rounding, a loop could wake for nothing for ever.
        while self._heap and self._heap[0][0] + self._lag <= now:
            act = heappop(self._heap)[2].act
            if act is not None:
                results += act(now)
        return results

    def deadline(self) -> float:
        """When tick() is next worth calling; inf = nothing is under way."""
        while self._heap and self._heap[0][2].act is None:
            heappop(self._heap)
        return self._heap[0][0] + self._lag if self._heap else inf


def call_off(timer: Timer | None) -> None:
    """Forget a timer: what it was set for has happened, or no longer matters."""
    if timer is not None:
        timer.act = None
