"""Passes time in a mesh in memory, from one timer to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mesh.testing.clock import Clock
from mesh.testing.network import Network

QUIET = 8  # idle turns after which tasks count as waiting
OFTEN = 100  # timers per turn of the loop, at most
TURNS = 1000  # turns for tasks that never rest
BUSY = 10  # turns, once TURNS were not enough


def never() -> bool:
    return False


class Passing:
    """The clock and network of a mesh, in an event loop that may change between uses."""

    def __init__(self, is_virtual: bool) -> None:
        self.clock = Clock(is_virtual, self._rung)
        self.net = Network(self.clock)
        self.loop: asyncio.AbstractEventLoop | None = None
        self._one_at_a_time = asyncio.Lock()

    def use_running_loop(self) -> None:
        """Use the running event loop, until this method is called in another."""
        loop = asyncio.get_running_loop()
        if loop is not self.loop:
            self.loop, self._one_at_a_time = loop, asyncio.Lock()
            self.net.use_loop(loop)
            self.clock.use_loop(loop)

    async def let(self, duration: float, is_enough: Callable[[], bool] = never) -> None:
        """Let `duration` s pass, or fewer when `is_enough` returns True. Tasks run in between."""
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
        """Wait until everything in transit has arrived and all tasks wait, for at most `most` turns.

        Return how many turns of the loop this may take the next time.
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
        """Let time pass as `let` does, but without letting tasks run."""
        end = self.clock.time() + duration
        self.net.deliver_all()
        while not is_enough() and self.clock.step(end):
            self.net.deliver_all()

    def _rung(self) -> None:
        now = self.clock.machine()
        with self.clock.standing():
            while self.clock.step(now):
                self.net.deliver_all()
