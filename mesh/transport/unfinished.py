"""Memory of incomplete messages, computed from byte counts.

ZeroMQ delivers a message when all its frames have arrived. The frames of a message that never ends are in
memory that no limit of ZeroMQ counts, and that no reader sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from mesh.wire.limits import KIB, MIB

# Law 1: no whole message can arrive inside an incomplete one. A connection thus holds at most the bytes
# received since the last check that followed a read of one of its messages.
# Law 2: a PUB reads no messages. It receives subscriptions, once, and signs of life.
# Law 3: only connections that grow by more than signs of life are checked again soon.

STRANGER, CLIENT, NODE, PUB = "before HELLO", "a client", "a node", "on the PUB"
UNPROVEN = 16 * KIB  # bytes that a stranger may hold
MESSAGE = 72 * MIB  # bytes for a node: the longest message and overhead
SUBSCRIBING, A_SECOND = 64 * KIB, 100  # bytes for a PUB: initially, and per second
TOGETHER = 64 * MIB  # bytes of all connections of a key, or of all strangers
ALL = 256 * MIB  # bytes of all connections except those of nodes
NOISE = KIB  # bytes between two checks that are ignored


@dataclass(slots=True, eq=False)
class Guest:
    """An inbound connection. `peer` is the other end's address as its socket reports it."""

    peer: Any
    address: str
    came: float
    role: str
    user: str = ""  # public CURVE key
    base: int = 0  # bytes received when a message of it was read
    held: int = 0  # bytes since then
    ends: float = inf  # when it is closed
    is_over: bool = False
    seen: int = 0  # bytes received at the last check
    slack: int = 0  # difference of `seen` and read bytes if none is unread
    unread: int = 0  # bytes of whole and incomplete messages not read yet


class Unfinished:
    """The incomplete messages of connections, by descriptor."""

    def __init__(self, max_content: int) -> None:
        self._holding: dict[int, Guest] = {}  # with more than NOISE
        self._limits: dict[str, Callable[[float], int]] = {
            STRANGER: lambda age: UNPROVEN,
            CLIENT: lambda age: max_content * 11 // 10 + MIB,
            NODE: lambda age: MESSAGE,
            PUB: lambda age: SUBSCRIBING + int(A_SECOND * age),
        }

    def grows(self, number: int, guest: Guest, received: int, is_heard: bool) -> bool:
        """Update the bytes that a connection holds. Return whether they have grown by more than NOISE."""
        if is_heard and guest.role != PUB:
            guest.base = received
        before, guest.held = guest.held, received - guest.base
        if guest.held > NOISE:
            self._holding[number] = guest
        else:
            self.forget_connection(number)
        return guest.held > before + NOISE

    def forget_connection(self, number: int) -> None:
        self._holding.pop(number, None)

    def excess(self, guest: Guest, now: float) -> str:
        """Return why the connection must be closed: it holds more than its role may. "" if it does not."""
        limit = self._limits[guest.role](now - guest.came)
        if guest.held <= limit:
            return ""
        return f"more than {_size(limit, guest.role)} without a whole message, {guest.role}"

    def crowding(self) -> Iterator[tuple[int, str]]:
        """Yield the largest connections of each crowded group until the others fit, with the reason.

        Groups are the connections of each CURVE key, all strangers, and all strangers and clients together.
        """
        groups: dict[str, list[tuple[int, int]]] = {}
        for number, guest in self._holding.items():
            if guest.user or guest.role == STRANGER:
                groups.setdefault(guest.user, []).append((guest.held, number))
        gone = set[int]()
        for user, group in groups.items():
            whose = "with the same key" if user else "from all connections that have not logged in"
            for number in self._largest(group, TOGETHER):
                gone.add(number)
                yield number, f"{TOGETHER // MIB} MiB of incomplete messages {whose}"
        others = [
            (guest.held, number)
            for number, guest in self._holding.items()
            if guest.role in (STRANGER, CLIENT) and number not in gone
        ]
        for number in self._largest(others, ALL):
            yield number, f"{ALL // MIB} MiB of incomplete messages from all clients"

    def _largest(self, group: list[tuple[int, int]], most: int) -> Iterator[int]:
        """Yield the largest connections until the others hold at most `most`.

        A single connection may hold all that its role allows.
        """
        total = sum(held for held, _ in group)
        for held, number in sorted(group, reverse=True):
            if total <= max(most, self._limits[self._holding[number].role](0.0)):
                return
            total -= held
            yield number


def _size(limit: int, role: str) -> str:
    """Return the limit as text, which is constant for a PUB, although its limit grows."""
    if role == PUB:
        return "a node ever sends"
    return size(limit)


def size(limit: int) -> str:
    return f"{limit // MIB} MiB" if limit >= MIB else f"{limit // KIB} KiB"
