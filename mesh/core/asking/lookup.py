"""What is the last value of a topic? From this node's own log, its cache, or the nodes that rules name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from mesh.core.asking.demand import Demand
from mesh.core.asking.facts import Unwanted
from mesh.core.asking.scans import Scans
from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.pages import NAMES
from mesh.core.desk.part import Part
from mesh.core.desk.settings import CONFIRM
from mesh.core.peers.peer import Peer
from mesh.core.ways.nodes import Nodes
from mesh.core.ways.questions import Questions, Replies
from mesh.mapping.decision import Use
from mesh.routing.interest import CLIENTS
from mesh.routing.last import Last
from mesh.routing.merging import Merging
from mesh.routing.querytrie import wants
from mesh.wire.calls import LONGEST, AskGet
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import XPATH
from mesh.wire.replies import Values

HEDGE = 1.0  # s that one of several masters has to answer, before the next is asked


@dataclass(frozen=True, slots=True)
class LastValue:
    """The last value of a topic: its master, where it was found, and how old that may be (None = current)."""

    master: bytes
    envelope: Envelope
    source: str
    age: float | None = None


@dataclass(slots=True)
class LookupResult:
    """The newest value of each topic; which nodes did not answer, and which masters cannot be reached."""

    best: dict[tuple[str, str], LastValue] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    away: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[LastValue]:
        return list(self.best.values())

    def take(self, replies: Replies[Values], query: Query) -> int:
        """Add what nodes have answered; returns how many values nobody had asked for."""
        unasked = 0
        for told in replies.values():
            for envelope, (source, age, master) in told.found:
                if _fits(envelope, query):
                    self.add(LastValue(master, envelope, source, age))
                else:
                    unasked += 1
            self.away += [name[:LONGEST] for name in told.value.away[:NAMES]]
        return unasked

    def add(self, value: LastValue) -> None:
        """The newest per topic: by hybrid clock, then id."""
        e = value.envelope
        topic = (e.keys[0], e.domain)
        known = self.best.get(topic)
        if known is None or e.stamp > known.envelope.stamp:
            self.best[topic] = value


class Lookup(Part):
    """Last values: `get` for clients, and for peers that are on this way to a master."""

    def __init__(
        self, desk: Desk, router: Router, demand: Demand, questions: Questions, nodes: Nodes, merging: Merging
    ) -> None:
        self._merging = merging
        self._desk = desk
        self._router = router
        self._cache = router.cache
        self._demand = demand
        self._questions = questions
        self._nodes = nodes
        self._scans = Scans(lambda: router.log.retained.values(desk.believed), lambda: desk.wake(desk.now))

    def hears(self) -> Sequence[Hearing]:
        return (hear(Unwanted, lambda fact: self._unwanted(fact.query)),)

    def get(
        self, query: Query, then: Callable[[LookupResult], None], *, fresh: bool = True, after: bool = False
    ) -> None:
        """The values of this node and of all that must be asked. `fresh`: not from the cache.

        `after`: they come after all messages of the same node that are on their way here by now.
        """

        def settled() -> None:
            cached = None if fresh else self._cached(query)
            if cached is None:
                self._own(query, partial(self._gather, query, then, CLIENTS, (), CONFIRM, after))
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
    ) -> None:
        """Get what a peer asks for: own values, and those of the nodes to which this one is the way."""
        if self._demand.is_relayed(query):
            then = partial(self._gather, query, then, peer.node.uuid, visited, within, after)
        self._own(query, then, is_local=False)

    def tick(self) -> None:
        self._scans.tick()

    def _own(self, query: Query, then: Callable[[LookupResult], None], is_local: bool = True) -> None:
        """Give the values of which this node is master: at once, unless an XPath has much to look at."""
        if is_local:
            for reads in self._desk.face.reads:
                reads(query)
        me = self._desk.me

        def looked(values: Iterable[Last]) -> None:
            found = LookupResult()
            for last in values:
                if is_local or not last.is_local:
                    found.add(LastValue(me.uuid, last.as_envelope(), me.name, self._age(last)))
            then(found)

        if query.kind == XPATH:
            self._scans.begin(query, looked)
        else:
            looked(self._router.log.retained.find(query, self._desk.believed))

    def _age(self, last: Last) -> float | None:
        """How long its master has been away, for which this node stands in: it may have had a newer one."""
        masters = self._demand.stands_for(last.key, last.envelope)
        if not masters or last.envelope.master == self._desk.me.name:
            return None
        peers = [peer for name in masters if (peer := self._nodes.named(name)) is not None]
        return max((self._desk.now - peer.lost_at for peer in peers if peer.lost_at is not None), default=0.0)

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
        """Add to what was found here what others have."""
        me, life = self._desk.me.name, self._cache.life
        # A subscription begins with what all have: one of them may be behind what another brings.
        everybody = self._demand.sources(query)
        sources = everybody if after else self._demand.sources(query, Use.GET)
        spare = [hop for hop in everybody.hops if hop not in (*sources.hops, *visited)]
        found.away = list(sources.away)
        question = AskGet(
            kind=query.kind, text=query.text, domain=query.domain, after=after, visited=[*visited, me]
        )

        def ask(targets: set[bytes]) -> None:
            peers = [p for p in self._nodes.askable(visited) if p.node.uuid in targets]
            self._questions.ask_all(peers, question, Values, came, min(within, HEDGE) if spare else within)

        def came(replies: Replies[Values], missing: list[str]) -> None:
            if unasked := found.take(replies, query):
                self._desk.count("unasked", unasked)
            lacking = [node for node in missing if node in everybody.hops]
            while lacking and spare:  # it dies, perhaps, and nobody has noticed yet
                peer = self._nodes.named(spare.pop(0))
                if peer is not None and self._nodes.is_alive(peer.node.name):
                    ask({peer.node.uuid})
                    return
            found.away += lacking
            found.missing = missing
            if after:
                self._begins(query, found, life, is_own=by == CLIENTS)
            self._remember(found, life)
            then(found)

        ask(self._demand.targets(query, {by}, sources))

    def _begins(self, query: Query, found: LookupResult, life: int, is_own: bool) -> None:
        """A subscription has its first values."""
        for value in found.values:
            self._merging.passed(value.envelope, value.source)
        if is_own and not (found.missing or found.away):
            self._cache.knows(query, life)

    # --- the cache of what clients here have subscribed to ----------------------------------------------

    def _cached(self, query: Query) -> LastValue | None:
        if query.kind != "exact":
            return None
        for domain in [query.domain] if query.domain else self._cache.values.domains(query.text):
            last = self._cache.values.get(query.text, domain)
            hop = self._covered_by(last.envelope, query.text) if last is not None else None
            if last is None or hop is None or last.is_void(self._desk.believed):
                continue
            if hop.lost_at is None and not self._is_known(last.envelope, query.text):
                continue
            age = None if hop.lost_at is None else self._desk.now - hop.lost_at
            return LastValue(b"", last.as_envelope(), self._desk.me.name, age)
        return None

    def _remember(self, found: LookupResult, life: int) -> None:
        if life != self._cache.life:
            return  # it was said before what emptied the cache
        for value in found.values:
            key, domain = value.envelope.keys[0], value.envelope.domain
            if value.source != self._desk.me.name and self._covered_by(value.envelope, key) is not None:
                self._cache.keep(value.envelope)
                self._cache.knows(Query("exact", key, domain), life)

    def _unwanted(self, query: Query) -> None:
        """Nothing more is heard of it, but for what others here want as well."""
        if query.kind == XPATH:  # which values it found is not asked again of each
            self._cache.empty()
            return
        self._cache.unwanted(query)
        for last in list(self._cache.values.find(query, 0)):
            key, domain = last.key, last.envelope.domain
            if not self._demand.interests.matching(key, domain, last.envelope.xml):
                self._cache.unwanted(Query("exact", key, domain))
                self._cache.values.remove(key, domain)

    def _is_known(self, value: Envelope, key: str) -> bool:
        wanted = self._demand.interests.matching(key, value.domain, value.xml)
        return self._cache.knows_one((Query("exact", key, value.domain), *wanted))

    def _covered_by(self, value: Envelope, key: str) -> Peer | None:
        """The peer that sends every new value of that topic, because clients here have subscribed to it. Of
        several one that is connected.
        """
        asked = self._demand.interests.asked
        for query in self._demand.interests.matching(key, value.domain, value.xml):
            named = [self._nodes.named(hop) for hop in self._demand.sources(query).hops]
            peers = [p for p in named if p is not None and query in asked(p.node.uuid).queries]
            if peers:
                return min(peers, key=lambda peer: peer.lost_at is not None)
        return None


def _fits(value: Envelope, query: Query) -> bool:
    """Is it a value of a topic that was asked for?"""
    if query.kind == "exact" and value.keys[0] != query.text:
        return False
    return value.count == 1 and wants(query, value.keys[0], value.domain, value.xml)
