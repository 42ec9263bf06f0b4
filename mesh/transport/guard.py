"""Which connections hold too much, say nothing, or are too many? Decided from figures; nothing is read here.

ZeroMQ shows a message when all of its frames have come. What has come of one that does not end lies in memory
that no limit of ZeroMQ's counts, and nobody above hears of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from math import inf
from typing import Any

from mesh.wire.limits import KIB, MAX_CONTENT, MIB

# Law 1: inside an unfinished message no whole one can come. So what a connection holds is at most what it has
#        received since the last look before which a message of it was heard.
# Law 2: a PUB hears no message at all; what comes to one are subscriptions, once, and signs of life.
# Law 3: who has not said HELLO may hold little and be there for a moment, and makes room for newcomers.
# Law 4: only what grows by more than signs of life do is looked at soon again.

STRANGER, CLIENT, NODE, PUB = "before HELLO", "a client", "a node", "on the PUB"
UNPROVEN = 16 * KIB  # bytes that a stranger may hold,
MESSAGE = 72 * MIB  # and a node: the longest message, and what travels with it
SUBSCRIBING, A_SECOND = 64 * KIB, 100  # bytes to a PUB: at first, and for each second
TOGETHER = 64 * MIB  # bytes of all connections of one key, or of all strangers
HELLO_WITHIN = 10.0  # s
FAREWELL = 1.0  # s for the last words to one that is not wanted any more
NOISE = KIB  # bytes from one look to the next that are nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Bytes of a message's content, and connections: in all, that have not said HELLO, and of one address
    (but this machine's own) or key."""

    max_content: int = MAX_CONTENT
    connections: int = 4096
    strangers: int = 512
    of_address: int = 64
    of_key: int = 512


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


@dataclass(frozen=True, slots=True)
class Ending:
    """A connection that is to be ended. `why` "" is nobody's business."""

    number: int
    peer: Any
    address: str
    why: str


class Guard:
    """Guests by descriptor. `now` is in seconds, and so are all times."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._guests: dict[int, Guest] = {}
        self._strangers: dict[int, Guest] = {}  # the first has been here longest
        self._addresses: Counter[str] = Counter()
        self._keys: Counter[str] = Counter()
        self._holding: dict[int, Guest] = {}  # more than NOISE
        self._limits: dict[str, Callable[[float], int]] = {
            STRANGER: lambda age: UNPROVEN,
            CLIENT: lambda age: allowance.max_content * 11 // 10 + MIB,
            NODE: lambda age: MESSAGE,
            PUB: lambda age: SUBSCRIBING + int(A_SECOND * age),
        }

    # --- coming and going -----------------------------------------------------------------------------

    def came(self, number: int, peer: Any, address: str, now: float, role: str = STRANGER) -> list[Ending]:
        """A connection came in; who has to go for it, or itself."""
        self.gone(number)
        guest = self._guests[number] = Guest(peer, address, now, role)
        if role == STRANGER:
            self._strangers[number] = guest
        self._addresses[address] += 1
        most = self._allowance
        if self._addresses[address] > most.of_address and not _is_loopback(address):
            return [self._ended(number, f"more than {most.of_address} connections from there")]
        if len(self._strangers) > most.strangers:
            return [self._ended(self._oldest(), f"more than {most.strangers} connections without a HELLO")]
        if len(self._guests) > most.connections:
            oldest = self._oldest() if self._strangers else number
            return [self._ended(oldest, f"more than {most.connections} connections")]
        return []

    def proven(self, number: int, role: str, user: str) -> list[Ending]:
        """It has said a good HELLO."""
        guest = self._guests.get(number)
        if guest is None or guest.is_over or guest.role != STRANGER:
            return []
        self._strangers.pop(number, None)
        guest.role, guest.user = role, user
        self._keys[user] += 1
        if user and self._keys[user] > self._allowance.of_key:
            return [self._ended(number, f"more than {self._allowance.of_key} connections with its key")]
        return []

    def unwanted(self, number: int, now: float) -> None:
        """We have hung up: it may hear why, and then it goes."""
        if number in self._guests:
            self._guests[number].ends = min(self._guests[number].ends, now + FAREWELL)

    def gone(self, number: int) -> str:
        """It is no more; the address that it had."""
        guest = self._guests.pop(number, None)
        if guest is None:
            return ""
        self._strangers.pop(number, None)
        self._holding.pop(number, None)
        _less(self._addresses, guest.address)
        if guest.role not in (STRANGER, PUB):
            _less(self._keys, guest.user)
        return guest.address

    def ending(self, number: int) -> None:
        """It is being ended: nobody has to look at it any more."""
        if number in self._guests:
            self._guests[number].is_over = True
            self._strangers.pop(number, None)
            self._holding.pop(number, None)

    # --- looking --------------------------------------------------------------------------------------

    def look(
        self, received: Mapping[int, int | None], heard: Collection[int], now: float
    ) -> tuple[list[Ending], set[int]]:
        """Who is to go, and whose unfinished messages grow.

        `received`: bytes by descriptor, None where the system does not tell. `heard`: whose messages were
        heard since the last look. With the same figures it may be asked again, once more was heard.
        """
        growing = {
            number for number, count in received.items() if self._grows(number, count, number in heard)
        }
        endings = []
        for number in received:
            guest = self._guests.get(number)
            if guest is None or guest.is_over:
                continue
            why = self._why(guest, number in heard, now)
            if why is not None:
                endings.append(self._ended(number, why))
        ending = {each.number for each in endings}
        return endings + self._too_much_together(ending), growing - ending

    def _grows(self, number: int, received: int | None, is_heard: bool) -> bool:
        """Take note of what it holds; is that more than it was?"""
        guest = self._guests.get(number)
        if guest is None or guest.is_over or received is None:
            return False
        if is_heard and guest.role != PUB:
            guest.base = received
        before, guest.held = guest.held, received - guest.base
        if guest.held > NOISE:
            self._holding[number] = guest
        else:
            self._holding.pop(number, None)
        return guest.held > before + NOISE

    def _why(self, guest: Guest, is_heard: bool, now: float) -> str | None:
        """Why it has to go; None: it may stay."""
        limit = self._limits[guest.role](now - guest.came)
        if guest.held > limit:
            return f"more than {_size(limit, guest.role)} without a whole message, {guest.role}"
        if guest.role == STRANGER and not is_heard and now - guest.came > HELLO_WITHIN:
            return f"no HELLO within {HELLO_WITHIN:g} s"
        return "" if now >= guest.ends else None

    def _too_much_together(self, ending: Collection[int]) -> list[Ending]:
        """Of each key, and of the strangers, those with most go until the others have room."""
        groups: dict[str, list[tuple[int, int]]] = {}
        for number, guest in self._holding.items():
            if (guest.user or guest.role == STRANGER) and number not in ending:
                groups.setdefault(guest.user, []).append((guest.held, number))
        endings, why = [], f"more than {TOGETHER // MIB} MiB unfinished with its key"
        for group in groups.values():
            total = sum(held for held, _ in group)
            for held, number in sorted(group, reverse=True):
                # One that is alone may hold all that its role allows.
                if total <= max(TOGETHER, self._limits[self._guests[number].role](0.0)):
                    break
                total -= held
                endings.append(self._ended(number, why))
        return endings

    def _oldest(self) -> int:
        return next(iter(self._strangers))

    def _ended(self, number: int, why: str) -> Ending:
        guest = self._guests[number]
        return Ending(number, guest.peer, guest.address, why)


def _less(count: Counter[str], of: str) -> None:
    count[of] -= 1
    if not count[of]:
        del count[of]


def _size(limit: int, role: str) -> str:
    """That of a PUB grows all the time, and an event's text should not."""
    if role == PUB:
        return "a node ever says"
    return f"{limit // MIB} MiB" if limit >= MIB else f"{limit // KIB} KiB"


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:  # it was gone before it could be asked
        return False
