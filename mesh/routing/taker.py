"""Takers are owed messages in a master's log. This is all that a router needs to know of one."""

from __future__ import annotations

from typing import Protocol

from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.routing.shares import Indices
from mesh.wire.envelope import Envelope


class Taker(Protocol):
    """A subscription, an inbox, or a peer."""

    key: bytes  # name of its record in the store
    owner: str  # of a peer: its name
    floors: dict[bytes, int]  # another master -> where its log was at first
    paces: bool  # do publishers wait for it, as long as it is alive?

    def comes(self, parcel: Parcel, sign: int) -> None:
        """That was accepted for it, and is on its way to the disk; -1: it is so no more."""

    def offer(self, portion: Portion, now: float) -> None:
        """Here is something for it."""

    def owed_from(self, key: str, domain: str, xml: str = "") -> float:
        """The first place in our log of which it was promised such a message, and has not settled it."""

    def alive(self, now: float) -> bool:
        """Does it make progress? Then publishers do well to wait for it a little."""


Targets = list[tuple[Taker, Indices | None]]  # who gets which messages of an envelope; None = all


class Addressees(Protocol):
    """The part of a node that knows who is meant by addresses of one kind."""

    def addressed(self, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """(a copy for each of them, how many have it at once). LocalError when it is for nobody."""

    def taker(self, name: str) -> Taker:
        """That of the address, after a restart."""
