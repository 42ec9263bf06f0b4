"""Events of a client, and the iterators that follow them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakSet

LOG = logging.getLogger("mesh.client")
KEPT = 1000  # unread events per iterator


class EventKind(NamedTuple):
    """A kind of events: its meaning, the content of `text`, and whether it is logged as a warning."""

    meaning: str
    text: str
    is_warning: bool = False


# docs/client.md has a table of them.
KINDS: Mapping[str, EventKind] = {
    "connected": EventKind("A node accepted the client, at first or again.", "session name"),
    "disconnected": EventKind("The connection was lost; the client searches for a node.", "node and reason"),
    "refused": EventKind("A node refused the client.", "reason and code"),
    "waiting": EventKind(
        "Work waits for an unreachable node, for 5 s, and then each minute.",
        "time, node, and numbers of messages, calls, subscriptions and other work",
        True,
    ),
    "session_moved": EventKind(
        "The client is at another node. `resumed`: whether its session came along, and so its subscriptions; "
        "otherwise they began anew.",
        "former and present node",
    ),
    "gap": EventKind(
        "Messages of subscriptions were dropped: they were read too slowly, exceeded a limit in transit, or "
        "a node ended. Once a second at most.",
        "number, if known, query, and reason",
        True,
    ),
    "refused-later": EventKind(
        "A message that had waited for its master was refused, and no call awaited its final answer.",
        "message id and reason",
        True,
    ),
    "settled-late": EventKind(
        "The ack at the end of a block came too late at the node that had delivered the message.",
        "reason",
        True,
    ),
    "blocked": EventKind("The event loop stood still for 5 s or more.", "seconds, and a hint", True),
    "saved-nodes": EventKind("The saved list of nodes is damaged, or was not written.", "reason", True),
    "mdns": EventKind("A search for nodes by multicast DNS failed.", "reason"),
}
WARNINGS = frozenset(name for name, kind in KINDS.items() if kind.is_warning)


@dataclass(frozen=True, slots=True)
class Event:
    """An event of this client. `kind` is one of `KINDS`, which has its meaning and the content of `text`."""

    kind: str
    text: str
    resumed: bool | None = None  # of "session_moved" only


def log_event(event: Event, session: str, node: str) -> None:
    """Log an event to `mesh.client`; a serious one as a warning, which Python shows by default.

    A deliberate close is not logged.
    """
    if event == Event("closed", ""):  # closed on purpose
        return
    level = logging.WARNING if event.kind in WARNINGS else logging.INFO
    known = {"session": session, "node": node, "event": event.kind}
    said = {"connected": "connected", "refused-later": f"refused later: {event.text}"}
    text = said.get(event.kind, f"{event.kind}: {event.text}")
    LOG.log(level, "%s at %s: %s", session or "a client", node or "no node", text, extra=known)


class Following:
    """An iterator over the events that a client reports after the iterator was created."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._is_over = False

    def append_event(self, event: Event | None) -> None:
        """Append an event; None ends the iteration. Beyond KEPT unread events, the oldest is dropped."""
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
    """The event iterators of one client. An iterator that nothing else refers to is dropped."""

    def __init__(self) -> None:
        self._all: WeakSet[Following] = WeakSet()
        self._is_over = False

    def follow(self) -> Following:
        """Return an iterator over later events; it ends immediately if the client is closed."""
        following = Following()
        self._all.add(following)
        if self._is_over:
            following.append_event(None)
        return following

    def announce(self, event: Event) -> None:
        """Append `event` to all iterators. The event "closed" ends them instead."""
        if event.kind == "closed":
            self._end_all()
            return
        for following in list(self._all):
            following.append_event(event)

    def _end_all(self) -> None:
        self._is_over = True
        for following in list(self._all):
            following.append_event(None)
