"""Presence: each node reports its servers of a name to the nodes that watch the name.

Nothing is gossiped, stored or relayed: a report is valid as long as its connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

from mesh.core.context.component import Component, HandlerEntry, on_command
from mesh.core.context.conn import Conn
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.node_context import NodeContext
from mesh.core.peers.facts import LoggedIn, LoggedOut, PeerLost, RoutesChanged
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.presence.audience import Audience
from mesh.core.presence.facts import ServersChanged
from mesh.core.presence.lookups import Lookups
from mesh.core.presence.registry import Registry, ServedName
from mesh.core.presence.watchers import Watchers
from mesh.core.presence.watching import WatchedNames
from mesh.core.routes.nodes import Nodes
from mesh.core.subscribers.facts import SessionAway
from mesh.core.subscribers.session import Session
from mesh.errors import LocalError, RemoteError
from mesh.names import ADDRESS
from mesh.wire.commands import Row, Serving, Watch
from mesh.wire.envelope import Envelope
from mesh.wire.limits import SERVICES

MOST = 100_000  # names served here
NAMES = 200_000  # names that another node may watch
IDLE = 60.0  # s that a name is watched after its last use


class Presence(Component):
    """Component for names that are served here or watched."""

    def __init__(self, desk: NodeContext, neighbours: Neighbours, nodes: Nodes, audience: Audience) -> None:
        self._desk = desk
        self._neighbours = neighbours
        self._nodes = nodes
        self._audience = audience
        self.own: dict[ServedName, int] = {}  # number of servers here, for other nodes
        self._notes: dict[ServedName, bytes] = {}  # notes about these servers
        self._registry = Registry()
        self._peers = Watchers[Peer](self._own_rows, NAMES)
        self._clients = Watchers[Session](self._all_rows, desk.settings.max_subscriptions)
        self._watching = WatchedNames()
        self._lookups = Lookups()

    def features(self) -> Sequence[str]:
        return (SERVICES,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, self._logged_in),
            on_fact(LoggedOut, lambda fact: self._on_peer_lost(fact.peer)),
            on_fact(PeerLost, lambda fact: self._on_peer_lost(fact.peer)),
            on_fact(RoutesChanged, lambda _: self._review()),
            on_fact(SessionAway, lambda fact: self._client_gone(fact.session)),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Watch, self._watched), on_command(Serving, self._served))

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (on_command(Watch, self._client_watches),)

    def figures(self) -> dict[str, int | float]:
        addresses = sum(kind == ADDRESS for kind, _ in self.own)
        return {"addresses": addresses, "watched": len(self._watching.names)}

    def requires_login(self, peer: Peer) -> bool:
        return bool(self._watching.names) and not self._audience.is_mute(peer)

    # --- names served here ------------------------------------------------------------------------------

    def known_names(self) -> Iterator[ServedName]:
        """Yield all names that are served here, or watched here and served elsewhere."""
        yield from self.own
        yield from self._registry.names()

    def check(self, name: ServedName) -> None:
        """Raise LocalError if one more name would be too many."""
        if name not in self.own and len(self.own) >= MOST:
            raise LocalError(
                f"{self._desk.me.name} serves {MOST:,} addresses, which is the limit.",
                hint="Serve fewer addresses, and put the details into the content.",
                code="TOO_MANY_ADDRESSES",
            )

    def serve(self, name: ServedName, consumers: int, note: bytes = b"") -> None:
        """Set the number of servers of a name here; 0 means that the name is not served.

        `note` is an additional value for other nodes.
        """
        change = consumers - self.own.get(name, 0)
        if not change and (not consumers or note == self._notes.get(name, b"")):
            return
        self.own.pop(name, None)
        self._notes.pop(name, None)
        if consumers:
            self.own[name] = consumers
            if note:
                self._notes[name] = note
        self._peers.mark_changed(name)
        self._publish_change(name, self._desk.me.uuid, change)

    def _own_rows(self, name: ServedName) -> Sequence[Row]:
        return (Row(*name, self.own.get(name, 0), note=self._notes.get(name, b"")),)

    def _watched(self, conn: Conn, peer: Peer, command: Watch, _: list[Envelope]) -> None:
        self._peers.apply_command(peer, command)
        self._desk.out.ending[self._say_news] = None

    # --- names served elsewhere -------------------------------------------------------------------------

    def servers(self, name: ServedName) -> Mapping[bytes, int]:
        """Return the number of servers of a name at each other node, by uuid.

        This call also watches the name, as `notes` does.
        """
        self._watching.used(name, self._desk.clock.now)
        return self._registry.servers(name)

    def notes(self, name: ServedName) -> Mapping[bytes, bytes]:
        """Return the notes of other nodes that serve the name, by uuid.

        This call also watches the name, until the name has not been used for 60 s.
        """
        self._watch(name)
        return self._registry.notes(name)

    def when_known(self, name: ServedName, then: Callable[[], None]) -> None:
        """Call `then` when all reachable nodes have reported whether they serve the name, or after 2 s.

        Once known, a name with any server is answered at once: further servers will be reported.
        """
        self._watch(name)
        watched = self._watching.names[name]
        is_served = watched.is_known and (name in self.own or bool(self._registry.servers(name)))
        is_known = is_served or self._is_known(name)
        watched.is_known = watched.is_known or is_known
        self._lookups.when_known(name, self._desk.clock.now, then, is_known)
        if is_known:
            return
        if (deadline := self._lookups.deadline) is not None:
            self._desk.clock.wake(deadline)

    def _watch(self, name: ServedName) -> None:
        if self._watching.used(name, self._desk.clock.now):
            self._desk.out.ending[self._say_news] = None
            for peer in self._nodes.usable():
                self._neighbours.review_login(peer)

    def _is_known(self, name: ServedName) -> bool:
        return self._watching.names[name].version <= self._heard_by_all()

    def _heard_by_all(self) -> float:
        """Return the version of the watched names that all awaited nodes have confirmed.

        The result is infinity if no node is awaited.
        """
        return min(
            (self._watching.confirmed(peer.node.uuid) for peer in self._audience.awaited()), default=inf
        )

    def _logged_in(self, fact: LoggedIn) -> None:
        peer = fact.peer
        self._forget_peer(peer)
        if self._audience.hears(peer, fact.conn):
            for command in self._watching.full(peer.node.uuid):
                self._desk.out.send(fact.conn, command)
        self._review()

    def _served(self, conn: Conn, peer: Peer, command: Serving, _: list[Envelope]) -> None:
        """Accept a report. Raises RemoteError for a missing number."""
        uuid = peer.node.uuid
        self._watching.heard(uuid, command)
        for row in command.rows:
            name = (row.kind, row.name)
            if name not in self._watching.names:
                self._desk.counters.count("unasked")  # or no longer watched
                continue
            change = self._registry.record(uuid, name, row.consumers, row.note)
            if change is not None:
                self._publish_change(name, uuid, change)
        self._review()

    def _on_peer_lost(self, peer: Peer) -> None:
        self._forget_peer(peer)
        self._review()

    def _forget_peer(self, peer: Peer) -> None:
        uuid = peer.node.uuid
        self._peers.remove_watcher(peer)
        self._watching.lost(uuid)
        for name, consumers in self._registry.remove_node(uuid):
            self._publish_change(name, uuid, -consumers)

    def _publish_change(self, name: ServedName, uuid: bytes, change: int) -> None:
        if change:  # clients do not see notes
            self._clients.mark_changed(name)
        self._desk.out.ending[self._say_news] = None
        self._desk.facts.publish(ServersChanged(*name, uuid, change))

    def _review(self) -> None:
        if self._lookups:
            heard, names = self._heard_by_all(), self._watching.names
            self._lookups.review(self._desk.clock.now, lambda name: names[name].version <= heard)

    # --- watching clients ---------------------------------------------------------------------------------

    def _client_watches(self, conn: Conn, session: Session, command: Watch, _: list[Envelope]) -> None:
        if any(kind != ADDRESS for kind, _name in (*command.add, *command.remove)):
            raise RemoteError("a client watches an invalid address", code="MALFORMED")
        new, gone = self._clients.apply_command(session, command)
        self._desk.out.ending[self._say_news] = None
        for name in new:
            self._watch(name)
            self._watching.hold(name, +1)
        for name in gone:
            self._watching.hold(name, -1)

    def _client_gone(self, session: Session) -> None:
        for name in self._clients.remove_watcher(session):
            self._watching.hold(name, -1)

    def _all_rows(self, name: ServedName) -> Sequence[Row]:
        me, peers = self._desk.me, self._neighbours.peers
        rows = [
            Row(*name, consumers, peers[uuid].node.name, uuid, peers[uuid].node.boot)
            for uuid, consumers in self._registry.servers(name).items()
            if uuid in peers
        ]
        if here := self.own.get(name, 0):
            rows.append(Row(*name, here, me.name, me.uuid, me.boot))
        return rows or (Row(*name, 0),)

    # --- timers -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        now = self._desk.clock.now
        if late := self._lookups.late(now):
            version = max(self._watching.names[name].version for name in late)
            confirmed = self._watching.confirmed
            self._audience.missed([p for p in self._audience.awaited() if confirmed(p.node.uuid) < version])
        self._review()
        if (deadline := self._lookups.deadline) is not None:
            self._desk.clock.wake(deadline)

    def on_second(self) -> None:
        self._registry.drop_names(self._watching.idle(self._desk.clock.now - IDLE))
        self._desk.out.ending[self._say_news] = None

    def _say_news(self) -> None:
        for command in self._watching.news():
            for peer in self._nodes.usable():
                if peer.data is not None and peer.data.is_open:
                    self._desk.out.send(peer.data, command)
        for peer, serving in self._peers.pending_updates():
            self._desk.out.send(peer.data, serving)
        for session, serving in self._clients.pending_updates():
            self._desk.out.send(session.conn, serving)
