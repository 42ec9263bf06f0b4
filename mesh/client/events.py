"""What happened to a client, for those who follow it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from weakref import WeakSet


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to this client.

    "connected", "disconnected", "refused": by its node. "refused-later": a message that had to wait for
    its master and was then refused, while nobody awaited its last answer; the text is its id and why.
    """

    kind: str
    text: str


class Following:
    """What happens to a client from the moment this was made: `async for event in m.events()`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._is_over = False

    def put(self, event: Event | None) -> None:
        self._queue.put_nowait(event)

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Event:
        event = None if self._is_over else await self._queue.get()
        if event is None:
            self._is_over = True
            raise StopAsyncIteration
        return event


class Events:
    """All who follow one client. Who stops to has nothing to say."""

    def __init__(self) -> None:
        self._all: WeakSet[Following] = WeakSet()
        self._is_over = False

    def follow(self) -> Following:
        """One more, from now on."""
        following = Following()
        self._all.add(following)
        if self._is_over:
            following.put(None)
        return following

    def tell(self, kind: str, text: str) -> None:
        for following in list(self._all):
            following.put(Event(kind, text))

    def end(self) -> None:
        """Nothing more will happen."""
        self._is_over = True
        for following in list(self._all):
            following.put(None)
