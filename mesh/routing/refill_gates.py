"""Items that wait while logs of masters are refilled, and the routes of refilled logs."""

# Law 1: of a refilled log all newer items wait, by whichever peer they come.
# Law 2: they follow in the order of the log: each after the refilled envelopes before its place.
# Law 3: a refilled log has one route: what other peers send comes by its next hop, or with the next refill.
# Law 4: an item before the place where a refill begins is a repeat, and is not relayed again: all subscribers
#        here have acknowledged that part of the log, and later subscriptions must not receive it.

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from mesh.mapping.rules import ANY_DOMAIN
from mesh.routing.stored_envelope import StoredEnvelope

WAITING = 10_000  # items of one domain that wait for a refill


def place_of(stored: StoredEnvelope) -> tuple[int, bool]:
    """Return the place of an item in the log of its master: a transient one follows a position."""
    return stored.position or stored.after, not stored.position


@dataclass(slots=True)
class RefillGate:
    """The items of one domain that wait for a refill from position `first` on, and calls that follow them."""

    master: bytes
    first: int = 0  # 0: unknown
    waiting: list[StoredEnvelope] = field(default_factory=list)
    calls: list[Callable[[], None]] = field(default_factory=list)

    def take_before(self, end: int) -> list[StoredEnvelope]:
        """Remove and return the items before position `end`, in the order of the log."""
        taken = [stored for stored in self.waiting if place_of(stored)[0] < end]
        self.waiting = [stored for stored in self.waiting if place_of(stored)[0] >= end]
        return sorted(taken, key=place_of)


@dataclass(frozen=True, slots=True)
class RefilledRoute:
    """The next hop of a log that was refilled from position `first`, 0 if unknown, to `end`.

    `lacks()` returns whether the hop is linked, but does not have all queries of this node yet.
    """

    master: bytes
    hop: bytes
    first: int
    end: int
    lacks: Callable[[], bool]


class RefillGates:
    """The closed gates and the routes by domain; "*" stands for the domains without one of their own."""

    def __init__(self) -> None:
        self._gates: dict[str, RefillGate] = {}
        self._routes: dict[str, RefilledRoute] = {}
        self.is_used = False  # some gate is closed, or some log has a route

    # --- routes -----------------------------------------------------------------------------------------

    def set_route(self, domain: str, route: RefilledRoute) -> None:
        self._routes[domain] = route
        self.is_used = True

    def remove_route(self, domain: str) -> None:
        self._routes.pop(domain, None)
        self.is_used = bool(self._gates or self._routes)

    def is_stray(self, stored: StoredEnvelope, named: Callable[[], Collection[str]]) -> bool:
        """Return whether an item is a repeat, or comes by the next hop of a refilled log or the next refill.

        A refill has no transient messages. `named()` returns the domains with routes of their own.
        """
        domain, position = stored.envelope.domain, stored.position
        gate = self.gate_of(domain)
        if gate is not None and gate.master == stored.master and 0 < position < gate.first:
            return True
        route = self._routes.get(domain) or self._routes.get(ANY_DOMAIN)
        if route is None or stored.master != route.master:
            return False
        if domain not in self._routes and domain in named():
            return False
        if stored.source == route.hop:
            return 0 < position < route.first
        return (position > 0 or stored.after > route.end) and not route.lacks()

    # --- gates ------------------------------------------------------------------------------------------

    def gate_of(self, domain: str) -> RefillGate | None:
        return self._gates.get(domain) or self._gates.get(ANY_DOMAIN)

    def close_gate(self, domain: str, master: bytes, first: int = 0) -> None:
        """Let the items of a domain wait for a refill that begins at position `first`; 0 means unknown.

        Items that wait already stay.
        """
        gate = self._gates.setdefault(domain, RefillGate(master))
        gate.master, gate.first = master, first
        self.is_used = True

    def add_item(self, stored: StoredEnvelope) -> bool:
        """Let an item wait, and return True; return False if it need not."""
        gate = self.gate_of(stored.envelope.domain)
        if gate is None or gate.master != stored.master:
            return False
        gate.waiting.append(stored)
        return True

    def full_gates(self) -> list[str]:
        """Return the domains of which more than WAITING items wait."""
        return [domain for domain, gate in self._gates.items() if len(gate.waiting) > WAITING]

    def take_before(self, domain: str, end: int) -> list[StoredEnvelope]:
        """Remove and return the items of a closed gate before position `end`, in the order of the log."""
        gate = self._gates.get(domain)
        return gate.take_before(end) if gate is not None else []

    def remove_gate(self, domain: str) -> RefillGate | None:
        gate = self._gates.pop(domain, None)
        self.is_used = bool(self._gates or self._routes)
        return gate

    def call_when_open(self, domain: str, call: Callable[[], None]) -> None:
        """Call `call` when no refill holds items of a domain: now, or after these. "": of any domain."""
        gate = self.gate_of(domain) if domain else next(iter(self._gates.values()), None)
        if gate is None:
            call()
        else:
            gate.calls.append(partial(self.call_when_open, domain, call))
