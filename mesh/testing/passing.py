"""How does time pass in a mesh in memory? From one thing that is due to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mesh.testing.clock import Clock
from mesh.testing.network import Network

QUIET = 8  # turns of the loop in which nothing stirs: then all tasks wait for something
OFTEN = 100  # timers between two turns of the loop
TURNS = 1000  # in which tasks may go on at one moment; if they have not come to an end then they never do,
BUSY = 10  # and from then on have so many


def never() -> bool:
    """Let time pass to its end."""
    return False


class Passing:
    """The clock of a mesh and its network, in a loop, which may be another one later."""

    def __init__(self, is_virtual: bool) -> None:
        self.clock = Clock(is_virtual, self._rung)
        self.net = Network(self.clock)
        self.loop: asyncio.AbstractEventLoop | None = None
        self._one_at_a_time = asyncio.Lock()

    def enter(self) -> None:
        """Go on in the loop that runs here."""
        loop = asyncio.get_running_loop()
        if loop is not self.loop:
            self.loop, self._one_at_a_time = loop, asyncio.Lock()
            self.net.enter(loop)
            self.clock.enter(loop)

    async def let(self, duration: float, is_enough: Callable[[], bool] = never) -> None:
        """Let so many seconds pass, or fewer, if that is enough. Tasks have their turns in between."""
        async with self._one_at_a_time:
            end, number = self.clock.machine() + duration, 0
            with self.clock.standing():
                most = await self._settle(TURNS)
                while not is_enough() and self.clock.step(end):
                    self.net.deliver_all()
                    number += 1
                    if self.net.is_touched or number % OFTEN == 0:
                        most = await self._settle(most)
                await self._settle(most)

    async def _settle(self, most: int) -> int:
        """Until all that is on its way has arrived, and nobody does anything about it any more. Returns how
        many turns of the loop that may take the next time.
        """
        quiet = 0
        for _ in range(most):
            self.net.is_touched = False
            await asyncio.sleep(0)
            self.net.deliver_all()
            quiet = 0 if self.net.is_touched else quiet + 1
            if quiet == QUIET:
                return most
        return BUSY

    def let_at_once(self, duration: float, is_enough: Callable[[], bool] = never) -> None:
        """As `let`, while there are no tasks."""
        end = self.clock.time() + duration
        self.net.deliver_all()
        while not is_enough() and self.clock.step(end):
            self.net.deliver_all()

    def _rung(self) -> None:
        """Something is due, and perhaps more of it, one by one."""
        now = self.clock.machine()
        with self.clock.standing():
            while self.clock.step(now):
                self.net.deliver_all()
