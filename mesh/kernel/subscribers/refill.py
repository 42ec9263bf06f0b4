"""The refill of one master's log after a change of a slave's next hop, and what the slave stores of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.backups import holders_of
from mesh.mapping.choice import choose
from mesh.mapping.decision import Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import ANY_DOMAIN
from mesh.mapping.strata import Distance
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskRefill
from mesh.wire.codec import reader
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Refilled


class ParentRow(msgspec.Struct, frozen=True, array_like=True):
    """The stored master and next hop of a domain, and the position from which an unfinished refill counts.

    `near` is the last node before the master on the route by `hop`, to which the master owes what this node
    has not received. `former` is that of an earlier route.
    """

    master: str
    hop: bytes
    former: bytes = b""
    at: int = 0
    is_open: bool = False
    near: bytes = b""


read_row = reader(ParentRow, 1024)


@dataclass(slots=True, eq=False)
class Refill:
    """The refill of one master's log after a change of the next hop."""

    ask: AskRefill  # the next question
    parent: bytes
    master: bytes  # b"" until the first reply
    floor: int  # positions up to it have come from the former parent
    id: bytes  # `source` of its envelopes
    hop: bytes = b""  # the former next hop, if this process has used it
    open: dict[int, int] = field(default_factory=dict)  # bytes by position, not yet acknowledged here
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
    """Return the live next hop of the domain, or None if there is none, or more than one."""
    claims = mapping.of_domain(domain, nodes)
    if not claims or len(holders_of(claims)) > 1:
        return None
    decision = choose(mapping.me, claims, nodes, (), claims[0].by, domain)
    return nodes.named(decision.node) if decision.kind is Kind.FORWARD else None


def near_master(row: ParentRow, own: Distance | None, nodes: Nodes, me: bytes) -> bytes:
    """Return the last node before the master of the last known route by the next hop in `row`.

    `own` is the present route of this node `me`.
    """
    hops = [nodes.named(name) for name in own.way[1:2] + own.way[-2:-1]] if own is not None else []
    uuids = [hop.node.uuid if hop is not None else b"" for hop in hops]
    if len(uuids) < 2 or uuids[0] != row.hop:
        return row.near
    return (me if own is not None and len(own.way) == 2 else uuids[1]) or row.near
