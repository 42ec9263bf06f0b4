"""How do two loops in two threads of a process hand each other things? By a deque, and one wake-up a turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

MOST = 4096  # things that wait, as in a pipe of ZeroMQ: the windows of the streams are what really bounds it
TURN = 128  # of them are taken before others get their turn

T = TypeVar("T")


class ThreadLane(Generic[T]):
    """One direction. `hear` gets what has come, in the loop that reads, and whether it was the last."""

    # A deque is safe between two threads, and whoever reads says so before it looks: what is put after that
    # wakes it again. So nothing is forgotten, and at worst it is woken once too often.

    def __init__(self, loop: asyncio.AbstractEventLoop, hear: Callable[[Sequence[T], bool], None]) -> None:
        self._loop, self._hear = loop, hear
        self._items: deque[T] = deque()
        self._is_woken = False
        self._has_ended = self._is_over = False

    def put(self, item: T) -> bool:
        """From the other thread. False: whoever reads takes nothing, and this one was not put there."""
        if len(self._items) >= MOST:
            return False
        if not self._has_ended:
            self._items.append(item)
            self._wake()
        return True

    def end(self) -> None:
        """From the other thread: nothing more will be put here."""
        self._has_ended = True
        self._wake()

    def stop(self) -> None:
        """In the loop that reads: what waits and what comes is heard no more."""
        self._is_over = True
        self._items.clear()

    def look(self) -> None:
        """In the loop that reads: take what has come."""
        self._is_woken = False
        if self._is_over:
            return
        items = self._items
        ends = self._has_ended  # before it is looked how much there is: nothing is put behind the end
        some = [items.popleft() for _ in range(min(TURN, len(items)))]
        self._is_over = ends and not items
        if items:
            self._is_woken = True
            self._loop.call_soon(self.look)
        if some or self._is_over:
            self._hear(some, self._is_over)

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # that loop has ended, and nobody reads any more
                self._loop.call_soon_threadsafe(self.look)
