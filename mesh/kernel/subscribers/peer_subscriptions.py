"""Applies the queries that other nodes send, in limited steps that leave time for other work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf

from mesh.errors import LocalError, MeshError, RemoteError
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.records import read_record
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, PeerLoggedOff
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RulesChanged
from mesh.kernel.routes.peer_calls import PeerCalls
from mesh.kernel.subscribers.peer_queries import PeerQueries
from mesh.kernel.subscribers.saying import WANTED, Saying, check_wanted
from mesh.routing.subscriptions import check_query
from mesh.routing.told import MORE, slices
from mesh.values import check_domain
from mesh.wire.commands import Interest, Interested, Query
from mesh.wire.spoken import UNDERSTOOD, UNKNOWN_IS_TOLD

TURN = 128  # queries added or dropped in one step, a few ms
RELAYED = 4  # factor for a query that is relayed to others
LINE = 2 * WANTED  # waiting queries of one peer, twice the limit

QUESTIONS = 1000  # waiting questions of a peer; the last ends the wait


class PeerSubscriptions(Component):
    """Component that applies the INTERESTs of other nodes, and confirms them.

    `received()` returns the position up to which this node has each master's log.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        demand: InterestSync,
        questions: PeerCalls,
        received: Callable[[], Mapping[bytes, int]],
    ) -> None:
        self._context = context
        self._disk = disk
        self._router = router
        self._neighbours = neighbours
        self._demand = demand
        self._questions = questions
        self._queries = PeerQueries(context, disk, router, neighbours, demand, received)
        self.drop_peer = self._queries.drop_peer
        self._saying: dict[Peer, Saying] = {}  # unfinished INTERESTs
        self._line: dict[Peer, deque[Interest]] = {}  # parts that wait to be applied
        self._left: float = TURN  # queries left in this step
        self._behind: dict[Peer, list[Callable[[], None]]] = {}  # callbacks after all parts

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedOut, lambda fact: self._cut_short(fact.peer)),
            on_fact(LoggedIn, lambda fact: self._cut_short(fact.peer)),
            on_fact(RulesChanged, lambda _: self._queries.on_rules()),
            on_fact(PeerLoggedOff, lambda fact: self._on_logged_off(fact.peer)),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            on_command(Interest, lambda conn, peer, command, _: self.interest(peer, command)),
            on_command(Interested, lambda conn, peer, command, _: self.interested(peer, command)),
        )

    def start(self, beginning: Beginning) -> None:
        """Restore the queries of peers, and their positions."""
        positions = beginning.rows("position")
        for key, row in beginning.rows("feed").items():
            if key[:1] == b"n":
                record = read_record(row)
                peer = self._neighbours.directory.get_or_add(key[1:17], record.owner)
                self._queries.restore_feed(peer, key, record, positions.get(peer.exchange.feed.key, b""))

    def on_second(self) -> None:
        """Drop queries of peers that were disconnected for too long."""
        lost = self._context.clock.now - self._context.settings.peer_linger
        for peer in self._neighbours.peers.values():
            feed = begun.feed if (begun := peer.begun) is not None else None
            if feed is None or feed.connected or peer in self._saying or peer in self._line:
                continue
            if feed.queries and feed.gone_since < lost:
                self._queries.drop_peer(peer)

    def _on_logged_off(self, peer: Peer) -> None:
        """Drop the queries of a peer that logged off, and report that messages were kept for it."""
        if peer.begun is None or peer.begun.feed.connected:
            return
        was_owed = peer.begun.feed.is_owed
        self._queries.drop_peer(peer)
        if was_owed:
            text = f"{peer.node.name} logged off: the messages kept for it were discarded"
            self._context.event("peer", text, peer.node, level="warning")

    # --- commands of peers ------------------------------------------------------------------------------

    def interest(self, peer: Peer, command: Interest) -> None:
        """Accept an INTEREST or a part of one, and apply its queries in limited steps.

        Raises: RemoteError or LocalError for an invalid query, or for too many. An error in a later step ends
        the connection instead.
        """
        line = self._line.setdefault(peer, deque())
        line.extend(slices(command, self._turn, command.more and peer.version >= MORE))
        if len(line) > LINE // self._turn:
            what = f"{peer.node.name} sends its queries faster than they can be applied"
            raise RemoteError(what, code="TOO_MANY_QUERIES")
        try:
            self._process_queries(peer)
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
                self._process_queries(peer)
            except (RemoteError, LocalError) as error:
                self._refuse(peer, error)

    def _process_queries(self, peer: Peer) -> None:
        line = self._line[peer]
        while self._left > 0:
            saying = self._saying.get(peer)
            if saying is not None and saying.is_said:
                self._finish_interest(peer, saying)
            elif line:
                self._take_up(peer, line.popleft())
            else:
                del self._line[peer]
                for then in self._behind.pop(peer, ()):
                    then()
                return
        self._line[peer] = self._line.pop(peer)  # others first in the next turn
        self._context.clock.wake(self._context.clock.now)

    def behind(self, peer: Peer, then: Callable[[], None]) -> None:
        """Call `then` after all queries that the peer has sent so far are applied.

        The questions of the peer rely on its queries. If the connection ends first, `then` is not called.
        """
        if peer not in self._line:
            then()
            return
        self._behind.setdefault(peer, []).append(then)
        if len(self._behind[peer]) >= QUESTIONS:
            self._left = inf
            try:
                self._process_queries(peer)
            finally:
                self._left = 0

    def _take_up(self, peer: Peer, part: Interest) -> None:
        """Add the queries of one part of an INTEREST, and drop the queries that the part removes.

        A full INTEREST names all queries of the peer; `_finish_interest` drops the others.
        """
        saying = self._saying.pop(peer, None)
        if saying is None:
            self._note_lead(peer, part)
            saying = Saying.of(part, peer.exchange.feed)
        saying.check_next(peer, part)
        feed, add = peer.exchange.feed, dict.fromkeys(_checked(q) for q in self._understood(peer, part.add))
        saying.record_named(add)
        told = () if part.full else part.remove
        remove = {query: None for query in told if query in feed.queries}
        new = [query for query in add if query not in feed.queries or query in remove]
        check_wanted(peer, saying, new, remove)
        for query in remove:
            self._queries.drop(peer, query)
        self._queries.add(peer, new)
        if self._demand.has_ways:
            saying.rows.update((self._demand.row(query), query) for query in add)
        saying.is_said = not part.more
        self._saying[peer] = saying
        self._left -= 1 + len(add) + len(remove)

    def _finish_interest(self, peer: Peer, saying: Saying) -> None:
        """Drop the queries that a full INTEREST did not name, connect the feed, and confirm the INTEREST.

        If the budget of this step is used up, dropping continues in the next step.
        """
        while saying.unsaid and self._left > 0:
            self._queries.drop(peer, saying.unsaid.popitem()[0])
            self._left -= 1
        if saying.unsaid:
            return
        del self._saying[peer]
        for master, position in saying.positions:
            peer.exchange.feed.skip(master, position)
        peer.exchange.feed.connect(self._context.clock.now)
        self._confirm(peer, saying.version, saying.rows.values())

    def _refuse(self, peer: Peer, error: MeshError) -> None:
        """Disconnect a peer for an error in its queries that a later step has found."""
        self._cut_short(peer)
        conn = peer.data
        if conn is not None:
            self._context.broke_protocol(conn, peer.node.name, peer.node, error)

    def _cut_short(self, peer: Peer) -> None:
        """Drop the unfinished INTEREST of a peer, which repeats it on its next connection."""
        self._saying.pop(peer, None)
        self._line.pop(peer, None)
        self._behind.pop(peer, None)

    def _understood(self, peer: Peer, queries: tuple[Query, ...]) -> Iterable[Query]:
        """Return the queries of kinds that this release knows, as a peer of a later release may send others.

        An unknown kind from a peer with wire version 1 is left in, and breaks the protocol.
        """
        if peer.version < UNKNOWN_IS_TOLD:
            return queries
        known = [query for query in queries if query.kind in UNDERSTOOD]
        if len(known) < len(queries):
            self._context.counters.add_count("unknown_kinds", len(queries) - len(known))
        return known

    def _note_lead(self, peer: Peer, command: Interest) -> None:
        """Report once that a peer claims a position of this node's log that this node has not reached.

        New positions are above all positions of earlier boots, so the claim has no consequence even if it is
        false.
        """
        ours = self._router.shelf.next_position
        known = max(
            (place for master, place in command.positions if master == self._context.me.uuid), default=0
        )
        if known >= ours and not peer.exchange.leads:
            peer.exchange.leads = True
            text = (
                f"{peer.node.name} has messages of this node's log up to position {known}, but the "
                f"next position here is {ours}: this node lacks messages"
            )
            self._context.event("peer", text, peer.node, level="warning")

    def _confirm(self, peer: Peer, version: int, added: Collection[Query]) -> None:
        """Confirm an INTEREST once it is on disk, and confirmed by the nodes to which this node relays it.

        A crash must not make this node forget its subscribers. If the disk is full, the INTEREST is confirmed
        anyway, and is stored when there is room again.
        """
        done = [False]
        peer.exchange.held_versions.append((version, done))

        def known() -> None:
            done[0] = True
            while peer.exchange.held_versions and peer.exchange.held_versions[0][1][0]:
                self._context.out.send(peer.data, Interested(peer.exchange.held_versions.popleft()[0]))

        def stored() -> None:
            uuid = peer.node.uuid
            targets = {target for q in added for target in self._demand.targets(q, {uuid})}
            need = self._demand.unconfirmed(targets) if targets else {}
            self._questions.call_when_confirmed(need, known)

        self._disk.commit((), lambda error: stored())

    def interested(self, peer: Peer, command: Interested) -> None:
        peer.confirmed = max(peer.confirmed, command.version)
        self._questions.slow.confirmed(peer.node.uuid, command.version)
        self._questions.confirmed(peer)


def _checked(query: Query) -> Query:
    check_domain(query.domain)
    return check_query(query)
