"""Looks up retained values: in this node's log, in its cache, or at the nodes that the rules name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain

from mesh.kernel.asking.facts import Unwanted
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.asking.lookup_result import LastValue, LookupResult, RemoteLookup
from mesh.kernel.asking.scans import Scans
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.mapping.decision import Use
from mesh.routing.interest import CLIENTS
from mesh.routing.merging import Merging
from mesh.routing.refill_gates import RefillGates
from mesh.routing.retained_value import RetainedValue
from mesh.routing.scan import XPathScan
from mesh.wire.calls import AskGet
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import XPATH
from mesh.wire.replies import Values

HEDGE = 1.0  # s until the next of several masters is asked


class Lookup(Component):
    """Component for retained values: `get` for clients, and for peers that use this node as next hop."""

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        demand: InterestSync,
        questions: PeerCalls,
        nodes: Nodes,
        merging: Merging,
        gates: RefillGates,
    ) -> None:
        self._merging = merging
        self._gates = gates
        self._context = context
        self._router = router
        self._cache = router.cache
        self._demand = demand
        self._questions = questions
        self._nodes = nodes
        self._scans = Scans(
            lambda query: XPathScan(query, router.log.retained.values(context.clock.believed)),
            lambda: context.clock.wake(context.clock.now),
        )

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(Unwanted, lambda fact: self._unwanted(fact.query)),)

    def look_up(
        self,
        query: Query,
        then: Callable[[LookupResult], None],
        *,
        fresh: bool = True,
        after: bool = False,
        most: int = 1,
    ) -> None:
        """Look up the values of this node and of the query's sources, and call `then` with them.

        `fresh` bypasses the cache. With `after` a node replies only after all its messages that are in
        transit to this node, also those of a refill. `most` is the number of messages of each topic; the
        cache has one.
        """

        def settled() -> None:
            cached = None if fresh or most > 1 else self._cached(query)
            if cached is None:
                self._own(query, partial(self._gather, query, then, CLIENTS, (), CONFIRM, after), most=most)
                return

            def both(found: LookupResult) -> None:
                found.add(cached)
                then(found)

            self._own(query, both)

        self._questions.when_settled(settled)

    def get_for(
        self,
        peer: Peer,
        query: Query,
        then: Callable[[LookupResult], None],
        visited: Collection[str],
        within: float,
        after: bool,
        most: int,
    ) -> None:
        """Look up values for a peer: own ones, and those of nodes that the peer reaches through this one."""
        if self._demand.is_relayed(query):
            then = partial(self._gather, query, then, peer.node.uuid, visited, within, after)
        self._own(query, then, is_local=False, most=most)

    def tick(self) -> None:
        self._scans.tick()

    def _own(
        self, query: Query, then: Callable[[LookupResult], None], is_local: bool = True, most: int = 1
    ) -> None:
        """Look up the values of which this node is master: immediately, unless an XPath has much to scan."""
        if is_local:
            for reads in self._context.face.before_reads:
                reads(query)
        me = self._context.me

        def looked(values: Iterable[RetainedValue]) -> None:
            found = LookupResult(most=most)
            wall, latest = self._context.clock.believed, self._router.log.histories.latest
            for last in chain.from_iterable(latest(value, most, wall) for value in values):
                if is_local or not last.is_local:
                    found.add(LastValue(me.uuid, last.as_envelope(), me.name, self._age(last)))
            then(found)

        if query.kind == XPATH:
            self._scans.begin_scan(query, looked)
        else:
            looked(self._router.log.retained.find_values(query, self._context.clock.believed))

    def _age(self, last: RetainedValue) -> float | None:
        """Return for how many s the master that this node replaces has been unreachable.

        That master may have a newer value. The result is `None` if this node replaces no master, or accepted
        the value itself.
        """
        masters = self._demand.stands_for(last.key, last.envelope)
        if not masters or last.envelope.master == self._context.me.name:
            return None
        peers = [peer for name in masters if (peer := self._nodes.named(name)) is not None]
        return max(
            (self._context.clock.now - peer.lost_at for peer in peers if peer.lost_at is not None),
            default=0.0,
        )

    def _gather(
        self,
        query: Query,
        then: Callable[[LookupResult], None],
        by: bytes,
        visited: Collection[str],
        within: float,
        after: bool,
        found: LookupResult,
    ) -> None:
        """Add the values of other nodes to those found here, and call `then` with all of them."""
        # A subscription begins with the values of all sources, as one of them may lag behind another.
        everybody = self._demand.sources(query)
        sources = everybody if after else self._demand.sources(query, Use.GET)
        spare = [hop for hop in everybody.hops if hop not in (*sources.hops, *visited)]
        found.away = list(sources.away)
        question, life = self._question(query, visited, after, found.most), self._cache.life
        remote = RemoteLookup(
            query, question, then, found, visited, within, by == CLIENTS, life, everybody.hops, spare
        )
        self._ask_nodes(remote, self._demand.targets(query, {by}, sources))

    def _ask_nodes(self, remote: RemoteLookup, targets: set[bytes]) -> None:
        peers = [peer for peer in self._nodes.askable(remote.visited) if peer.node.uuid in targets]
        limit = min(remote.within, HEDGE) if remote.spare else remote.within
        then = partial(self._on_replies, remote)
        self._questions.ask_all(peers, remote.question, Values, then, limit, extends=remote.is_own)

    def _on_replies(self, remote: RemoteLookup, replies: Replies[Values], missing: list[str]) -> None:
        """Add the replies; then ask another source in place of missing ones, or end the lookup."""
        found = remote.found
        if unasked := found.add_replies(replies, remote.query):
            self._context.counters.add_count("unasked", unasked)
        lacking = [node for node in missing if node in remote.sources]
        if lacking and (uuid := self._next_alive(remote.spare)):  # a missing node may be failing unnoticed
            self._ask_nodes(remote, {uuid})
            return
        found.away, found.missing = [*found.away, *lacking], missing
        if remote.question.after:
            self._gates.call_when_open(remote.query.domain, partial(self._end, remote))
        else:
            self._end(remote)

    def _end(self, remote: RemoteLookup) -> None:
        if remote.question.after:
            self._begins(remote)
        self._remember(remote.found, remote.life)
        remote.then(remote.found)

    def _question(self, query: Query, visited: Collection[str], after: bool, most: int) -> AskGet:
        asked = [*visited, self._context.me.name]
        return AskGet(
            kind=query.kind, text=query.text, domain=query.domain, after=after, visited=asked, history=most
        )  # fmt: skip

    def _next_alive(self, names: list[str]) -> bytes | None:
        """Remove the names up to the first reachable node, and return its uuid, or None if there is none."""
        while names:
            peer = self._nodes.named(names.pop(0))
            if peer is not None and self._nodes.is_alive(peer.node.name):
                return peer.node.uuid
        return None

    def _begins(self, remote: RemoteLookup) -> None:
        found = remote.found
        for value in found.values:
            self._merging.passed(value.envelope, value.source)
        if remote.is_own and not (found.missing or found.away):
            self._cache.knows(remote.query, remote.life)

    # --- the cache of what clients here have subscribed to ----------------------------------------------

    def _cached(self, query: Query) -> LastValue | None:
        if query.kind != "exact":
            return None
        for domain in [query.domain] if query.domain else self._cache.values.domains(query.text):
            last = self._cache.get(query.text, domain, self._context.clock.now)
            hop = self._covered_by(last.envelope, query.text) if last is not None else None
            if last is None or hop is None or last.is_void(self._context.clock.believed):
                continue
            if hop.lost_at is None and not self._is_known(last.envelope, query.text):
                continue
            age = None if hop.lost_at is None else self._context.clock.now - hop.lost_at
            return LastValue(b"", last.as_envelope(), self._context.me.name, age)
        return None

    def _remember(self, found: LookupResult, life: int) -> None:
        if life != self._cache.life:
            return  # the value is older than the emptied cache
        for (key, domain), value in found.best.items():
            if value.source != self._context.me.name and self._covered_by(value.envelope, key) is not None:
                self._cache.store_value(value.envelope, self._context.clock.now)
                self._cache.knows(Query("exact", key, domain), life)

    def _unwanted(self, query: Query) -> None:
        """Drop the cached values that no other query here keeps up to date; for an XPath query, drop all."""
        if query.kind == XPATH:  # matching values are not looked up again
            self._cache.empty()
            return
        self._cache.forget_query(query)
        for last in list(self._cache.values.find_values(query, 0)):
            key, domain = last.key, last.envelope.domain
            if not self._demand.interests.matching(key, domain, last.envelope.xml):
                self._cache.forget_query(Query("exact", key, domain))
                self._cache.remove_value(key, domain)

    def _is_known(self, value: Envelope, key: str) -> bool:
        wanted = self._demand.interests.matching(key, value.domain, value.xml)
        return self._cache.knows_one((Query("exact", key, value.domain), *wanted))

    def _covered_by(self, value: Envelope, key: str) -> Peer | None:
        """Return the peer that sends every new value of the topic, because of a subscription here.

        Of several peers a connected one is preferred.
        """
        asked = self._demand.interests.interest_of
        for query in self._demand.interests.matching(key, value.domain, value.xml):
            named = [self._nodes.named(hop) for hop in self._demand.sources(query).hops]
            peers = [p for p in named if p is not None and query in asked(p.node.uuid).queries]
            if peers:
                return min(peers, key=lambda peer: peer.lost_at is not None)
        return None
