"""Members of subscriber groups, here and at other nodes.

Each node reports its own members to all others.
"""

# Law 1: rows of a node are absolute, belong to one connection, and end with it.
# Law 2: a join is confirmed when all reachable nodes know it, or have not answered for CONFIRM.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from mesh.errors import LocalError, RemoteError
from mesh.flow.followed import Followed
from mesh.flow.known_by_all import KnownByAll
from mesh.flow.mirror import Mirror
from mesh.flow.parts import cut
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerLost, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.audience import Audience
from mesh.kernel.presence.facts import GroupChanged
from mesh.kernel.routes.nodes import Nodes
from mesh.names import check_group
from mesh.wire.commands import Heard
from mesh.wire.commands import Members as Said
from mesh.wire.envelope import Envelope

MOST = 10_000  # groups of one node
EACH = 100  # groups in one message


class GroupMembers(Component):
    """Component for groups with members here, and for the reports of other nodes."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, nodes: Nodes, audience: Audience
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._nodes = nodes
        self._audience = audience
        self.own: dict[str, int] = {}
        self._registry = Followed[str]("group")
        self._peers = Mirror[str, tuple[str, int], Peer](self._parts)
        self._joins = KnownByAll[None](CONFIRM)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, self._logged_in),
            on_fact(LoggedOut, lambda fact: self._lost(fact.peer)),
            on_fact(PeerLost, lambda fact: self._lost(fact.peer)),
            on_fact(RoutesChanged, lambda _: self._review()),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Said, self._said), on_command(Heard, self._heard))

    def figures(self) -> dict[str, int | float]:
        return {"groups": len(self.own)}

    def requires_login(self, peer: Peer) -> bool:
        return bool(self.own or self._joins) and not self._audience.is_mute(peer)

    # --- groups of this node ------------------------------------------------------------------------------

    def check_room(self, name: str) -> None:
        """Raise LocalError if one more group would be too many."""
        if name not in self.own and len(self.own) >= MOST:
            text = f"{self._context.me.name} has members of {MOST:,} groups, which is the limit."
            raise LocalError(text, hint="Use fewer groups, or wider patterns.", code="TOO_MANY_GROUPS")

    def joined(self, name: str, members: int, then: Callable[[], None]) -> None:
        """Set the number of members of a group at this node; 0 means that the group has none here.

        `then` is called when all reachable nodes except slow ones know the number, or after CONFIRM seconds.
        """
        if members:
            self.own[name] = members
        else:
            self.own.pop(name, None)
        self._peers.changed(name)
        self._context.out.ending[self._say] = None
        self._context.facts.publish_fact(GroupChanged(name, self._context.me.uuid, members))
        self._joins.when(None, self._peers.version, self._context.clock.now, then)
        self._context.clock.wake(self._joins.deadline)
        for peer in self._nodes.usable():
            self._neighbours.review_login(peer)

    def _parts(self, names: Collection[str]) -> Iterator[tuple[tuple[str, int], ...]]:
        return cut([(name, self.own.get(name, 0)) for name in names], EACH)

    def _say(self) -> None:
        for peer, (number, _, groups) in self._peers.updates():
            self._context.out.send(peer.data, Said(number, groups))
        self._review()

    def _heard(self, conn: Conn, peer: Peer, command: Heard, _: list[Envelope]) -> None:
        self._peers.acknowledged(peer, command.number, peer.node.name)
        self._review()

    def _review(self) -> None:
        if self._joins:
            known = self._audience.known(self._peers.known_to)
            self._joins.end_waits(self._context.clock.now, lambda _: known)

    # --- groups of other nodes ----------------------------------------------------------------------------

    def members(self, name: str) -> Mapping[bytes, int]:
        """Return the number of members of a group at each other node, by uuid."""
        return self._registry.servers(name)

    def _logged_in(self, fact: LoggedIn) -> None:
        peer = fact.peer
        self._forget(peer)
        if self._audience.hears(peer, fact.conn):
            self._peers.follow_all(peer, self.own)
            self._context.out.ending[self._say] = None
        self._review()

    def _said(self, conn: Conn, peer: Peer, command: Said, _: list[Envelope]) -> None:
        """Accept a report. Raises RemoteError for a missing number, or too many groups."""
        self._registry.record_number(peer.node.uuid, command.number, peer.node.name)
        for name, members in command.groups:
            self._take(peer, name, members)
        self._context.out.send(conn, Heard(command.number))

    def _take(self, peer: Peer, name: str, members: int) -> None:
        try:
            check_group(name)
        except LocalError:  # of a later release, or malicious
            self._context.counters.add_count("unknown_kinds")
            return
        uuid = peer.node.uuid
        if members and uuid not in self.members(name) and self._registry.count_names(uuid) >= MOST:
            raise RemoteError(f"{peer.node.name} has more than {MOST:,} groups", code="TOO_MANY_GROUPS")
        if self._registry.record(uuid, name, members):
            self._context.facts.publish_fact(GroupChanged(name, uuid, members))

    def _lost(self, peer: Peer) -> None:
        self._forget(peer)
        self._review()

    def _forget(self, peer: Peer) -> None:
        self._peers.lost(peer)
        for name, _ in self._registry.remove_node(peer.node.uuid):
            self._context.facts.publish_fact(GroupChanged(name, peer.node.uuid, 0))

    def tick(self) -> None:
        self._audience.missed(self._peers.known_to, self._joins.late(self._context.clock.now).values())
        self._review()
        self._context.clock.wake(self._joins.deadline)
