"""Interface of sinks, which are owed messages of a master's log, as the router sees them."""

from __future__ import annotations

from typing import Protocol

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.shares import Indices
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope


class Sink(Protocol):
    """A receiver of the log's messages: a subscription, an inbox, a queue, a group, a peer, or a site."""

    key: bytes  # name of its record in the store
    owner: str  # name of the peer; "" otherwise
    floors: dict[bytes, int]  # by other master: its log position at the start
    paces: bool  # publishers wait for it while it progresses

    def expect(self, stored: StoredEnvelope, sign: int) -> None:
        """Add (`sign` +1) or subtract (-1) the bytes of an accepted envelope that is being stored.

        The caller subtracts them when the envelope is on disk or was refused.
        """

    def offer(self, slice_: EnvelopeSlice, now: float) -> None:
        """Accept a slice, or drop it according to the policy of the sink."""

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        """Return the first position in this node's log that is owed for this topic and not settled.

        Return infinity if nothing is owed for it.
        """

    def alive(self, now: float) -> bool:
        """Return whether the sink makes progress, so that publishers should wait for it briefly."""


Targets = list[tuple[Sink, Indices | None]]  # sink, its messages (None = all)


class AddressResolver(Protocol):
    """The component that resolves addresses of one kind."""

    def addressed(self, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """Return (copy, targets) for each addressee, and the number of receivers to report to the sender.

        Raises: LocalError.
        """

    def taker(self, name: str) -> Sink:
        """Return the sink that is owed a restored message to the address `name`.

        A missing sink is created.
        """
