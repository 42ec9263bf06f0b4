"""Answers of this node about a name, without a question to another node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from msgspec.structs import replace

from mesh.discovery.member import NodeLife
from mesh.features.where.model import CLIENT, NODE, REPORTED, Named
from mesh.features.where.node.directory import Directory
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.status import address_of
from mesh.reasons.near import near
from mesh.wire.replies import Sighting

LOOKED_AT = 2000  # names that are compared with a misspelled one, about 2 ms


class LocalNames:
    """The names of this node, of the nodes in its membership, and of the nodes that it follows."""

    def __init__(self, context: NodeContext, neighbours: Neighbours, directory: Directory) -> None:
        self._context = context
        self._neighbours = neighbours
        self._directory = directory

    @property
    def is_directory(self) -> bool:
        """True if this node has `nameservice`."""
        return self._directory.is_on

    def unfollowed(self) -> list[str]:
        """Return the names of the nodes whose names this node does not follow."""
        return self._directory.unknown()

    def find(self, wanted: Iterable[Named]) -> Iterator[Sighting]:
        """Yield the sightings of the wanted names that this node knows."""
        me = self._context.me.name
        for named in wanted:
            if named.kind == NODE:
                life = self.life(named.name)
                if life:
                    yield self._row(named, named.name, life)
                continue
            table = self._context.face.named_here.get(named.table)
            found = table.state(named.name) if table is not None else None
            if found is not None:
                yield self._row(named, me, *found)
            for node in self._directory.nodes_with(named.table, named.followed):
                yield self._row(named, node, REPORTED)

    def _row(self, named: Named, node: str, state: str, count: int = 0) -> Sighting:
        by = self._context.me.name
        return Sighting(kind=named.kind, name=str(named), node=node, by=by, state=state, count=count)

    def life(self, node: str) -> str:
        """Return the state of a node, or "" if it is not known here."""
        if node == self._context.me.name:
            return NodeLife.ALIVE
        member = self._neighbours.membership.by_name(node)
        return "" if member is None else str(member.state)

    def described(self, row: Sighting) -> Sighting:
        """Return a row with what this node knows about the node in it."""
        if row.node == self._context.me.name:
            address = self._context.me.address
        else:
            peer = self._neighbours.named(row.node)
            address = "" if peer is None else address_of(peer)
        return replace(row, life=self.life(row.node), address=address)

    def similar(self, wanted: Iterable[Named]) -> list[str]:
        """Return a few similar names of the same kinds, with their kinds. At most LOOKED_AT are compared."""
        found: list[str] = []
        left = LOOKED_AT
        for named in wanted:
            names = list(islice(self._names(named.table), left))
            left -= len(names)
            plain = (Named(named.table, name).plain for name in names)
            prefix = f"{named.table}/"
            found += [f"{prefix}{name}" for name in near(named.plain, plain)]
        return found

    def _names(self, kind: str) -> Iterator[str]:
        if kind == NODE:
            members = self._neighbours.membership.all()
            return chain((self._context.me.name,), (member.name for member in members))
        table = self._context.face.named_here.get(kind)
        names = iter(()) if table is None else iter(table.names())
        is_session = "/session/"
        return (name for name in names if kind != CLIENT or is_session not in name)
