"""Subscriptions at other nodes, for local clients and for peers that this node forwards to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from mesh.flow.lifetimes import Lifetimes
from mesh.kernel.asking.aims import TURN, Aims
from mesh.kernel.asking.facts import Unwanted
from mesh.kernel.asking.query_sources import QuerySources
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.unresponsive_peers import UnresponsivePeers
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.reasons.reason import reason
from mesh.reasons.verdict import EVERYONE
from mesh.reasons.what import TOPIC, What
from mesh.routing.interest import CLIENTS, OVER, Interests, PeerInterest
from mesh.routing.told import MORE, in_one, parts
from mesh.wire.commands import Interest, Query
from mesh.wire.limits import FRAME, INTEREST_FRAME, PIECES, XPATH
from mesh.wire.replies import Reason

LINGERING = 10_000  # queries that wait for a new subscriber, at most
ASKED = 64  # queries of one topic that are examined


class InterestSync(Component):
    """Component that sends each peer the changes of the queries for which the peer is asked."""

    def __init__(
        self,
        context: NodeContext,
        mapping: Mapping,
        neighbours: Neighbours,
        nodes: Nodes,
        slow: UnresponsivePeers,
    ) -> None:
        self.interests = Interests()
        self._context = context
        self._mapping = mapping
        named = self._named = QuerySources(mapping, nodes, neighbours)
        self.row, self.sources, self.targets = named.row, named.sources, named.targets
        self.is_relayed, self.is_way = named.is_relayed, named.is_way
        self.possible_masters, self.hops_of = named.possible_masters, named.hops_of
        self.stands_for, self.is_reachable = named.stands_for, named.is_reachable
        self._nodes = nodes
        self._neighbours = neighbours
        self._slow = slow
        self._aims = Aims(self.targets)
        self._lingering = Lifetimes[Query]()  # queries without a subscriber here
        self._is_spent = False  # the budget is used up until the next tick
        self._before: dict[Hashable, list[Query]] = {}  # queries of an earlier process, by row
        self._asked_again: set[bytes] = set()  # peers to which these were sent again

    def on_restored(self) -> None:
        for query in self.interests.queries() if self.has_ways else ():
            self._before.setdefault(self.row(query), []).append(query)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RoutesChanged, lambda _: self.refresh()),)

    def use_rules(self, *others: Sequence[Rule]) -> None:
        """Subscribe by `others` as well: rules that are next, or that were recently in force.

        Queries that had the same sources may then have different ones.
        """
        self._named.use_rules(*others)
        self._aims.regroup(self.row)
        self._context.facts.publish_last(RoutesChanged())

    @property
    def has_ways(self) -> bool:
        """True if any node may forward messages of other masters."""
        return self._named.has_ways

    @property
    def is_changing(self) -> bool:
        """True if queries follow other rules as well: during a change of rules and for a while after."""
        return self._named.is_changing

    def want(self, query: Query, by: bytes = CLIENTS) -> None:
        """Add one request of a requester for a query, and send the query to its targets if needed."""
        if by == CLIENTS and self._lingering.forget_key(query):  # its last request still counts
            self.catch_up(query)
        elif self.interests.add(query, by):
            self._wanted_by(query, self.interests.wanted_by(query) - {by})
        else:
            self.catch_up(query)

    def unwant(self, query: Query, by: bytes = CLIENTS) -> None:
        """Drop one request of a requester for a query.

        After the requester's last request for the query, the fact Unwanted is published. The last request of
        the clients is dropped later if a rule has `cache_linger`.
        """
        if by == CLIENTS and self.interests.requests(query, by) == 1:
            linger = self._mapping.cache_linger(query.kind, query.text, query.domain)
            if linger:
                self._lingering.begin(query, linger, self._context.clock.now)
                if len(self._lingering) > LINGERING:
                    self._drop_request(self._lingering.pop_oldest(), by)
                return
        self._drop_request(query, by)

    def _drop_request(self, query: Query, by: bytes) -> None:
        if self.interests.remove_request(query, by):
            self._wanted_by(query, self.interests.wanted_by(query) | {by})
            self._context.facts.publish_fact(Unwanted(query))

    def _wanted_by(self, query: Query, before: set[bytes]) -> None:
        row, by = self.row(query), self.interests.wanted_by(query)
        self._aims.take(query, row, frozenset(before))
        targets = self._aims.put(query, row, frozenset(by)).targets if by else set[bytes]()
        self._send_interests(self.interests.aim(query, targets, self._context.clock.now))
        self._wake()

    def on_second(self) -> None:
        for query in self._lingering.pop_over(self._context.clock.now, OVER):
            self._drop_request(query, CLIENTS)

    def features(self) -> Sequence[str]:
        return (XPATH,)

    def refresh(self) -> None:
        """Look up the targets again, after nodes have appeared or disappeared."""
        self._aims.refresh()
        self._send_pending()

    def _send_pending(self) -> None:
        if not self._is_spent and self._aims.is_open:
            self._is_spent = True
            for group, queries in self._aims.go_on(TURN):
                now = self._context.clock.now
                self._send_interests(self.interests.aim_all(queries, group.targets, group.changed, now))
        self._wake()

    def _wake(self) -> None:
        if self._aims.is_open:
            self._context.clock.wake(self._context.clock.now)

    def catch_up(self, query: Query) -> None:
        """Send the query to its targets now if that is still pending."""
        if self._aims.is_open:
            group = self._aims.group(self.row(query), frozenset(self.interests.wanted_by(query)))
            if group is not None and self._aims.is_late(group):
                self._send_interests(self.interests.aim(query, group.targets, self._context.clock.now))

    def say_all(self, peer: Peer, conn: Conn) -> None:
        """Send all queries to a peer that has logged in, with the positions received from it."""
        self._aim_at(peer.node.uuid)
        self._ask_again(peer)
        upstreams = peer.exchange.upstreams
        positions = tuple((master, u.received) for master, u in upstreams.items() if u.received)
        full = self.interests.full(peer.node.uuid, positions, conn.speaks)
        if self._send_interest(conn, full) > 1 and conn.version < MORE:
            text = f"{peer.node.name}, which runs an earlier release, receives {len(full.add):,} queries,"
            text = f"{text} more than it accepts in one message; some of its messages may be lost"
            self._context.event("link", text, peer.node, level="warning")
        self._slow.tells(peer.node.uuid, full.version, is_new=True)

    def _ask_again(self, peer: Peer) -> None:
        """Add the queries of an earlier process of this node to those for a peer.

        A peer that forwarded for that process may still hold messages for it, or get them later from a
        master. Without the queries the peer would drop them.
        """
        uuid, name = peer.node.uuid, peer.node.name
        if not self._before or uuid in self._asked_again or not self._neighbours.acquaintances.was_met(uuid):
            return
        self._asked_again.add(uuid)
        for first, *more in self._before.values() if self.is_way(name) else ():
            if name in self._mapping.all_masters(first.kind, first.text, first.domain):
                self.interests.asked_before(uuid, (first, *more), self._context.clock.now)

    def _aim_at(self, uuid: bytes) -> None:
        """Bring the queries for a peer up to date before they are sent in full.

        A peer may log in at first contact, or while steps are pending, and forgets queries that are not in
        the full list.
        """
        for group in self._aims.left_for(uuid):
            self.interests.aim_all(list(group.queries), group.targets, (uuid,), self._context.clock.now)
        self._wake()  # others may be pending

    def _send_interest(self, conn: Conn, interest: Interest) -> int:
        """Send the interest as one or more consecutive frames, and return their number."""
        if conn.version >= MORE:
            frames = list(parts(interest))
        else:
            frames = list(in_one(interest, INTEREST_FRAME if PIECES in conn.speaks else FRAME))
        for frame in frames:
            self._context.out.raw(conn, [frame])
        return len(frames)

    def unconfirmed(self, uuids: set[bytes] | None = None) -> dict[bytes, int]:
        """Return the versions that the given peers (`None`: all) have yet to confirm, by uuid.

        Unreachable and slow peers are left out.
        """
        need = {}
        for peer in self._nodes.usable():
            asked = self.interests.interest_of(peer.node.uuid)
            is_meant = peer.node.uuid not in self._slow and (uuids is None or peer.node.uuid in uuids)
            if (
                is_meant
                and asked.queries
                and peer.confirmed < asked.version
                and self._nodes.is_alive(peer.node.name)
            ):
                need[peer.node.uuid] = asked.version
        return need

    def is_confirmed_by(self, uuid: bytes) -> bool:
        """Return whether the peer was sent all queries for it, and has confirmed them."""
        return not self._aims.is_open and not self.unconfirmed({uuid})

    def is_known_to(self, peer: Peer) -> bool:
        """Return whether the peer has confirmed all queries for it, also if it is slow."""
        return not self._aims.is_open and peer.confirmed >= self.interest_of(peer).version

    def is_requested(self, query: Query, master: bytes) -> bool:
        """Return whether the next hops to a master have confirmed a query, so that newer messages will come.

        A master that is not linked counts as a next hop only if rules name it. This node needs none.
        """
        if master == self._context.me.uuid:
            return True
        peer = self._neighbours.peers.get(master)
        if peer is not None and query in self.interest_of(peer).queries:  # for speed
            return peer.data is not None and self.is_known_to(peer)
        named = self.sources(query)
        hops: list[Peer | None]
        if named.everyone:
            hops = [peer] if peer is not None and peer.data is not None else []
        elif peer is not None and peer.node.name in named.masters:
            hops = [peer]
        else:
            hops = [self._nodes.named(name) for name in named.hops if name not in named.masters]
        return all(hop is not None and hop.data is not None and self.is_known_to(hop) for hop in hops)

    @property
    def is_confirmed(self) -> bool:
        """True if all queries were sent, and all reachable peers that are not slow have confirmed them."""
        return not self._aims.is_open and not self.unconfirmed()

    def interest_of(self, peer: Peer) -> PeerInterest:
        return self.interests.interest_of(peer.node.uuid)

    def needs(self, peer: Peer) -> bool:
        return bool(self.interests.interest_of(peer.node.uuid).queries)

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == TOPIC and (queries := self.interests.matching(what.text, what.domain)):
            asked = set[str]()
            for query in queries[:ASKED]:
                named = self.sources(query)
                asked.update(named.hops if not named.everyone else (EVERYONE,))
            if asked:
                nodes = sorted(asked)
                yield reason(
                    "ASKS", nodes, nodes=["all nodes" if node == EVERYONE else node for node in nodes]
                )

    def tick(self) -> None:
        self._is_spent = False
        if over := self.interests.sweep(self._context.clock.now, self._is_here):
            self._send_interests(over)
            self._context.clock.wake(self._context.clock.now)  # there may be more
        if self._aims.is_open:
            self._send_pending()

    def _is_here(self, uuid: bytes) -> bool:
        peer = self._neighbours.peers.get(uuid)
        return peer is not None and peer.data is not None

    def _send_interests(self, told: list[tuple[bytes, Interest]]) -> None:
        for uuid, interest in told:
            peer = self._neighbours.peers.get(uuid)
            if peer is not None:
                if peer.data is not None:
                    self._send_interest(peer.data, interest)
                self._slow.tells(uuid, interest.version)
                self._neighbours.review_login(peer)
