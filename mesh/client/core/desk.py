"""What all parts of a client share: the time, what is to be done, and what is due later."""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from mesh.client.core.effects import Effect


class Promise(Protocol):
    """A result that is not there yet: a future of asyncio, or what a shell has in its place."""

    def done(self) -> bool: ...
    def set_result(self, result: Any, /) -> None: ...
    def set_exception(self, error: BaseException, /) -> None: ...
    def __await__(self) -> Generator[Any, None, Any]: ...


class Alarm:
    """A function that is called later, unless it is cancelled before."""

    __slots__ = ("ring",)

    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring: Callable[[], None] | None = ring

    def cancel(self) -> None:
        self.ring = None


class Desk:
    """`promise` makes one, `chance` gives numbers from [0, 1), `dice` so many random bytes.

    `wake` is called when there is something to do while the shell is elsewhere, once until it has been here;
    what it raises goes to whoever wanted it, and nothing of that is left behind.
    """

    def __init__(
        self,
        promise: Callable[[], Promise],
        chance: Callable[[], float],
        dice: Callable[[int], bytes],
        wake: Callable[[], None],
    ) -> None:
        self.now = 0.0  # s, of the shell's clock
        self.promise, self.chance, self.dice = promise, chance, dice
        self.effects: list[Effect] = []
        self._wake = wake
        self._is_awake = False
        self._soon: list[Callable[[], None]] = []
        self._alarms: list[tuple[float, int, Alarm]] = []
        self._numbers = count()

    def do(self, effect: Effect) -> None:
        """Have it done, in its turn."""
        if not self._is_awake:
            self.wake()
        self.effects.append(effect)

    def wake(self) -> None:
        """Have the shell look here."""
        if not self._is_awake:
            self._wake()
            self._is_awake = True

    def soon(self, function: Callable[[], None]) -> None:
        """Call it in the next tick, when all that is said in this turn was said."""
        self.wake()
        self._soon.append(function)

    def later(self, seconds: float, function: Callable[[], None]) -> Alarm:
        """Call it after so many seconds."""
        self.wake()  # the shell must know when
        alarm = Alarm(function)
        heappush(self._alarms, (self.now + seconds, next(self._numbers), alarm))
        return alarm

    @property
    def due(self) -> float:
        """When the next tick must be, at the latest; inf: whenever."""
        alarms = self._alarms
        while alarms and alarms[0][2].ring is None:
            heappop(alarms)
        return alarms[0][0] if alarms else float("inf")

    def begin(self, now: float) -> None:
        """The shell is here, and tells something: a tick will follow."""
        self.now, self._is_awake = now, True

    def tick(self, now: float) -> list[Effect]:
        """What is to be done by now. When that is nothing, the shell goes elsewhere."""
        self.now, self._is_awake = now, True
        alarms = self._alarms
        while alarms and alarms[0][0] <= now:
            ring = heappop(alarms)[2].ring
            if ring is not None:
                ring()
        while self._soon:
            soon, self._soon = self._soon, []
            for function in soon:
                function()
        effects = self.effects
        if effects:
            self.effects = []
        else:
            self._is_awake = False
        return effects
