"""Subscriptions at other nodes, for local clients and for peers that this node forwards to."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

from mesh.core.asking.aims import TURN, Aims
from mesh.core.asking.facts import Unwanted
from mesh.core.context.component import Component
from mesh.core.context.conn import Conn
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.node_context import NodeContext
from mesh.core.peers.facts import RoutesChanged
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.routes.nodes import Nodes
from mesh.core.routes.unresponsive_peers import UnresponsivePeers
from mesh.mapping.decision import Sources, Use
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.patterns import SYSTEM
from mesh.reasons.reason import reason
from mesh.reasons.verdict import EVERYONE
from mesh.reasons.what import TOPIC, What
from mesh.reserved import OF_USERS
from mesh.routing.interest import CLIENTS, STANDBY, Interests, PeerInterest
from mesh.routing.told import MORE, in_one, parts
from mesh.wire.commands import Interest, Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import FRAME, INTEREST_FRAME, PIECES, XPATH
from mesh.wire.replies import Reason
from mesh.wire.spoken import KINDS

ASKED = 64  # queries of one topic that are examined


class InterestSync(Component):
    """Component that sends each peer the changes of the queries for which the peer is asked."""

    def __init__(
        self,
        desk: NodeContext,
        mapping: Mapping,
        neighbours: Neighbours,
        nodes: Nodes,
        slow: UnresponsivePeers,
    ) -> None:
        self.interests = Interests()
        self._desk = desk
        self._mapping = mapping
        self._ways = frozenset(rule.node for rule in mapping.rules)
        self._beside: tuple[Mapping, ...] = ()  # other rules that also apply during a change
        self._nodes = nodes
        self._neighbours = neighbours
        self._slow = slow
        self._aims = Aims(self.targets)
        self._is_spent = False  # the budget is used up until the next tick
        self._before: dict[Hashable, list[Query]] = {}  # queries of an earlier process, by row
        self._asked_again: set[bytes] = set()  # peers that were asked for these again

    def on_restored(self) -> None:
        for query in self.interests.queries() if self.has_ways else ():
            self._before.setdefault(self.row(query), []).append(query)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RoutesChanged, lambda _: self.refresh()),)

    def expect(self, *others: Sequence[Rule]) -> None:
        """Subscribe also by these rules, which are next or were recently in force.

        Queries that had the same sources may then have different ones.
        """
        mapping = self._mapping
        self._beside = tuple(Mapping(mapping.me, rules, mapping.scope) for rules in others)
        self._ways = frozenset(rule.node for rules in (mapping.rules, *others) for rule in rules)
        self._aims.regroup(self.row)
        self._desk.facts.publish_last(RoutesChanged())

    @property
    def has_ways(self) -> bool:
        """Whether nodes may forward messages of other masters."""
        return not self._mapping.is_plain or bool(self._beside)

    @property
    def is_changing(self) -> bool:
        """Whether queries also follow other rules, during a change of rules and for a while after."""
        return bool(self._beside)

    def is_way(self, node: str) -> bool:
        """Return whether that node may forward messages of other masters."""
        return node in self._ways

    def want(self, query: Query, by: bytes = CLIENTS) -> None:
        """Add one request of a requester for a query, and send the query to its targets if needed."""
        if self.interests.add(query, by):
            self._wanted_by(query, self.interests.wanted_by(query) - {by})
        else:
            self.catch_up(query)

    def unwant(self, query: Query, by: bytes = CLIENTS) -> None:
        """Drop one request of a requester for a query.

        After its last request the fact Unwanted is published.
        """
        if self.interests.discard(query, by):
            self._wanted_by(query, self.interests.wanted_by(query) | {by})
            self._desk.facts.publish(Unwanted(query))

    def _wanted_by(self, query: Query, before: set[bytes]) -> None:
        row, by = self.row(query), self.interests.wanted_by(query)
        self._aims.take(query, row, frozenset(before))
        targets = self._aims.put(query, row, frozenset(by)).targets if by else set[bytes]()
        self._send_interests(self.interests.aim(query, targets, self._desk.clock.now))
        self._wake()

    def features(self) -> Sequence[str]:
        return (XPATH,)

    def row(self, query: Query) -> Hashable:
        """Return the key of a query's sources.

        Queries with the same key have the same sources.
        """
        if _is_own(query):
            return None
        row = self._mapping.row_of_query(query.kind, query.text, query.domain)
        if self._beside:
            row = row, *(m.row_of_query(query.kind, query.text, query.domain) for m in self._beside)
        return row if query.kind in KINDS else (query.kind, row)

    def refresh(self) -> None:
        """Look up the targets again, after nodes have appeared or disappeared."""
        self._aims.refresh()
        self._send_pending()

    def _send_pending(self) -> None:
        if not self._is_spent and self._aims.is_open:
            self._is_spent = True
            for group, queries in self._aims.go_on(TURN):
                now = self._desk.clock.now
                self._send_interests(self.interests.aim_all(queries, group.targets, group.changed, now))
        self._wake()

    def _wake(self) -> None:
        if self._aims.is_open:
            self._desk.clock.wake(self._desk.clock.now)

    def catch_up(self, query: Query) -> None:
        """Send the query to its targets now if that is still pending."""
        if self._aims.is_open:
            group = self._aims.group(self.row(query), frozenset(self.interests.wanted_by(query)))
            if group is not None and self._aims.is_late(group):
                self._send_interests(self.interests.aim(query, group.targets, self._desk.clock.now))

    def sources(self, query: Query, use: Use = Use.SUBSCRIBE) -> Sources:
        """Return the nodes that the rules name for the query.

        With several masters a GET names another one each time. Queries for system topics have no sources, as
        each node publishes these for its own clients only.
        """
        if _is_own(query):
            return Sources()
        return self._mapping.sources(query.kind, query.text, query.domain, self._nodes, use)

    def targets(self, query: Query, by: Collection[bytes], named: Sources | None = None) -> set[bytes]:
        """Return the uuids of the peers to ask for the query of the requesters `by`.

        `named` has the sources if they are known.
        """
        sources = self._with_beside(named or self.sources(query), query)
        names = sources.hops
        if STANDBY in by:
            names = (*names, *self._mapping.partners(query.kind, query.text, query.domain))
        hops = {peer.node.uuid for name in names if (peer := self._nodes.named(name)) is not None}
        if len(by) == 1:
            hops -= set(by)  # that peer would only ask this node
        if sources.everyone and CLIENTS in by:
            hops |= {peer.node.uuid for peer in self._nodes.usable()}
        if query.kind not in KINDS:
            hops = {uuid for uuid in hops if query.kind in self._neighbours.peers[uuid].speaks}
        return hops

    def is_relayed(self, query: Query) -> bool:
        """Return whether this node also fetches messages of other masters for the query."""
        return bool(self._with_beside(self.sources(query), query).hops)

    def _with_beside(self, sources: Sources, query: Query) -> Sources:
        """Return `sources`, extended by the sources that the other rules in use name."""
        if not self._beside or _is_own(query):
            return sources
        more = [m.sources(query.kind, query.text, query.domain, self._nodes) for m in self._beside]
        hops = dict.fromkeys(hop for each in (sources, *more) for hop in each.hops)
        everyone = any(each.everyone for each in (sources, *more))
        return Sources(tuple(hops), everyone, sources.masters, sources.away)

    def stands_for(self, key: str, e: Envelope) -> tuple[str, ...]:
        """Return the masters of the message if all are unreachable and this node replaces them, else none."""
        return self._mapping.stands_for(key, e, self._nodes)

    def is_reachable(self, query: Query) -> bool:
        """Return whether all sources that the rules name for the query are reachable."""
        return not self.sources(query).away

    def say_all(self, peer: Peer, conn: Conn) -> None:
        """Send a peer that has logged in all queries for it, with our positions."""
        self._aim_at(peer.node.uuid)
        self._ask_again(peer)
        upstreams = peer.exchange.upstreams
        positions = tuple((master, u.received) for master, u in upstreams.items() if u.received)
        full = self.interests.full(peer.node.uuid, positions, conn.speaks)
        if self._send_interest(conn, full) > 1 and conn.version < MORE:
            text = f"{peer.node.name}, which runs an earlier release, receives {len(full.add):,} queries,"
            text = f"{text} more than it accepts at once; some of its messages may be lost"
            self._desk.event("link", text, peer.node, level="warning")
        self._slow.tells(peer.node.uuid, full.version, is_new=True)

    def _ask_again(self, peer: Peer) -> None:
        """Send queries of an earlier process again.

        A peer that forwarded for that process may still hold messages for it, or get them later from a
        master. Without the queries the peer would drop them.
        """
        uuid, name = peer.node.uuid, peer.node.name
        if not self._before or uuid in self._asked_again or not self._neighbours.acquaintances.was_met(uuid):
            return
        self._asked_again.add(uuid)
        for first, *more in self._before.values() if self.is_way(name) else ():
            if name in self._mapping.askable(first.kind, first.text, first.domain):
                self.interests.asked_before(uuid, (first, *more), self._desk.clock.now)

    def _aim_at(self, uuid: bytes) -> None:
        """Bring the queries for a peer up to date before they are sent in full.

        A peer may log in at first contact, or while steps are pending, and forgets queries that are not in
        the full list.
        """
        for group in self._aims.left_for(uuid):
            self.interests.aim_all(list(group.queries), group.targets, (uuid,), self._desk.clock.now)
        self._wake()  # others may be pending

    def _send_interest(self, conn: Conn, interest: Interest) -> int:
        """Send the interest as one or more consecutive frames, and return their number."""
        if conn.version >= MORE:
            frames = list(parts(interest))
        else:
            frames = list(in_one(interest, INTEREST_FRAME if PIECES in conn.speaks else FRAME))
        for frame in frames:
            self._desk.out.raw(conn, [frame])
        return len(frames)

    def unconfirmed(self, uuids: set[bytes] | None = None) -> dict[bytes, int]:
        """Return the versions that the given peers, or all, have yet to confirm.

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

    @property
    def is_confirmed(self) -> bool:
        """Whether all queries were sent, and all reachable peers that are not slow have confirmed them."""
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
        if over := self.interests.sweep(self._desk.clock.now, self._is_here):
            self._send_interests(over)
            self._desk.clock.wake(self._desk.clock.now)  # there may be more
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


def _is_own(query: Query) -> bool:
    """Return whether the query is for values that each node has only for its own clients."""
    return query.text.startswith(SYSTEM) and not query.text.startswith(OF_USERS)
