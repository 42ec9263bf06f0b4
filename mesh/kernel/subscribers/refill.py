"""The refill of one master's log after a change of a slave's next hop, and what the slave stores of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.backups import holders_of
from mesh.mapping.choice import choose
from mesh.mapping.decision import Kind
from mesh.mapping.mapping import Mapping
from mesh.wire.calls import AskRefill
from mesh.wire.codec import reader


class ParentRow(msgspec.Struct, frozen=True, array_like=True):
    """The stored master and next hop of a domain, and the position from which an unfinished refill counts."""

    master: str
    hop: bytes
    former: bytes = b""
    at: int = 0
    is_open: bool = False


read_row = reader(ParentRow, 1024)


@dataclass(slots=True, eq=False)
class Refill:
    """The refill of one master's log after a change of the next hop."""

    ask: AskRefill  # the next question
    parent: bytes
    master: bytes  # b"" until the first reply
    floor: int  # positions up to it have come from the former parent
    id: bytes  # `source` of its envelopes
    open: dict[int, int] = field(default_factory=dict)  # bytes by position, not yet acknowledged here
    is_asking: bool = False
    again_at: float = 0.0
    asked_at: float = 0.0

    @property
    def is_complete(self) -> bool:
        """True if all pages have arrived."""
        return 0 < self.ask.end < self.ask.at


def next_hop(mapping: Mapping, nodes: Nodes, domain: str) -> Peer | None:
    """Return the live next hop of the domain, or None if there is none, or more than one."""
    claims = mapping.of_domain(domain, nodes)
    if not claims or len(holders_of(claims)) > 1:
        return None
    decision = choose(mapping.me, claims, nodes, (), claims[0].by, domain)
    return nodes.named(decision.node) if decision.kind is Kind.FORWARD else None
