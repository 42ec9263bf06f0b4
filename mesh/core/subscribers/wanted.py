"""What do other nodes want from this one, and since when?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf

from mesh.core.asking.demand import Demand
from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Beginning, HandlerEntry, Part, take
from mesh.core.desk.records import FeedRecord, query_key, read_record, write_record
from mesh.core.peers.facts import LoggedIn, LoggedOut
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.subscribers.saying import WANTED, Saying, check_wanted
from mesh.core.ways.facts import Ruled
from mesh.core.ways.questions import Questions
from mesh.errors import LocalError, MeshError, RemoteError
from mesh.operations import Delete, Put
from mesh.routing.subscriptions import check_query
from mesh.routing.told import MORE, slices
from mesh.values import check_domain
from mesh.wire.commands import Interest, Interested, Query
from mesh.wire.spoken import UNDERSTOOD, UNKNOWN_IS_TOLD

TURN = 128  # queries that are taken up, or dropped, in one turn: some milliseconds
RELAYED = 4  # as many queries are as much work, where others may have to be asked for each
LINE = 2 * WANTED  # queries of one peer that may wait: all that it may want, and as much again

QUESTIONS = 1000  # of one peer that may wait for that; at the last its turn does not end


class Wanted(Part):
    """The feeds of other nodes: what each is owed messages of. `received()`: how far we have each log."""

    def __init__(
        self,
        desk: Desk,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        demand: Demand,
        questions: Questions,
        received: Callable[[], Mapping[bytes, int]],
    ) -> None:
        self._desk = desk
        self._disk = disk
        self._router = router
        self._neighbours = neighbours
        self._demand = demand
        self._questions = questions
        self._received = received
        self._saying: dict[Peer, Saying] = {}  # who has not said all of it yet, or not all is taken up
        self._line: dict[Peer, deque[Interest]] = {}  # what waits for its turn
        self._left: float = TURN  # queries until others are heard
        self._behind: dict[Peer, list[Callable[[], None]]] = {}  # what is done when it is taken up

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(LoggedOut, lambda fact: self._cut_short(fact.peer)),
            hear(LoggedIn, lambda fact: self._cut_short(fact.peer)),
            hear(Ruled, lambda _: self._ruled()),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            take(Interest, lambda conn, peer, command, _: self.interest(peer, command)),
            take(Interested, lambda conn, peer, command, _: self.interested(peer, command)),
        )

    def start(self, beginning: Beginning) -> None:
        """Restore what peers wanted, and how far they were."""
        positions = beginning.rows("position")
        for key, row in beginning.rows("feed").items():
            if key[:1] == b"n":
                record = read_record(row)
                peer = self._neighbours.directory.known(key[1:17], record.owner)
                self._restore(peer, key, record, positions.get(peer.exchange.feed.key, b""))

    def tidy(self) -> None:
        """Forget what nodes want that have been away for too long."""
        lost = self._desk.now - self._desk.settings.peer_linger
        for peer in self._neighbours.peers.values():
            feed = begun.feed if (begun := peer.begun) is not None else None
            if feed is None or feed.connected or peer in self._saying or peer in self._line:
                continue
            if feed.queries and feed.gone_since < lost:
                self.forget(peer)

    # --- what they say ------------------------------------------------------------------------------

    def interest(self, peer: Peer, command: Interest) -> None:
        """Take what a peer wants from us, or a part of it, in turns: others are heard between."""
        line = self._line.setdefault(peer, deque())
        line.extend(slices(command, self._turn, command.more and peer.version >= MORE))
        if len(line) > LINE // self._turn:
            what = f"{peer.node.name} says faster what it wants than it can be taken up"
            raise RemoteError(what, code="TOO_MANY_QUERIES")
        try:
            self._go_on(peer)
        except (RemoteError, LocalError):
            self._cut_short(peer)
            raise

    @property
    def _turn(self) -> int:
        return TURN // RELAYED if self._demand.has_ways else TURN

    def tick(self) -> None:
        self._left = self._turn
        for peer in list(self._line):
            try:
                self._go_on(peer)
            except (RemoteError, LocalError) as error:
                self._refuse(peer, error)

    def _go_on(self, peer: Peer) -> None:
        """Take up what it has said, as far as there is time for it."""
        line = self._line[peer]
        while self._left > 0:
            saying = self._saying.get(peer)
            if saying is not None and saying.is_said:
                self._end(peer, saying)
            elif line:
                self._take_up(peer, line.popleft())
            else:
                del self._line[peer]
                for then in self._behind.pop(peer, ()):
                    then()
                return
        self._line[peer] = self._line.pop(peer)  # others first, the next time: it may never end
        self._desk.wake(self._desk.now)

    def behind(self, peer: Peer, then: Callable[[], None]) -> None:
        """Do that when all is taken up that the peer has said by now: its questions count on it."""
        if peer not in self._line:
            then()
            return
        self._behind.setdefault(peer, []).append(then)
        if len(self._behind[peer]) >= QUESTIONS:
            self._left = inf
            try:
                self._go_on(peer)
            finally:
                self._left = 0

    def _take_up(self, peer: Peer, part: Interest) -> None:
        """Take up a part. What stood and is in no part of a full one falls at the end."""
        saying = self._saying.pop(peer, None)
        if saying is None:
            self._note_lead(peer, part)
            saying = Saying.of(part, peer.exchange.feed)
        saying.check_next(peer, part)
        feed, add = peer.exchange.feed, dict.fromkeys(_checked(q) for q in self._understood(peer, part.add))
        saying.says(add)
        told = () if part.full else part.remove
        remove = {query: None for query in told if query in feed.queries}
        new = [query for query in add if query not in feed.queries or query in remove]
        check_wanted(peer, saying, new, remove)
        for query in remove:
            self._drop(peer, query)
        self._take(peer, new)
        if self._demand.has_ways:
            saying.rows.update((self._demand.row(query), query) for query in add)
        saying.is_said = not part.more
        self._saying[peer] = saying
        self._left -= 1 + len(add) + len(remove)

    def _end(self, peer: Peer, saying: Saying) -> None:
        """End what a peer says. When nothing is left that it did not name, it is owed what it wants."""
        while saying.unsaid and self._left > 0:
            self._drop(peer, saying.unsaid.popitem()[0])
            self._left -= 1
        if saying.unsaid:
            return
        del self._saying[peer]
        for master, position in saying.positions:
            peer.exchange.feed.skip(master, position)
        peer.exchange.feed.connect(self._desk.now)
        self._confirm(peer, saying.version, saying.rows.values())

    def _take(self, peer: Peer, queries: Iterable[Query]) -> None:
        """Add queries that a peer wants, too, from now on."""
        since = dict(self._received())
        place = self._router.shelf.next_position
        for query in queries:
            peer.exchange.feed.asked(query, place, since)
            self._add(peer, query)
            self._keep(peer, query)

    def _refuse(self, peer: Peer, error: MeshError) -> None:
        """Hang up on a peer that wants what cannot be, which was found later than it came."""
        self._cut_short(peer)
        conn = peer.data
        if conn is not None:
            self._desk.broke_protocol(conn, peer.node.name, peer.node, error)

    def _cut_short(self, peer: Peer) -> None:
        """Its connection is gone: it says all of it again on the next one."""
        self._saying.pop(peer, None)
        self._line.pop(peer, None)
        self._behind.pop(peer, None)

    def _understood(self, peer: Peer, queries: tuple[Query, ...]) -> Iterable[Query]:
        """The queries of a kind that is known here. A later release may know more."""
        if peer.version < UNKNOWN_IS_TOLD:
            return queries
        known = [query for query in queries if query.kind in UNDERSTOOD]
        if len(known) < len(queries):
            self._desk.count("unknown_kinds", len(queries) - len(known))
        return known

    def _note_lead(self, peer: Peer, command: Interest) -> None:
        """Does the peer say that it has something of our log that we have not? What we write next stands
        above what an earlier boot ever gave; so this is only told, whether it is true or not.
        """
        ours = self._router.shelf.next_position
        known = max((place for master, place in command.positions if master == self._desk.me.uuid), default=0)
        if known >= ours and not peer.exchange.leads:
            peer.exchange.leads = True
            text = f"{peer.node.name} has what we lack: position {known} of this node's log, {ours} is next"
            self._desk.event("peer", text, peer.node, level="warning")

    def _confirm(self, peer: Peer, version: int, added: Collection[Query]) -> None:
        """Say that we have it, when it is on disk (a crash must not make us forget whom we owe), and when
        those whom we have to ask for it know it as well.
        """
        done = [False]
        peer.exchange.held_versions.append((version, done))

        def known() -> None:
            done[0] = True
            while peer.exchange.held_versions and peer.exchange.held_versions[0][1][0]:
                self._desk.send(peer.data, Interested(peer.exchange.held_versions.popleft()[0]))

        def stored() -> None:
            uuid = peer.node.uuid
            targets = {target for q in added for target in self._demand.targets(q, {uuid})}
            need = self._demand.unconfirmed(targets) if targets else {}
            self._questions.confirm(need, known)

        self._disk.commit((), lambda error: stored())

    def _add(self, peer: Peer, query: Query) -> None:
        self._router.peers.add(peer.exchange.feed, query)
        self._relay(peer, query)

    def _relay(self, peer: Peer, query: Query) -> None:
        """If others are master of it, get it from them for this peer."""
        if self._demand.is_relayed(query):
            self._router.relays.add(peer.exchange.feed, query)
            self._demand.want(query, by=peer.node.uuid)
            peer.exchange.relayed.add(query)

    def _ruled(self) -> None:
        """Other rules count: this node may be on the way for what it was not. Where it was, it stays so: what
        still comes there is handed on.
        """
        for peer in list(self._neighbours.peers.values()):
            if peer.begun is not None:
                for query in list(peer.begun.feed.queries):
                    if query not in peer.begun.relayed:
                        self._relay(peer, query)

    def _drop(self, peer: Peer, query: Query) -> None:
        peer.exchange.feed.unasked(query)
        self._delete("feed", query_key(peer.exchange.feed, query))
        self._router.peers.discard(peer.exchange.feed, query)
        if query in peer.exchange.relayed:
            peer.exchange.relayed.discard(query)
            self._router.relays.discard(peer.exchange.feed, query)
            self._demand.unwant(query, by=peer.node.uuid)

    def _keep(self, peer: Peer, query: Query) -> None:
        """On disk, with the next commit."""
        key, record = (
            query_key(peer.exchange.feed, query),
            write_record(peer.node.name, peer.exchange.feed, query),
        )
        self._disk.later("feed", key, Put("feed", key, record))

    def _delete(self, table: str, key: bytes) -> None:
        self._disk.later(table, key, Delete(table, key))

    def interested(self, peer: Peer, command: Interested) -> None:
        peer.confirmed = max(peer.confirmed, command.version)
        self._questions.slow.confirmed(peer.node.uuid, command.version)
        self._questions.confirmed(peer)

    def forget(self, peer: Peer) -> None:
        """Give up what a peer is owed that has been away for too long."""
        for query in list(peer.exchange.feed.queries):
            self._drop(peer, query)
        peer.exchange.feed.clear()
        # Should it come back as the same process, it acknowledges nothing of this.
        peer.exchange.outlet.restart()
        peer.exchange.feed.restart()
        self._delete("position", peer.exchange.feed.key)

    def _restore(self, peer: Peer, key: bytes, record: FeedRecord, position: bytes) -> None:
        """From the store, at start: what it wanted, and how far it was."""
        record.put_into(peer.exchange.feed)
        for query, _ in record.queries:
            self._add(peer, query)
        if key == peer.exchange.feed.key:  # of an earlier release
            self._delete("feed", key)
            for query, _ in record.queries:
                self._keep(peer, query)
        peer.exchange.feed.position = int.from_bytes(position)
        peer.exchange.feed.gone_since = self._desk.now


def _checked(query: Query) -> Query:
    check_domain(query.domain)
    return check_query(query)
