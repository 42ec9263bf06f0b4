"""The state that all components of a client share: the time, pending effects, and alarms."""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Protocol

from mesh.client.core.effects import ClientEffect

NEVER = float("inf")
CROWDED = 256  # alarms, before the first cleanup


class Promise(Protocol):
    """A result that is not available yet: an asyncio future, or the shell's replacement for one."""

    def done(self) -> bool: ...
    def set_result(self, result: Any, /) -> None: ...
    def set_exception(self, error: BaseException, /) -> None: ...
    def __await__(self) -> Generator[Any, None, Any]: ...


class Alarm:
    """A scheduled call of `ring`, which can be cancelled."""

    __slots__ = ("_cancelled", "ring")

    def __init__(self, ring: Callable[[], None], cancelled: Callable[[], None]) -> None:
        self.ring: Callable[[], None] | None = ring
        self._cancelled = cancelled

    def cancel(self) -> None:
        self.ring = None
        self._cancelled()


class ClientContext:
    """The shared state of all components of a client.

    `promise` creates a promise, `chance` returns a number from [0, 1), and `dice(n)` n random bytes. `wake`
    requests a tick from the shell, at most once until that tick. If `wake` raises, the context is unchanged.
    """

    promise: Callable[[], Promise]
    chance: Callable[[], float]
    dice: Callable[[int], bytes]

    def __init__(
        self,
        promise: Callable[[], Promise],
        chance: Callable[[], float],
        dice: Callable[[int], bytes],
        wake: Callable[[], None],
    ) -> None:
        self.now: float = 0.0  # s, of the shell's clock
        self.promise, self.chance, self.dice = promise, chance, dice
        self.effects: list[ClientEffect] = []
        self._wake = wake
        self._is_awake = False
        self._soon: list[Callable[[], None]] = []
        self.due: float = NEVER  # latest time of the next tick
        self._alarms: list[tuple[float, int, Alarm]] = []
        self._crowded = CROWDED  # alarms at which cancelled ones are removed
        self._numbers = count()

    def do(self, effect: ClientEffect) -> None:
        if not self._is_awake:
            self.wake()
        self.effects.append(effect)

    def wake(self) -> None:
        """Request a tick from the shell, unless one is requested already."""
        if not self._is_awake:
            self._wake()
            self._is_awake = True

    def soon(self, function: Callable[[], None]) -> None:
        self.wake()
        self._soon.append(function)

    def later(self, seconds: float, function: Callable[[], None]) -> Alarm:
        self.wake()  # the shell must know the time
        alarm, when = Alarm(function, self._settle), self.now + seconds
        heappush(self._alarms, (when, next(self._numbers), alarm))
        if when < self.due:
            self.due = when
        if len(self._alarms) > self._crowded:
            self._alarms = [row for row in self._alarms if row[2].ring is not None]
            heapify(self._alarms)
            self._crowded = CROWDED + 2 * len(self._alarms)
        return alarm

    def set_time(self, now: float) -> None:
        """Set the time at the start of an event. A tick will follow, so the shell is not woken."""
        self.now, self._is_awake = now, True

    def tick(self, now: float) -> list[ClientEffect]:
        """Run the due alarms and functions, and return the effects. Later work wakes the shell again."""
        self.now, self._is_awake = now, True
        if self.due <= now:
            self._ring()
        while self._soon:
            soon, self._soon = self._soon, []
            for function in soon:
                function()
        effects, self.effects, self._is_awake = self.effects, [], False
        return effects

    def _ring(self) -> None:
        while self._alarms and self._alarms[0][0] <= self.now:
            ring = heappop(self._alarms)[2].ring
            if ring is not None:
                ring()
        self._settle()

    def _settle(self) -> None:
        """Set `due` to the time of the first alarm that is not cancelled."""
        alarms = self._alarms
        while alarms and alarms[0][2].ring is None:
            heappop(alarms)
        self.due = alarms[0][0] if alarms else NEVER


class Timer:
    """At most one scheduled call: a new one replaces an earlier one."""

    def __init__(self, context: ClientContext) -> None:
        self._context = context
        self._alarm: Alarm | None = None
        self.due = 0.0  # time of the last scheduled call

    def schedule(self, seconds: float, function: Callable[[], None]) -> None:
        self.cancel()
        self.due = self._context.now + seconds
        self._alarm = self._context.later(seconds, function)

    def cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
