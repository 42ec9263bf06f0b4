"""What happened to a client, for those who follow it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from weakref import WeakSet

LOG = logging.getLogger("mesh.client")
WARNINGS = ("waiting", "gap", "refused-later", "blocked")
KEPT = 1000  # events that wait for somebody who follows


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to this client.

    "connected", "disconnected", "refused": by its node. "waiting": its node has been away for 5 s, for
    another minute …; the text says what waits for it. "gap": messages that were dropped, because they were
    read too slowly, or had no room on the way from another node or site. "refused-later": a message that had
    to wait for its master and was then refused, while nobody awaited its last answer; the text is its id and
    why. "blocked": the event loop stood still for 5 s or more; the text says how long.
    """

    kind: str
    text: str


def log_event(event: Event, session: str, node: str) -> None:
    """Into the log `mesh.client`; what should not be missed as a warning, which Python shows by itself."""
    if event == Event("closed", ""):  # on purpose
        return
    level = logging.WARNING if event.kind in WARNINGS else logging.INFO
    known = {"session": session, "node": node, "event": event.kind}
    said = {"connected": "connected", "refused-later": f"refused after all: {event.text}"}
    text = said.get(event.kind, f"{event.kind}: {event.text}")
    LOG.log(level, "%s at %s: %s", session or "a client", node or "no node", text, extra=known)


class Following:
    """The events of a client from the moment this was made: `async for event in m.events()`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._is_over = False

    def put(self, event: Event | None) -> None:
        """The next one; None is the end. Of what nobody takes the newest are kept."""
        if self._queue.qsize() >= KEPT:
            self._queue.get_nowait()
        self._queue.put_nowait(event)

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Event:
        event = None if self._is_over else await self._queue.get()
        if event is None:
            self._is_over = True
            raise StopAsyncIteration
        return event


class Followers:
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

    def tell(self, event: Event) -> None:
        """What happened; that the client is closed is the end, whoever closed it."""
        if event.kind == "closed":
            self._end()
            return
        for following in list(self._all):
            following.put(event)

    def _end(self) -> None:
        """Nothing more will happen."""
        self._is_over = True
        for following in list(self._all):
            following.put(None)
