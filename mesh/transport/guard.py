"""Limits on inbound connections: their number, their memory, and the time until a HELLO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from mesh.transport.unfinished import PUB, STRANGER, Guest, Unfinished
from mesh.transport.unread import Unread
from mesh.wire.limits import MAX_CONTENT

# Law: a connection without a HELLO may hold little and stay briefly, and makes room for newcomers.

HELLO_WITHIN = 10.0  # s
FAREWELL = 1.0  # s for the last message to a closed connection
NOTHING_READ: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Limits of bytes per message and of connections.

    Connections are limited in total, without a HELLO, per address (except for this machine) and per key.
    """

    max_content: int = MAX_CONTENT
    connections: int = 4096
    strangers: int = 512
    of_address: int = 64
    of_key: int = 512


@dataclass(frozen=True, slots=True)
class Ending:
    """A connection to be closed. An empty `why` is not reported."""

    number: int
    peer: Any
    address: str
    why: str


class Guard:
    """The inbound connections by descriptor. `now` and all other times are in seconds."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._guests: dict[int, Guest] = {}
        self._strangers: dict[int, Guest] = {}  # oldest first
        self._addresses: Counter[str] = Counter()
        self._keys: Counter[str] = Counter()
        self._unfinished = Unfinished(allowance.max_content)
        self._unread = Unread()

    # --- arrival and departure ------------------------------------------------------------------------

    def add_guest(
        self, number: int, peer: Any, address: str, now: float, role: str = STRANGER
    ) -> list[Ending]:
        """Add an inbound connection.

        Return the connections to close to make room, which may include the new one.
        """
        self.forget_guest(number)
        guest = self._guests[number] = Guest(peer, address, now, role)
        if role == STRANGER:
            self._strangers[number] = guest
        self._addresses[address] += 1
        most = self._allowance
        if self._addresses[address] > most.of_address and not _is_loopback(address):
            return [self._ending_of(number, f"more than {most.of_address} connections from that address")]
        if len(self._strangers) > most.strangers:
            return [
                self._ending_of(self._oldest(), f"more than {most.strangers} connections without a HELLO")
            ]
        if len(self._guests) > most.connections:
            oldest = self._oldest() if self._strangers else number
            return [self._ending_of(oldest, f"more than {most.connections} connections")]
        return []

    def proven(self, number: int, role: str, user: str) -> list[Ending]:
        """Record that a connection has sent a valid HELLO.

        Return the connections to close: the connection itself, if its key has too many.
        """
        guest = self._guests.get(number)
        if guest is None or guest.is_over or guest.role != STRANGER:
            return []
        self._strangers.pop(number, None)
        guest.role, guest.user = role, user
        self._keys[user] += 1
        if user and self._keys[user] > self._allowance.of_key:
            return [
                self._ending_of(number, f"more than {self._allowance.of_key} connections with the same key")
            ]
        return []

    def unwanted(self, number: int, now: float) -> None:
        """Record that this node has hung up. The connection may receive the reason, and is then closed."""
        if number in self._guests:
            self._guests[number].ends = min(self._guests[number].ends, now + FAREWELL)

    def forget_guest(self, number: int) -> str:
        """Forget a closed connection, and return its address, or "" if it was not known."""
        guest = self._guests.pop(number, None)
        if guest is None:
            return ""
        self._strangers.pop(number, None)
        self._forget_bytes(number)
        _less(self._addresses, guest.address)
        if guest.role not in (STRANGER, PUB):
            _less(self._keys, guest.user)
        return guest.address

    def ending(self, number: int) -> None:
        """Mark a connection that is being closed, which needs no further checks."""
        if number in self._guests:
            self._guests[number].is_over = True
            self._strangers.pop(number, None)
            self._forget_bytes(number)

    # --- checks ---------------------------------------------------------------------------------------

    def check_connections(
        self,
        received: Mapping[int, int | None],
        heard: Collection[int],
        now: float,
        read: Mapping[int, int] = NOTHING_READ,
        emptied: Collection[int] = (),
    ) -> tuple[list[Ending], set[int]]:
        """Return the connections to close, and those whose bytes in memory grow.

        `received` are bytes by descriptor, None if the system does not report them. `read` are bytes of whole
        messages. Both count since the connection began. `heard` are descriptors whose messages were read
        since the last check. `emptied` are descriptors whose socket was empty at some time since then. After
        more messages were read, the check may be repeated with the same `received`.
        """
        growing, endings = set[int](), list[Ending]()
        for number, count in received.items():
            guest = self._guests.get(number)
            if guest is None or guest.is_over:
                continue
            is_heard, is_empty = number in heard, number in emptied
            if count is not None and self._grows(number, guest, count, is_heard, read, is_empty):
                growing.add(number)
            why = self._why(guest, is_heard, now)
            if why is not None:
                endings.append(self._ending_of(number, why))
                self._forget_bytes(number)
        endings += [self._ending_of(number, why) for number, why in self._crowding()]
        growing.difference_update(ending.number for ending in endings)
        return endings, growing

    def _grows(
        self, number: int, guest: Guest, count: int, is_heard: bool, read: Mapping[int, int], is_empty: bool
    ) -> bool:
        unread_grows = self._unread.grows(number, guest, count, read.get(number, 0), is_empty)
        return self._unfinished.grows(number, guest, count, is_heard) or unread_grows

    def _crowding(self) -> Iterator[tuple[int, str]]:
        crowding = {number: f"more than {why}" for number, why in self._unfinished.crowding()}
        yield from crowding.items()
        yield from ((number, why) for number, why in self._unread.crowding() if number not in crowding)

    def _forget_bytes(self, number: int) -> None:
        self._unfinished.forget_connection(number)
        self._unread.forget_connection(number)

    def _why(self, guest: Guest, is_heard: bool, now: float) -> str | None:
        """Return the reason to close the connection ("": not to be reported), or None to keep it."""
        if excess := self._unfinished.excess(guest, now) or self._unread.excess(guest):
            return excess
        if guest.role == STRANGER and not is_heard and now - guest.came > HELLO_WITHIN:
            return f"no HELLO within {HELLO_WITHIN:g} s"
        return "" if now >= guest.ends else None

    def _oldest(self) -> int:
        return next(iter(self._strangers))

    def _ending_of(self, number: int, why: str) -> Ending:
        guest = self._guests[number]
        return Ending(number, guest.peer, guest.address, why)


def _less(count: Counter[str], of: str) -> None:
    count[of] -= 1
    if not count[of]:
        del count[of]


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:  # closed before its address was read
        return False
