"""The refill of one master's log after a change of a slave's next hop."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.backups import holders_of
from mesh.mapping.choice import choose
from mesh.mapping.decision import Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import ANY_DOMAIN
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskRefill
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Refilled


@dataclass(slots=True, eq=False)
class Refill:
    """The refill of one master's log after a change of the next hop."""

    ask: AskRefill  # the next question
    parent: bytes
    master: bytes  # b"" until the first reply
    first: int  # position at which it begins; 0: unknown
    floor: int  # positions up to it have come from the former parent
    id: bytes  # `source` of its envelopes
    hop: bytes = b""  # the former next hop, if this process has used it
    open: dict[int, int] = field(default_factory=dict)  # bytes by position, not yet acknowledged here
    is_stored: bool = False  # its row is on disk
    is_asking: bool = False
    again_at: float = 0.0
    asked_at: float = 0.0

    @property
    def is_complete(self) -> bool:
        """True if all pages have arrived."""
        return 0 < self.ask.end < self.ask.at

    def take_page(
        self, page: Refilled, envelopes: Sequence[Envelope], named: Collection[str]
    ) -> list[StoredEnvelope]:
        """Turn the page, and return its envelopes of this domain that have not come from the former parent.

        The page has all that the parent sends here, also of domains whose route has not changed. `named` are
        the domains with rules of their own.
        """
        self.master = self.master or page.master
        self.ask = replace(self.ask, end=page.end, at=page.next)
        found = [
            StoredEnvelope(envelope, position, page.master, source=self.id)
            for position, envelope in zip(page.positions, envelopes, strict=True)
            if position > self.floor
            and self.ask.domain == (envelope.domain if envelope.domain in named else ANY_DOMAIN)
        ]
        self.open |= {stored.position: len(stored.envelope.body) for stored in found}
        return found


def next_hop(mapping: Mapping, nodes: Nodes, domain: str) -> Peer | None:
    """Return the live next hop of the domain, or None if there is none, more than one, or a backup."""
    claims = mapping.of_domain(domain, nodes)
    if not claims or len(holders_of(claims)) > 1 or mapping.is_backed_domain(domain):
        return None
    decision = choose(mapping.me, claims, nodes, (), claims[0].by, domain)
    return nodes.named(decision.node) if decision.kind is Kind.FORWARD else None


def is_master_of(master: str, mapping: Mapping, nodes: Nodes, domain: str) -> bool:
    """Return whether the rules name no other master of the domain, and no backup; a slave may know none."""
    is_backed = mapping.is_backed_domain(domain)
    return not is_backed and {*holders_of(mapping.of_domain(domain, nodes))} <= {master}
