"""How far is this node from the masters of domains? It asks those on the way, and tells whoever asks it."""

# Law 1: what a node has said counts as long as it lives, and is asked: it is told anew on each connection.
# Law 2: nobody is told anything before it is known, or PATIENCE is over: then what is not known is no way.
# Law 3: nothing that messages do follows from it.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import ConnEnded, Hearing, hear
from mesh.core.desk.part import Part, Taking, take
from mesh.core.peers.facts import LoggedIn, PeerConnected, PeerJoined, PeerLost, WaysChanged
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.ways.facts import Ruled
from mesh.core.ways.nodes import Nodes
from mesh.mapping.decision import Claim
from mesh.mapping.mapping import Mapping
from mesh.mapping.strata import NOWHERE, Damping, Distance, by_rules, closer, heard, is_news, is_way, measured
from mesh.reasons.reason import reason
from mesh.reasons.what import TOPIC, What
from mesh.wire.commands import CLIENT, Follow, Stratum
from mesh.wire.commands import Strata as Said
from mesh.wire.envelope import Envelope
from mesh.wire.limits import FOLLOWED, STRATA
from mesh.wire.replies import Reason

MOST = 1024  # domains that are measured, those of this node's own rules first
EACH = 32  # rows in one message
PAUSE, FEW = 0.05, 64  # s between two looks at so many domains
PATIENCE = 1.0  # s that a way is waited for
LATE, SOON = 10.0, 1.0  # s between two looks at nothing but latencies, and after a connection is new
BACK, UNSAID = "comes back to this node", "has not said how far it is"
LOOKED = 60.0  # s that a domain is measured which somebody has asked for


@dataclass(slots=True)
class Follower:
    """A peer that asks this node, and what it was told on this connection."""

    domains: dict[str, None]
    is_told: bool = False  # once of all of them, as far as they were known
    told: dict[str, Distance] = field(default_factory=dict)


@dataclass(slots=True)
class Followed:
    """A peer that this node asks, and what it has said."""

    asked: tuple[str, ...] | None = None  # None: it is to be asked on a connection that is new
    number: int = 0
    said: dict[str, Distance] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)  # when each domain was first asked for
    alone: float | None = None  # since when nothing connects us


class Strata(Part):
    """The distances of this node, and of those whom it may ask."""

    def __init__(self, desk: Desk, mapping: Mapping, neighbours: Neighbours, nodes: Nodes) -> None:
        self._desk = desk
        self._mapping = mapping
        self._neighbours = neighbours
        self._nodes = nodes
        self.own: dict[str, Distance] = {}
        self._shown: dict[str, Distance] = {}  # what of that others are told, in messages with numbers
        self._number = 0
        self._ways: dict[
            str, dict[str, Distance | None]
        ] = {}  # what own ones follow from: domain -> node -> its
        self._followers: dict[bytes, Follower] = {}
        self._followed: dict[bytes, Followed] = {}
        self._damping = Damping()
        self._looked: dict[str, float] = {}  # until when
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        self._due = 0.0  # when all is to be measured again; not before `_next`
        self._next = 0.0
        self._late = 0.0

    def speaks(self) -> Sequence[str]:
        return (STRATA,)

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(PeerConnected, lambda fact: self._connected(fact.peer)),
            hear(LoggedIn, lambda fact: None if fact.peer.control else self._connected(fact.peer)),
            hear(PeerJoined, lambda _: self._changed()),
            hear(PeerLost, lambda fact: self._lost(fact.peer)),
            hear(WaysChanged, lambda _: self._changed()),
            hear(Ruled, lambda _: self._changed()),
            hear(ConnEnded, lambda fact: None if fact.conn.role == CLIENT else self._changed()),
        )

    def from_peers(self) -> Sequence[Taking]:
        return (take(Follow, self._follow), take(Said, self._said))

    # --- who asks, and who is asked -----------------------------------------------------------------------

    def _connected(self, peer: Peer) -> None:
        """All that was asked is asked anew; so will it ask."""
        if (followed := self._followed.get(peer.node.uuid)) is not None:
            followed.asked = None
            followed.since = dict.fromkeys(followed.since, self._desk.now)
        self._late = min(self._late, self._desk.now + SOON)  # by then it has answered a ping
        self._changed()

    def _lost(self, peer: Peer) -> None:
        self._followers.pop(peer.node.uuid, None)
        self._followed.pop(peer.node.uuid, None)
        self._changed()

    def _follow(self, conn: Conn, peer: Peer, command: Follow, _: list[Envelope]) -> None:
        """It is told all again: what it was told before may have been lost with a connection."""
        self._followers.pop(peer.node.uuid, None)
        if command.domains:
            self._followers[peer.node.uuid] = Follower(dict.fromkeys(command.domains))
        self._changed()

    def _said(self, conn: Conn, peer: Peer, command: Said, _: list[Envelope]) -> None:
        followed = self._followed.get(peer.node.uuid)
        if followed is None or followed.asked is None or command.number <= followed.number:
            self._desk.count("unasked")  # or it is late
            return
        followed.number = command.number
        for row in command.rows:
            self._take(peer, followed, row)
        self._late = self._desk.now  # a latency that is new to us may be so to others
        self._changed()

    def _take(self, peer: Peer, followed: Followed, row: Stratum) -> None:
        if row.domain not in (followed.asked or ()):
            self._desk.count("unasked")
            return
        way = heard(peer.node.name, row.way, row.latency / 1e6)
        if way is None:
            self._desk.count("forged")
        followed.said[row.domain] = way or NOWHERE

    # --- what is measured ---------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._due = self._desk.now
        self._desk.ending[self._review] = None

    def tick(self) -> None:
        self._review()

    def tidy(self) -> None:
        if self.own and self._desk.now >= self._late:
            self._changed()

    def _review(self) -> None:
        """Measure all again, but not more often than it is worth."""
        now = self._desk.now
        if now < (due := max(self._due, self._next)):
            self._desk.wake(due if due < inf else None)
            return
        self._due = inf
        domains = self._domains()
        self._next = now + PAUSE * (1 + len(domains) // FEW)
        claims = {domain: self._mapping.of_domain(domain, self._nodes) for domain in domains}
        self._ask(claims)
        self._ways = {}
        self.own = {d: way for d in domains if (way := self._measured(d, claims[d])) is not None}
        self._tell(self._shows())
        self._answer(claims)

    def _wants(self, at: float) -> None:
        self._due = min(self._due, at)
        self._desk.wake(self._due)

    def _domains(self) -> list[str]:
        """Those of the rules here, those that somebody looks at, and those that others ask for."""
        now = self._desk.now
        self._looked = {domain: until for domain, until in self._looked.items() if until > now}
        named = self._mapping.named_domains() if self._has_ways else ()
        asked = (domain for follower in self._followers.values() for domain in follower.domains)
        return list(dict.fromkeys((*named, *self._looked, *asked)))[:MOST]

    @property
    def _has_ways(self) -> bool:
        return any(rule.node != self._desk.me.name for rule in self._mapping.rules)

    def _measured(self, domain: str, claims: Sequence[Claim]) -> Distance | None:
        me, is_open = self._desk.me.name, self._mapping.scope == "mesh"
        ways = {claim.node: self._way_of(domain, claim) for claim in closer(me, claims)}
        self._ways[domain] = ways
        return measured(me, claims, is_open, lambda claim: ways[claim.node])

    def _way_of(self, domain: str, claim: Claim) -> Distance | None:
        """The way of somebody who has a claim, as he says, with the latency from here."""
        peer = self._nodes.named(claim.node)
        if peer is None or not self._nodes.is_alive(claim.node):
            return NOWHERE
        followed = self._followed.get(peer.node.uuid)
        if followed is None:
            return None
        if self._is_alone(peer, followed):
            return NOWHERE
        if (said := followed.said.get(domain)) is not None:
            return Distance(said.way, said.latency + peer.rtt / 2) if said.way else said
        conn = peer.control or peer.data
        if self._neighbours.is_crowd if conn is None else STRATA not in conn.speaks:
            return by_rules(claim, peer.rtt / 2)
        until = followed.since.get(domain, 0.0) + PATIENCE
        if self._desk.now >= until:
            return NOWHERE
        self._wants(until)
        return None

    def _is_alone(self, peer: Peer, followed: Followed) -> bool:
        """Others may say that it lives: but nothing has connected us for a while, where all are connected."""
        now = self._desk.now
        if peer.control or peer.data or self._neighbours.is_crowd:
            followed.alone = None
            return False
        if followed.alone is None:
            followed.alone = now
        if now < followed.alone + PATIENCE:
            self._wants(followed.alone + PATIENCE)
        return now >= followed.alone + PATIENCE

    def _ask(self, claims: dict[str, Sequence[Claim]]) -> None:
        """Have all that may be a way say theirs."""
        wanted: dict[bytes, list[str]] = {uuid: [] for uuid in self._followed}
        for domain, claimed in claims.items():
            for claim in closer(self._desk.me.name, claimed):
                peer = self._nodes.named(claim.node)
                if peer is not None and len(domains := wanted.setdefault(peer.node.uuid, [])) < FOLLOWED:
                    domains.append(domain)
        for uuid, domains in wanted.items():
            if (peer := self._neighbours.peers.get(uuid)) is not None:
                self._ask_one(peer, tuple(dict.fromkeys(domains)))

    def _ask_one(self, peer: Peer, domains: tuple[str, ...]) -> None:
        if not peer.alive:
            return
        followed, now = self._followed.setdefault(peer.node.uuid, Followed()), self._desk.now
        followed.since = {domain: followed.since.get(domain, now) for domain in domains}
        followed.said = {domain: way for domain, way in followed.said.items() if domain in domains}
        conn = peer.control or peer.data
        if conn is not None and STRATA in conn.speaks and domains != followed.asked:
            followed.asked = domains
            self._desk.send(conn, Follow(domains))
        if not domains:
            del self._followed[peer.node.uuid]

    # --- what is told -------------------------------------------------------------------------------------

    def _tell(self, changed: Collection[str]) -> None:
        """Tell each who asks what is news to it."""
        if is_late := self._desk.now >= self._late:
            self._late = self._desk.now + LATE
        for uuid, follower in self._followers.items():
            every = is_late or not follower.is_told
            shown = {d: self._shown.get(d) for d in (follower.domains if every else changed)}
            news = {
                domain: way
                for domain, way in shown.items()
                if way and domain in follower.domains and is_news(follower.told.get(domain), way, is_late)
            }
            follower.is_told = True
            if news and (peer := self._neighbours.peers.get(uuid)) is not None:
                self._say(peer, follower, news)

    def _shows(self) -> list[str]:
        """Go over to what is measured, but for ways that change too often; returns what is otherwise now."""
        now, before = self._desk.now, self._shown
        self._damping.keep(self.own)
        self._shown = dict(self.own)
        for domain, way in self.own.items():
            old = before.get(domain)
            if old is None or old.way == way.way:
                continue
            if (due := self._damping.due(domain)) > now:
                self._wants(due)
                self._shown[domain] = old
            else:
                self._damping.told(domain, now)
        return [domain for domain, way in self._shown.items() if way != before.get(domain)]

    def _say(self, peer: Peer, follower: Follower, news: dict[str, Distance]) -> None:
        conn, domains = peer.control or peer.data, list(news)
        for at in range(0, len(domains) if conn is not None else 0, EACH):
            part = {domain: news[domain] for domain in domains[at : at + EACH]}
            self._number += 1
            follower.told |= part
            rows = tuple(Stratum(domain, way.way, _micro(way.latency)) for domain, way in part.items())
            self._desk.send(conn, Said(self._number, rows))

    # --- what people ask ----------------------------------------------------------------------------------

    def look(self, domain: str, then: Callable[[], None]) -> None:
        """Call it when the distance in that domain is known."""
        self._looked[domain] = self._desk.now + LOOKED
        while len(self._looked) > FOLLOWED:
            self._looked.pop(next(iter(self._looked)))
        self._waiting.append((domain, then))
        self._changed()

    def _answer(self, measured: Collection[str]) -> None:
        waiting, self._waiting = self._waiting, []
        for domain, then in waiting:
            ways = self._ways.get(domain, {})
            if domain not in measured or (domain in self.own and None not in ways.values()):
                then()
            else:
                self._waiting.append((domain, then))

    def says(self, domain: str) -> Iterator[tuple[Claim, str]]:
        """Of each who is nearer to the master by the rules what keeps messages from going there; "" for
        nothing."""
        claims = self._mapping.of_domain(domain, self._nodes)
        for claim in closer(self._desk.me.name, claims):
            way = self._ways.get(domain, {}).get(claim.node)
            if not self._nodes.is_alive(claim.node):
                yield claim, self._nodes.standing(claim.node).says
            elif (peer := self._nodes.named(claim.node)) is None or not (peer.control or peer.data):
                yield claim, "is not connected with this node"
            elif way is None:
                yield claim, UNSAID
            elif not way.way:
                yield claim, "has no way itself"
            elif self._desk.me.name in way.way:
                yield claim, BACK
            elif not is_way(self._desk.me.name, way, claims):
                yield claim, f"ends at {way.way[-1]}, which is no master"
            else:
                yield claim, ""

    def why(self, what: What) -> Iterator[Reason]:
        """How far it is to the master of a topic; and which ways lead nowhere, though somebody is there."""
        domain = what.domain
        own = self.own.get(domain)
        is_stale = self._due <= self._desk.now
        if what.kind != TOPIC or own is None or is_stale or not self._is_of_domain(what):
            return
        broken = {claim.node: says for claim, says in self.says(domain) if says not in ("", BACK, UNSAID)}
        if own.stratum < 0 and any(map(self._nodes.is_alive, broken)):  # else all know it who see them
            says = "; ".join(f"{node}: {says}" for node, says in broken.items())
            yield reason("NO_WAY", domain=domain, says=says)
        if own.stratum > 0:
            latency = f"{own.latency * 1000:.1f}"
            yield reason("STRATUM", stratum=own.stratum, way=" -> ".join(own.way), latency=latency)
        for node, says in broken.items():
            yield reason("WAY_BROKEN", next=node, says=says)

    def _is_of_domain(self, what: What) -> bool:
        """Is it its domain by which rules have a topic?"""
        claims = self._mapping.claims(what.text, what.domain)
        return bool(what.domain and claims) and all(claim.by.startswith("DOMAIN") for claim in claims)


def _micro(seconds: float) -> int:
    return round(min(max(seconds, 0.0), 3600.0) * 1e6)
