"""The state of the model of deliveries: a job in the part of node 0, and a client that moves."""

from __future__ import annotations

from typing import NamedTuple

from tools.models.sessions.rules import is_claimable

READY, DELIVERED, AWAITED, DONE = "ready", "delivered", "awaited", "done"  # states of the job
NOTHING, WORKING, ACKED, ANSWERED, LEASE_OVER = range(5)  # what the client has
UNCLAIMED, CLAIMED, REFUSED = range(3)
NOBODY, OTHER = 0, -1  # owners that are no attach number


class Part(NamedTuple):
    """The part of node 0 with the job."""

    is_up: bool
    job: str
    owner: int  # attach number, NOBODY or OTHER
    is_redelivered: bool
    is_marked: bool
    known: int  # highest attach number that the part knows

    def delivered(self, owner: int) -> Part:
        return Part(True, DELIVERED, owner, *self[3:])

    def done(self) -> Part:
        return Part(True, DONE, NOBODY, *self[3:])

    def learned(self, attach: int) -> Part:
        return Part(*self[:5], attach)

    @property
    def is_claimable(self) -> bool:
        return is_claimable(self.job in (DELIVERED, AWAITED), self.owner)


class Guest(NamedTuple):
    """Node 1 or 2, which the client may visit."""

    is_up: bool = True
    attach: int = 0
    claim: int = UNCLAIMED


class Client(NamedTuple):
    """The client."""

    at: int  # -1: not connected
    attach: int
    has: int


class State(NamedTuple):
    """A state of the model."""

    part: Part
    guests: tuple[Guest, ...]
    client: Client
    was_delivered: bool
    was_answered: bool
    cut: int  # guests that are cut off from node 0
    crashes: int  # left
    cuts: int  # left

    def with_guest(self, i: int, guest: Guest) -> State:
        guests = (guest, self.guests[1]) if i == 1 else (self.guests[0], guest)
        return State(self.part, guests, *self[2:])

    def with_client(self, client: Client) -> State:
        return State(self.part, self.guests, client, *self[3:])

    def with_part(self, part: Part, client: Client | None = None) -> State:
        return State(part, self.guests, client or self.client, *self[3:])
