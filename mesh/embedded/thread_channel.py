"""Passes items from one thread's event loop to another's, through a queue with one wake-up per turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

MOST = 4096  # items; the windows of streams are smaller
TURN = 128  # items per turn of the loop

T = TypeVar("T")


class ThreadChannel(Generic[T]):
    """A one-way queue between threads. `hear(items, is_last)` receives the items in the reader's loop."""

    # A deque is safe between two threads, and the reader clears its flag before it reads, so that later items
    # wake it again. No item is missed, and at worst the reader is woken once too often.

    def __init__(self, loop: asyncio.AbstractEventLoop, hear: Callable[[Sequence[T], bool], None]) -> None:
        self._loop, self._hear = loop, hear
        self._items: deque[T] = deque()
        self._is_woken = False
        self._has_ended = self._is_over = False

    def put_item(self, item: T) -> bool:
        """Append an item, in the writer's thread; return False if the queue is full.

        An item after the end is dropped.
        """
        if len(self._items) >= MOST:
            return False
        if not self._has_ended:
            self._items.append(item)
            self._wake()
        return True

    def end_stream(self) -> None:
        """End the queue, in the writer's thread: the reader gets the waiting items and the end."""
        self._has_ended = True
        self._wake()

    def stop(self) -> None:
        """Stop reading, in the reader's loop: waiting and later items are dropped."""
        self._is_over = True
        self._items.clear()

    def read_arrived(self) -> None:
        """Pass on up to TURN waiting items, in the reader's loop; later turns pass on the rest."""
        self._is_woken = False
        if self._is_over:
            return
        items = self._items
        ends = self._has_ended  # read first: no items follow the end
        some = [items.popleft() for _ in range(min(TURN, len(items)))]
        self._is_over = ends and not items
        if items:
            self._is_woken = True
            self._loop.call_soon(self.read_arrived)
        if some or self._is_over:
            self._hear(some, self._is_over)

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # the reader's loop has ended
                self._loop.call_soon_threadsafe(self.read_arrived)
