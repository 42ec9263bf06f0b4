"""The names of all other nodes, at a node with `nameservice`."""

# Law 1: names of a node are valid as long as its connection lasts.
# Law 2: without `nameservice` nothing is requested, and no report is kept.

from __future__ import annotations

from collections.abc import Sequence

from mesh.discovery.member import NodeLife
from mesh.errors import MeshError, RemoteError
from mesh.features.where.model import CLIENT, PREFIXES, SESSION, readings
from mesh.features.where.wire import FollowNames, NameRow, Names
from mesh.flow.followed import Followed
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerLost
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import NAMES_OF_NODE, WHERE

TOTAL = 400_000  # names of all nodes, about 100 MB


class Directory(Component):
    """Component that follows the names of all nodes, if this node has `nameservice`."""

    def __init__(self, context: NodeContext, neighbours: Neighbours) -> None:
        self._context = context
        self._neighbours = neighbours
        self._is_on = context.settings.nameservice
        self._names = Followed[NameRow]("name")
        self._total = 0
        self._complete: set[bytes] = set()  # uuids of the nodes with all names here
        self._partial: set[bytes] = set()  # uuids of nodes whose names exceeded TOTAL
        self._mute: dict[bytes, int] = {}  # boots of nodes without the feature

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, self._on_login),
            on_fact(LoggedOut, lambda fact: self._forget(fact.peer)),
            on_fact(PeerLost, lambda fact: self._forget(fact.peer)),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Names, self._on_names),)

    def figures(self) -> dict[str, int | float]:
        return {"names_followed": self._total}

    def requires_login(self, peer: Peer) -> bool:
        return self._is_on and self._mute.get(peer.node.uuid) != peer.node.boot

    @property
    def is_on(self) -> bool:
        """True if this node has `nameservice`."""
        return self._is_on

    def nodes_with(self, kind: str, name: str) -> list[str]:
        """Return the names of the nodes that have reported a name."""
        uuids = self._names.servers((kind, name))
        return [self._neighbours.peers[uuid].node.name for uuid in uuids if uuid in self._neighbours.peers]

    def unknown(self) -> list[str]:
        """Return the names of the nodes whose names are not all here."""
        known = self._complete - self._partial
        members = self._neighbours.membership.all()
        me = self._context.me.uuid
        return [m.name for m in members if m.uuid not in known and m.uuid != me and m.state != NodeLife.LEFT]

    def _on_login(self, fact: LoggedIn) -> None:
        self._forget(fact.peer)
        if not self._is_on:
            return
        if WHERE in fact.conn.speaks:
            self._context.out.send(fact.conn, FollowNames())
        else:
            self._mute[fact.peer.node.uuid] = fact.peer.node.boot

    def _on_names(self, conn: Conn, peer: Peer, command: Names, _: list[Envelope]) -> None:
        """Keep a report. Raises: RemoteError for a missing number, or too many names."""
        if not self._is_on:
            self._context.counters.add_count("unasked")
            return
        uuid = peer.node.uuid
        self._names.record_number(uuid, command.number, peer.node.name)
        for row in command.remove:
            self._total += self._names.record(uuid, row, 0) or 0
        for row in command.add:
            self._add(peer, row)
        if not command.more:
            self._complete.add(uuid)

    def _add(self, peer: Peer, row: NameRow) -> None:
        uuid = peer.node.uuid
        if not is_reportable(row):  # of a later release, or malicious
            self._context.counters.add_count("unknown_kinds")
        elif self._names.count_names(uuid) >= NAMES_OF_NODE:
            what = f"{peer.node.name} has more than {NAMES_OF_NODE:,} names"
            raise RemoteError(what, code="TOO_MANY_NAMES")
        elif self._total >= TOTAL:
            self._partial.add(uuid)
        else:
            self._total += self._names.record(uuid, row, 1) or 0

    def _forget(self, peer: Peer) -> None:
        uuid = peer.node.uuid
        self._total -= len(self._names.remove_node(uuid))
        self._complete.discard(uuid)
        self._partial.discard(uuid)


def is_reportable(row: NameRow) -> bool:
    """Return whether a row has a known kind and a valid name."""
    kind, name = row
    try:
        if kind == CLIENT:
            return readings(name)[0].kind in (CLIENT, SESSION) and name.startswith(f"{CLIENT}/")
        return kind in PREFIXES and bool(PREFIXES[kind](name))
    except MeshError:
        return False
