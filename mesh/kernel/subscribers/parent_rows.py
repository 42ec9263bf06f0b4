"""The stored next hops of a slave's domains, and the positions up to which it has the logs behind them."""

# Law 1: the row of a domain that never had another next hop is written when its route changes, and only then.
# Law 2: the row of any other domain also has the position up to which the subscribers here have acknowledged
#        everything, at most a second late. After a restart the refill begins there.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from mesh.kernel.context.component import Beginning
from mesh.kernel.context.disk import Disk
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.strata import Distance
from mesh.operations import Put
from mesh.wire.codec import pack, reader

PREFIX = b"p"  # of the rows, in the table of feeds


class ParentRow(msgspec.Struct, frozen=True, array_like=True):
    """The stored master and next hop of a domain, and the position from which a refill counts.

    `near` is the last node before the master on the route by `hop`, to which the master owes what this node
    has not received. `former` is that of an earlier route, b"" if there was none. `number` is that of the
    refill, until one is complete, so that the next one takes the place of its pin.
    """

    master: str
    hop: bytes
    former: bytes = b""
    at: int = 0
    is_open: bool = False
    near: bytes = b""
    number: int = 0


read_row = reader(ParentRow, 1024)


@dataclass(slots=True)
class ParentRows:
    """The rows by domain. `unproven` has the domains whose next hop may not have sent all messages."""

    disk: Disk
    neighbours: Neighbours
    nodes: Nodes
    rows: dict[str, ParentRow] = field(default_factory=dict)
    unproven: set[str] = field(default_factory=set)
    _confirmed: dict[str, int] = field(default_factory=dict)  # by domain with a lost next hop

    def restore(self, beginning: Beginning) -> None:
        for key, row in beginning.rows("feed").items():
            if key[:1] == PREFIX:
                self.rows[key[1:].decode()] = read_row(row)
        self.unproven = {domain for domain, row in self.rows.items() if row.former}

    def store_row(self, domain: str, row: ParentRow) -> None:
        before, self.rows[domain] = self.rows.get(domain), row
        if before is None or before.hop != row.hop:
            self._confirmed.pop(domain, None)
        if not row.former:
            self.unproven.discard(domain)
        key = PREFIX + domain.encode()
        self.disk.later("feed", key, Put("feed", key, pack(msgspec.to_builtins(row, builtin_types=(bytes,)))))

    def on_logout(self, peer: Peer) -> None:
        """Keep the version of the queries that a lost next hop has confirmed."""
        for domain, row in self.rows.items():
            if row.former and row.hop == peer.node.uuid:
                self._confirmed.setdefault(domain, peer.confirmed)

    def on_login(self, peer: Peer, version: int) -> None:
        """Doubt a next hop if it missed changes of the queries: another route may have messages for them."""
        for domain, row in self.rows.items():
            if row.hop == peer.node.uuid and self._confirmed.pop(domain, version) != version:
                self.unproven.add(domain)

    def progress(self, hop: bytes, master: bytes) -> tuple[int, int]:
        """Return the first position that is not acknowledged here, and the last one received by that hop."""
        peer = self.neighbours.peers.get(hop)
        upstream = peer.begun.upstreams.get(master) if peer is not None and peer.begun is not None else None
        return (upstream.settled + 1, upstream.received) if upstream is not None else (0, 0)

    def uuid_of(self, name: str) -> bytes:
        peer = self.nodes.named(name)
        return peer.node.uuid if peer is not None else b""

    def is_due(self, domain: str, hop: Peer) -> bool:
        """Return whether the log of a domain must be refilled although its next hop `hop` is the same."""
        return self.rows[domain].is_open or (domain in self.unproven and hop.data is not None)

    def begin_refill(self, domain: str, parent: bytes, master: bytes, number: int) -> tuple[ParentRow, int]:
        """Store that a refill by `parent` begins, and return its row and where the former next hop ended.

        The row has the last node before the master on the former route, and the first position. The former
        next hop has sent all up to the other one. A position of 0 is unknown. A refill that was not
        complete begins again with its number.
        """
        row, first, floor = self.rows[domain], 0, 0
        former = row.former
        if row.is_open or domain in self.unproven:
            first = row.at
        else:
            former = row.near or row.hop
            first, floor = self.progress(row.hop, master)
        self.unproven.discard(domain)
        begun = ParentRow(row.master, parent, former, first, is_open=True, number=row.number or number)
        self.store_row(domain, begun)
        return begun, floor

    def review(self, me: bytes, master_of: Callable[[str], str], own: dict[str, Distance]) -> None:
        """Store the present routes and positions where they differ."""
        for domain, row in list(self.rows.items()):
            found = replace(
                row,
                master=master_of(domain),
                near=near_master(row, own.get(domain), self.nodes, me),
                at=self._position(domain, row),
            )
            if found != row:
                self.store_row(domain, found)

    def _position(self, domain: str, row: ParentRow) -> int:
        if not row.former or row.is_open or domain in self.unproven:
            return row.at
        return max(row.at, self.progress(row.hop, self.uuid_of(row.master))[0])


def near_master(row: ParentRow, own: Distance | None, nodes: Nodes, me: bytes) -> bytes:
    """Return the last node before the master of the last known route by the next hop in `row`.

    `own` is the present route of this node `me`.
    """
    hops = [nodes.named(name) for name in own.way[1:2] + own.way[-2:-1]] if own is not None else []
    uuids = [hop.node.uuid if hop is not None else b"" for hop in hops]
    if len(uuids) < 2 or uuids[0] != row.hop:
        return row.near
    return (me if own is not None and len(own.way) == 2 else uuids[1]) or row.near
