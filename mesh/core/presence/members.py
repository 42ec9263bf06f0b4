"""Members of subscriber groups, here and at other nodes.

Each node reports its own members to all others.
"""

# Law 1: rows of a node are absolute, belong to one connection, and end with it.
# Law 2: a join is confirmed when all reachable nodes know it, or have not answered for CONFIRM.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mesh.core.context.component import Component, HandlerEntry, on_command
from mesh.core.context.conn import Conn
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.node_context import NodeContext
from mesh.core.context.settings import CONFIRM
from mesh.core.peers.facts import LoggedIn, LoggedOut, PeerLost, RoutesChanged
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.presence.audience import Audience
from mesh.core.presence.facts import GroupChanged
from mesh.core.presence.registry import Registry, ServedName
from mesh.core.routes.nodes import Nodes
from mesh.errors import LocalError, RemoteError
from mesh.names import check_group
from mesh.wire.commands import Heard
from mesh.wire.commands import Members as Said
from mesh.wire.envelope import Envelope

GROUP = "group"
MOST = 10_000  # groups of one node
EACH = 100  # groups in one message


@dataclass(slots=True)
class PeerVersion:
    """The reports that were exchanged with a peer on its current connection."""

    number: int = 0
    version: int = -1  # last confirmed one
    marks: dict[int, int] = field(default_factory=dict)  # message number -> version that it brings
    heard: int = 0  # last number received


@dataclass(slots=True, eq=False)
class VersionWaiter:
    """A callback that waits until all nodes know a version."""

    version: int
    deadline: float
    then: Callable[[], None]


class GroupMembers(Component):
    """Component for groups with members here, and for the reports of other nodes."""

    def __init__(self, desk: NodeContext, neighbours: Neighbours, nodes: Nodes, audience: Audience) -> None:
        self._desk = desk
        self._neighbours = neighbours
        self._nodes = nodes
        self._audience = audience
        self.own: dict[str, int] = {}
        self._registry = Registry()
        self._told: dict[bytes, PeerVersion] = {}
        self._due: dict[str, None] = {}
        self._version = 0
        self._waiting: list[VersionWaiter] = []

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
        return bool(self.own or self._waiting) and not self._audience.is_mute(peer)

    # --- groups of this node ------------------------------------------------------------------------------

    def check(self, name: str) -> None:
        """Raise LocalError if one more group would be too many."""
        if name not in self.own and len(self.own) >= MOST:
            text = f"{self._desk.me.name} has members of {MOST:,} groups, which is the limit."
            raise LocalError(text, hint="Use fewer groups, or wider patterns.", code="TOO_MANY_GROUPS")

    def joined(self, name: str, members: int, then: Callable[[], None]) -> None:
        """Set the number of members here; 0 means that the group has none.

        `then` is called when all awaited nodes know the number, or after CONFIRM seconds.
        """
        if members:
            self.own[name] = members
        else:
            self.own.pop(name, None)
        self._version += 1
        self._due[name] = None
        self._desk.out.ending[self._say] = None
        self._desk.facts.publish(GroupChanged(name, self._desk.me.uuid, members))
        self._waiting.append(VersionWaiter(self._version, self._desk.clock.now + CONFIRM, then))
        self._desk.clock.wake(self._desk.clock.now + CONFIRM)
        for peer in self._nodes.usable():
            self._neighbours.review_login(peer)

    def _say(self) -> None:
        due, self._due = list(self._due), {}
        for peer in self._nodes.usable():
            told = self._told.get(peer.node.uuid)
            if told is not None:
                self._tell(peer, told, due)
        self._review()

    def _tell(self, peer: Peer, told: PeerVersion, names: Sequence[str]) -> None:
        for at in range(0, len(names), EACH) or (0,):
            told.number += 1
            groups = tuple((name, self.own.get(name, 0)) for name in names[at : at + EACH])
            self._desk.out.send(peer.data, Said(told.number, groups))
        told.marks[told.number] = self._version

    def _heard(self, conn: Conn, peer: Peer, command: Heard, _: list[Envelope]) -> None:
        told = self._told.get(peer.node.uuid)
        if told is None:
            return
        if command.number > told.number:
            what = f"{peer.node.name} acknowledged update {command.number} of {told.number}"
            raise RemoteError(what, code="FORGED_ACK")
        for number in [number for number in told.marks if number <= command.number]:
            told.version = max(told.version, told.marks.pop(number))
        self._review()

    def _review(self) -> None:
        if not self._waiting:
            return
        known = min((self._knows(peer) for peer in self._audience.awaited()), default=self._version)
        waiting, self._waiting = self._waiting, []
        done: list[VersionWaiter] = []
        for one in waiting:
            is_over = one.version <= known or one.deadline <= self._desk.clock.now
            (done if is_over else self._waiting).append(one)
        for one in done:
            one.then()

    def _knows(self, peer: Peer) -> int:
        told = self._told.get(peer.node.uuid)
        return -1 if told is None else told.version

    # --- groups of other nodes ----------------------------------------------------------------------------

    def members(self, name: str) -> Mapping[bytes, int]:
        """Return the number of members of a group at each other node, by uuid."""
        return self._registry.servers((GROUP, name))

    def _logged_in(self, fact: LoggedIn) -> None:
        peer = fact.peer
        self._forget(peer)
        if self._audience.hears(peer, fact.conn):
            told = self._told[peer.node.uuid] = PeerVersion()
            if self.own:
                self._tell(peer, told, list(self.own))
            else:
                told.version = self._version
        self._review()

    def _said(self, conn: Conn, peer: Peer, command: Said, _: list[Envelope]) -> None:
        """Accept a report. Raises RemoteError for a missing number, or too many groups."""
        uuid = peer.node.uuid
        told = self._told.setdefault(uuid, PeerVersion())
        if command.number != told.heard + 1:
            what = f"{peer.node.name} sent group update {command.number} after {told.heard}"
            raise RemoteError(what, code="OUT_OF_ORDER")
        told.heard = command.number
        for name, members in command.groups:
            self._take(peer, name, members)
        self._desk.out.send(conn, Heard(command.number))

    def _take(self, peer: Peer, name: str, members: int) -> None:
        try:
            check_group(name)
        except LocalError:  # of a later release, or malicious
            self._desk.counters.count("unknown_kinds")
            return
        if members and self._registry.count_names(peer.node.uuid) >= MOST:
            raise RemoteError(f"{peer.node.name} has more than {MOST:,} groups", code="TOO_MANY_GROUPS")
        if self._registry.record(peer.node.uuid, (GROUP, name), members):
            self._desk.facts.publish(GroupChanged(name, peer.node.uuid, members))

    def _lost(self, peer: Peer) -> None:
        self._forget(peer)
        self._review()

    def _forget(self, peer: Peer) -> None:
        uuid = peer.node.uuid
        self._told.pop(uuid, None)
        self._drop(self._registry.remove_node(uuid), uuid)

    def _drop(self, rows: Sequence[tuple[ServedName, int]], uuid: bytes) -> None:
        for (_, name), _members in rows:
            self._desk.facts.publish(GroupChanged(name, uuid, 0))

    def tick(self) -> None:
        late = [w for w in self._waiting if w.deadline <= self._desk.clock.now]
        if late:
            version = max(w.version for w in late)
            self._audience.missed([p for p in self._audience.awaited() if self._knows(p) < version])
        self._review()
        for one in self._waiting:
            self._desk.clock.wake(one.deadline)
