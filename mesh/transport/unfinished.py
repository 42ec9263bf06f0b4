"""How much lies in memory of messages that do not end? Decided from figures; nothing is read here.

ZeroMQ shows a message when all of its frames have come. What has come of one that does not end lies in memory
that no limit of ZeroMQ's counts, and nobody above hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from mesh.wire.limits import KIB, MIB

# Law 1: inside an unfinished message no whole one can come. So what a connection holds is at most what it has
#        received since the last look before which a message of it was heard.
# Law 2: a PUB hears no message at all; what comes to one are subscriptions, once, and signs of life.
# Law 3: only what grows by more than signs of life do is looked at soon again.

STRANGER, CLIENT, NODE, PUB = "before HELLO", "a client", "a node", "on the PUB"
UNPROVEN = 16 * KIB  # bytes that a stranger may hold,
MESSAGE = 72 * MIB  # and a node: the longest message, and what travels with it
SUBSCRIBING, A_SECOND = 64 * KIB, 100  # bytes to a PUB: at first, and for each second
TOGETHER = 64 * MIB  # bytes of all connections of one key, or of all strangers
ALL = 256 * MIB  # bytes of all connections but those of nodes, whatever their keys
NOISE = KIB  # bytes from one look to the next that are nothing


@dataclass(slots=True, eq=False)
class Guest:
    """A connection that came in. `peer` is what its socket says of the other end."""

    peer: Any
    address: str
    came: float
    role: str
    user: str = ""  # public CURVE key
    base: int = 0  # bytes received when a message of it was heard
    held: int = 0  # bytes since then
    ends: float = inf  # it is not wanted after that
    is_over: bool = False
    seen: int = 0  # bytes received at the last look
    slack: int = 0  # what `seen` and the bytes read differ by when nothing is unread
    unread: int = 0  # bytes of whole messages that nobody has read yet, and of an unfinished one


class Unfinished:
    """The unfinished messages of guests, by descriptor."""

    def __init__(self, max_content: int) -> None:
        self._holding: dict[int, Guest] = {}  # more than NOISE
        self._limits: dict[str, Callable[[float], int]] = {
            STRANGER: lambda age: UNPROVEN,
            CLIENT: lambda age: max_content * 11 // 10 + MIB,
            NODE: lambda age: MESSAGE,
            PUB: lambda age: SUBSCRIBING + int(A_SECOND * age),
        }

    def grows(self, number: int, guest: Guest, received: int, is_heard: bool) -> bool:
        """Take note of what it holds; is that more than it was?"""
        if is_heard and guest.role != PUB:
            guest.base = received
        before, guest.held = guest.held, received - guest.base
        if guest.held > NOISE:
            self._holding[number] = guest
        else:
            self.forget(number)
        return guest.held > before + NOISE

    def forget(self, number: int) -> None:
        """Forget a guest that is gone, or goes."""
        self._holding.pop(number, None)

    def excess(self, guest: Guest, now: float) -> str:
        """The excess that a guest holds, in words; "" if it has none."""
        limit = self._limits[guest.role](now - guest.came)
        if guest.held <= limit:
            return ""
        return f"more than {_size(limit, guest.role)} without a whole message, {guest.role}"

    def crowding(self) -> Iterator[tuple[int, str]]:
        """Of each key, of the strangers, and of all but nodes, those with most, until the others have room;
        and what they have too much of."""
        groups: dict[str, list[tuple[int, int]]] = {}
        for number, guest in self._holding.items():
            if guest.user or guest.role == STRANGER:
                groups.setdefault(guest.user, []).append((guest.held, number))
        gone = set[int]()
        for group in groups.values():
            gone.update(self._largest(group, TOGETHER))
        yield from ((number, f"{TOGETHER // MIB} MiB unfinished with its key") for number in gone)
        others = [
            (guest.held, number)
            for number, guest in self._holding.items()
            if guest.role in (STRANGER, CLIENT) and number not in gone
        ]
        for number in self._largest(others, ALL):
            yield number, f"{ALL // MIB} MiB unfinished in all connections of clients"

    def _largest(self, group: list[tuple[int, int]], most: int) -> Iterator[int]:
        """Those with most, until the others hold no more than `most`. One that is alone may hold all that its
        role allows."""
        total = sum(held for held, _ in group)
        for held, number in sorted(group, reverse=True):
            if total <= max(most, self._limits[self._holding[number].role](0.0)):
                return
            total -= held
            yield number


def _size(limit: int, role: str) -> str:
    """That of a PUB grows all the time, and an event's text should not."""
    if role == PUB:
        return "a node ever says"
    return size(limit)


def size(limit: int) -> str:
    """Return a number of bytes in words."""
    return f"{limit // MIB} MiB" if limit >= MIB else f"{limit // KIB} KiB"
