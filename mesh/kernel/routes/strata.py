"""Measures the distance of this node from the masters of domains, and reports it to followers."""

# Law 1: nothing is reported before it is known.
# Law 2: everything is measured again after a change, but at most once per PAUSE. A route that flaps is
# reported at growing intervals (Damping).
# Law 3: the next hop of a message does not depend on measured distances, except by an adopted parent.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from math import inf

from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import ConnEnded, Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, PeerConnected, PeerJoined, PeerLost, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RulesChanged
from mesh.kernel.routes.followers import StrataFollowers
from mesh.kernel.routes.following import StrataFollowing
from mesh.kernel.routes.nodes import Nodes
from mesh.mapping.decision import Claim
from mesh.mapping.mapping import Mapping
from mesh.mapping.strata import Damping, Distance, closer, is_way, measured
from mesh.reasons.reason import reason
from mesh.reasons.what import TOPIC, What
from mesh.wire.commands import CLIENT, Follow, Strata
from mesh.wire.envelope import Envelope
from mesh.wire.limits import FOLLOWED, STRATA
from mesh.wire.replies import Reason

MOST = 1024  # measured domains, those of own rules first
PAUSE, FEW = 0.05, 64  # s between two measurements per FEW domains
LATE, SOON = 10.0, 1.0  # s between updates of latencies; after a new connection
LOOKED = 60.0  # s that a requested domain is measured
BACK, UNSAID = "leads back to this node", "has not reported its distance"


class LiveStrata(Component):
    """Component that measures the distances of this node, and exchanges them with peers."""

    def __init__(self, context: NodeContext, mapping: Mapping, neighbours: Neighbours, nodes: Nodes) -> None:
        self._context = context
        self._mapping = mapping
        self._nodes = nodes
        self.following = StrataFollowing(context, neighbours, nodes, self._wants)
        self.followers = StrataFollowers(context, neighbours)
        self.own: dict[str, Distance] = {}
        self.shown: dict[str, Distance] = {}  # the distances that others receive
        self._ways: dict[str, dict[str, Distance | None]] = {}  # domain -> node -> its route
        self._damping = Damping()
        self._looked: dict[str, float] = {}  # end of the measurement, by domain
        self._also: dict[str, tuple[str, ...]] = {}  # by domain: further nodes that are followed
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        self._due = 0.0  # time of the next measurement; not before `_next`
        self._next = 0.0
        self._late = 0.0

    def features(self) -> Sequence[str]:
        return (STRATA,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerConnected, lambda fact: self._connected(fact.peer)),
            on_fact(LoggedIn, lambda fact: None if fact.peer.control else self._connected(fact.peer)),
            on_fact(PeerJoined, lambda _: self._schedule_review()),
            on_fact(PeerLost, lambda fact: self._on_peer_lost(fact.peer)),
            on_fact(RoutesChanged, lambda _: self._schedule_review()),
            on_fact(RulesChanged, lambda _: self._schedule_review()),
            on_fact(ConnEnded, lambda fact: None if fact.conn.role == CLIENT else self._schedule_review()),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Follow, self._follow), on_command(Strata, self._on_strata))

    def _connected(self, peer: Peer) -> None:
        self.following.ask_again(peer)
        self._late = min(self._late, self._context.clock.now + SOON)  # by then it has answered a ping
        self._schedule_review()

    def _on_peer_lost(self, peer: Peer) -> None:
        self.followers.drop_peer(peer)
        self.following.drop_peer(peer)
        self._schedule_review()

    def _follow(self, conn: Conn, peer: Peer, command: Follow, _: list[Envelope]) -> None:
        self.followers.set_followed(peer, command)
        self._schedule_review()

    def _on_strata(self, conn: Conn, peer: Peer, command: Strata, _: list[Envelope]) -> None:
        if self.following.accept_report(peer, command):
            self._late = self._context.clock.now  # a new latency may be new to others too
            self._schedule_review()

    # --- timers -------------------------------------------------------------------------------------------

    def _schedule_review(self) -> None:
        self._due = self._context.clock.now
        self._context.out.ending[self._review] = None

    def _wants(self, at: float) -> None:
        self._due = min(self._due, at)
        self._context.clock.wake(self._due)

    def tick(self) -> None:
        self._review()

    def on_second(self) -> None:
        if self.own and self._context.clock.now >= self._late:
            self._schedule_review()

    def _review(self) -> None:
        """Measure all distances again, unless the last measurement is too recent."""
        now = self._context.clock.now
        if now < (due := max(self._due, self._next)):
            self._context.clock.wake(due if due < inf else None)
            return
        self._due = inf
        domains = self._domains()
        self._next = now + PAUSE * (1 + len(domains) // FEW)
        claims = {domain: self._mapping.of_domain(domain, self._nodes) for domain in domains}
        self.following.follow_claims(claims, self._also)
        self._ways = {}
        self.own = {d: way for d in domains if (way := self._measured(d, claims[d])) is not None}
        self._announce_changes()
        self._answer_waiting(claims)

    # --- measuring ----------------------------------------------------------------------------------------

    def _domains(self) -> list[str]:
        """Return at most MOST domains: those of own rules, then requested and followed ones."""
        now, me = self._context.clock.now, self._context.me.name
        self._looked = {domain: until for domain, until in self._looked.items() if until > now}
        has_ways = any(rule.node != me for rule in self._mapping.rules)
        named = self._mapping.named_domains() if has_ways else ()
        return list(dict.fromkeys((*named, *self._also, *self._looked, *self.followers.domains())))[:MOST]

    def _measured(self, domain: str, claims: Sequence[Claim]) -> Distance | None:
        me, is_open = self._context.me.name, self._mapping.scope == "mesh"
        ways = {claim.node: self.following.way_of(domain, claim) for claim in closer(me, claims)}
        self._ways[domain] = ways
        return measured(me, claims, is_open, lambda claim: ways[claim.node])

    def _announce_changes(self) -> None:
        changed = self._show()
        if is_late := self._context.clock.now >= self._late:
            self._late = self._context.clock.now + LATE
        self.followers.send_changes(self.shown, changed, is_late)

    def _show(self) -> list[str]:
        """Set the distances that others receive, and return the domains in which they have changed.

        A route that changes too often is held back.
        """
        now, before = self._context.clock.now, self.shown
        self._damping.keep_domains(self.own)
        self.shown = dict(self.own)
        for domain, way in self.own.items():
            old = before.get(domain)
            if old is None or (old.way, old.masters) == (way.way, way.masters):
                continue
            if (due := self._damping.allowed_at(domain)) > now:
                self._wants(due)
                self.shown[domain] = old
            else:
                self._damping.mark_sent(domain, now)
        return [domain for domain, way in self.shown.items() if way != before.get(domain)]

    def follow_also(self, domain: str, nodes: tuple[str, ...]) -> None:
        """Follow `nodes` for the domain, too. They are no part of this node's route."""
        if self._also.get(domain, ()) != nodes:
            self._also.pop(domain, None)
            if nodes:
                self._also[domain] = nodes
            self._schedule_review()

    def way_by(self, domain: str, node: str) -> Distance | None:
        """Return the reported route of a followed node, with the latency from here; None while unknown."""
        return self.following.way_of(domain, Claim(node, 1, "", ""))

    # --- questions ----------------------------------------------------------------------------------------

    def when_measured(self, domain: str, then: Callable[[], None]) -> None:
        """Call `then` when the distance in the domain is known, or the domain is beyond the limits."""
        self._looked[domain] = self._context.clock.now + LOOKED
        while len(self._looked) > FOLLOWED:
            self._looked.pop(next(iter(self._looked)))
        self._waiting.append((domain, then))
        self._schedule_review()

    def _answer_waiting(self, measured: Collection[str]) -> None:
        waiting, self._waiting = self._waiting, []
        for domain, then in waiting:
            ways = self._ways.get(domain, {})
            if domain not in measured or (domain in self.own and None not in ways.values()):
                then()
            else:
                self._waiting.append((domain, then))

    def explain_claims(self, domain: str) -> Iterator[tuple[Claim, str]]:
        """Yield the claim of each node nearer to the master, with the obstacle on its route, or ""."""
        claims = self._mapping.of_domain(domain, self._nodes)
        for claim in closer(self._context.me.name, claims):
            yield claim, self._says(claim, self._ways.get(domain, {}).get(claim.node), claims)

    def _says(self, claim: Claim, way: Distance | None, claims: Sequence[Claim]) -> str:
        peer, me = self._nodes.named(claim.node), self._context.me.name
        if peer is None or not self._nodes.is_alive(claim.node):
            return self._nodes.standing(claim.node).says
        if not (peer.control or peer.data):
            return "is not connected with this node"
        if way is None:
            return UNSAID
        if not way.way:
            return "has no route itself"
        if me in way.way:
            return BACK
        return "" if is_way(me, way, claims) else f"ends at {way.way[-1]}, which is not a master"

    def explain(self, what: What) -> Iterator[Reason]:
        own = self.own.get(what.domain)
        is_stale = self._due <= self._context.clock.now
        if what.kind != TOPIC or own is None or is_stale or not self._is_of_domain(what):
            return
        told = self.explain_claims(what.domain)
        broken = {claim.node: says for claim, says in told if says not in ("", BACK, UNSAID)}
        if own.stratum < 0 and any(
            map(self._nodes.is_alive, broken)
        ):  # otherwise the nodes that see them report it
            says = "; ".join(f"{node}: {says}" for node, says in broken.items())
            yield reason("NO_WAY", domain=what.domain, says=says)
        if own.stratum > 0:
            latency = f"{own.latency * 1000:.1f}"
            yield reason("STRATUM", stratum=own.stratum, way=" -> ".join(own.way), latency=latency)
        for node, says in broken.items():
            yield reason("WAY_BROKEN", next=node, says=says)

    def _is_of_domain(self, what: What) -> bool:
        claims = self._mapping.claims(what.text, what.domain)
        return bool(what.domain and claims) and all(claim.by.startswith("DOMAIN") for claim in claims)
