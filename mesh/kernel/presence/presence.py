"""Presence: each node reports its servers of a name to the nodes that watch the name.

Nothing is gossiped, stored or relayed: a report is valid as long as its connection lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from mesh.errors import LocalError, RemoteError
from mesh.flow.followed import Followed
from mesh.flow.known_by_all import KnownByAll
from mesh.flow.mirror import Mirror
from mesh.flow.parts import cut_by_size
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import NamedHere
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerLost, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.audience import Audience
from mesh.kernel.presence.facts import ServersChanged
from mesh.kernel.presence.watching import ServedName, WatchedNames
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.subscribers.facts import SessionAway
from mesh.kernel.subscribers.session import Session
from mesh.names import ADDRESS
from mesh.wire.commands import Row, Serving, Watch
from mesh.wire.envelope import Envelope
from mesh.wire.limits import SERVICES

MOST = 100_000  # names served here
NAMES = 200_000  # names that another node may watch
ROW = 24  # bytes of a row without its name
IDLE = 60.0  # s that a name is watched after its last use


class Presence(Component):
    """Component for names that are served here or watched."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, nodes: Nodes, audience: Audience
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._nodes = nodes
        self._audience = audience
        self.own: dict[ServedName, int] = {}  # number of servers here, for other nodes
        self._notes: dict[ServedName, bytes] = {}  # notes about these servers
        self._registry = Followed[ServedName]("service")
        self._peers = Mirror[ServedName, Row, Peer](lambda names: _parts(map(self._own_rows, names)))
        self._clients = Mirror[ServedName, Row, Session](lambda names: _parts(map(self._all_rows, names)))
        self._watching = WatchedNames()
        self._lookups = KnownByAll[ServedName](CONFIRM)

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

    def named_here(self) -> Mapping[str, NamedHere]:
        return {ADDRESS: NamedHere(self._own_addresses, self._own_addresses, self._address_state)}

    def _own_addresses(self) -> Iterator[str]:
        return (name for kind, name in self.own if kind == ADDRESS)

    def _address_state(self, address: str) -> tuple[str, int] | None:
        servers = self.own.get((ADDRESS, address), 0)
        return ("served", servers) if servers else None

    def check_room(self, name: ServedName) -> None:
        """Raise LocalError if one more name would be too many."""
        if name not in self.own and len(self.own) >= MOST:
            raise LocalError(
                f"{self._context.me.name} announces {len(self.own):,} addresses, queues and sites; "
                f"the limit is {MOST:,}.",
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
        self._peers.changed(name)
        self._publish_change(name, self._context.me.uuid, change)

    def note(self, name: ServedName) -> bytes:
        """Return the note about the servers of a name here."""
        return self._notes.get(name, b"")

    def _own_rows(self, name: ServedName) -> Sequence[Row]:
        return (Row(*name, self.own.get(name, 0), note=self.note(name)),)

    def _watched(self, conn: Conn, peer: Peer, command: Watch, _: list[Envelope]) -> None:
        self._peers.follow(peer, command.version, command.add, command.remove, command.full, command.more)
        self._context.out.ending[self._say_news] = None
        _check_count(peer.node.name, self._peers.count_keys(peer), NAMES)

    # --- names served elsewhere -------------------------------------------------------------------------

    def servers(self, name: ServedName) -> Mapping[bytes, int]:
        """Return the number of servers of a name at each other node, by uuid.

        This call also watches the name, as `notes` does.
        """
        self._watch(name)
        return self._registry.servers(name)

    def notes(self, name: ServedName) -> Mapping[bytes, bytes]:
        """Return the notes of other nodes that serve the name, by uuid.

        This call also watches the name, until the name has not been used for 60 s.
        """
        self._watch(name)
        return self._registry.notes(name)

    def when_known(self, name: ServedName, then: Callable[[], None]) -> None:
        """Call `then` when all reachable nodes have reported whether they serve the name, or after 2 s.

        If they have already reported, `then` is called immediately. Nodes that joined later are awaited only
        if the name has no server. Slow nodes are never awaited.
        """
        self._watch(name)
        watched = self._watching.names[name]
        is_served = watched.is_known and (name in self.own or bool(self._registry.servers(name)))
        is_known = is_served or watched.version <= self._audience.known(self._watching.confirmed)
        watched.is_known = watched.is_known or is_known
        self._lookups.when(name, watched.version, self._context.clock.now, then, is_known)
        if not is_known:
            self._context.clock.wake(self._lookups.deadline)

    def _watch(self, name: ServedName) -> None:
        if self._watching.used(name, self._context.clock.now):
            self._context.out.ending[self._say_news] = None
            for peer in self._nodes.usable():
                self._neighbours.review_login(peer)

    def _logged_in(self, fact: LoggedIn) -> None:
        peer = fact.peer
        self._forget_peer(peer)
        if self._audience.hears(peer, fact.conn):
            for command in self._watching.full(peer):
                self._context.out.send(fact.conn, command)
        self._review()

    def _served(self, conn: Conn, peer: Peer, command: Serving, _: list[Envelope]) -> None:
        """Accept a report. Raises RemoteError for a missing number."""
        uuid = peer.node.uuid
        self._registry.record_number(uuid, command.number, "a node")
        self._watching.record_complete(peer, command.knows)
        for row in command.rows:
            name = (row.kind, row.name)
            if name not in self._watching.names:
                self._context.counters.add_count("unasked")  # or no longer watched
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
        self._peers.lost(peer)
        self._watching.lost(peer)
        for name, consumers in self._registry.remove_node(uuid):
            self._publish_change(name, uuid, -consumers)

    def _publish_change(self, name: ServedName, uuid: bytes, change: int) -> None:
        if change or name[0] == ADDRESS:  # clients see the notes about addresses only
            self._clients.changed(name)
        self._context.out.ending[self._say_news] = None
        self._context.facts.publish_fact(ServersChanged(*name, uuid, change))

    def _review(self) -> None:
        if self._lookups:
            known = self._audience.known(self._watching.confirmed)
            self._lookups.end_waits(self._context.clock.now, lambda _: known)

    # --- watching clients ---------------------------------------------------------------------------------

    def _client_watches(self, conn: Conn, session: Session, command: Watch, _: list[Envelope]) -> None:
        if any(kind != ADDRESS for kind, _name in (*command.add, *command.remove)):
            raise RemoteError(f"{session.text} watches a name that is not an address", code="MALFORMED")
        new, gone = self._clients.follow(
            session, command.version, command.add, command.remove, command.full, command.more
        )
        self._context.out.ending[self._say_news] = None
        for name in new:
            self._watch(name)
            self._watching.hold(name, +1)
        for name in gone:
            self._watching.hold(name, -1)
        most = self._context.settings.max_subscriptions
        _check_count(session.text, self._clients.count_keys(session), most)

    def _client_gone(self, session: Session) -> None:
        for name in self._clients.lost(session):
            self._watching.hold(name, -1)

    def _all_rows(self, name: ServedName) -> Sequence[Row]:
        me, peers = self._context.me, self._neighbours.peers
        notes = self._registry.notes(name)
        rows = [
            Row(*name, consumers, peers[uuid].node.name, uuid, peers[uuid].node.boot, notes.get(uuid, b""))
            for uuid, consumers in self._registry.servers(name).items()
            if uuid in peers
        ]
        if here := self.own.get(name, 0):
            rows.append(Row(*name, here, me.name, me.uuid, me.boot, self.note(name)))
        return rows or (Row(*name, 0),)

    # --- timers -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        self._audience.missed(self._watching.confirmed, self._lookups.late(self._context.clock.now).values())
        self._review()
        self._context.clock.wake(self._lookups.deadline)

    def on_second(self) -> None:
        self._registry.drop_names(self._watching.stop_unused(self._context.clock.now - IDLE))
        self._context.out.ending[self._say_news] = None

    def _say_news(self) -> None:
        for command in self._watching.news():
            for peer in self._nodes.usable():
                if peer.data is not None and peer.data.is_open:
                    self._context.out.send(peer.data, command)
        for peer, update in self._peers.updates():
            self._context.out.send(peer.data, Serving(*update))
        for session, update in self._clients.updates():
            self._context.out.send(session.conn, Serving(*update))


def _check_count(who: str, watched: int, most: int) -> None:
    if watched > most:
        raise RemoteError(f"{who} watches {watched:,} names; the limit is {most:,}", code="TOO_MANY_NAMES")


def _parts(names: Iterator[Sequence[Row]]) -> Iterator[tuple[Row, ...]]:
    """Split the rows into messages, with all rows of a name in one message."""
    for part in cut_by_size(names, lambda rows: sum(map(_size, rows))):
        yield tuple(chain.from_iterable(part))


def _size(row: Row) -> int:
    return ROW + 4 * len(row.name) + len(row.node) + len(row.note)
