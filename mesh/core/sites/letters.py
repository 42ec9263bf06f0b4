"""Letters to other sites: is there a way now, by which gateway do they leave, and what became of them?

They wait where they were sent, as what is for a master that is away: so who sends one keeps it, until the
other site has said its last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, SettingsRead, hear
from mesh.core.desk.part import Part
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.peers.neighbours import Neighbours
from mesh.core.sites.batches import say_relay
from mesh.core.sites.exits import Exits
from mesh.core.sites.facts import ExitsChanged, PauseChanged, SiteAnswered
from mesh.core.sites.passing import leaving
from mesh.core.sites.transit import Transit
from mesh.mapping.decision import Decision, forward, refuse, wait
from mesh.sites.gateways import gateway
from mesh.sites.letters import UNREACHABLE, WAY, WAY_LOST, way_to
from mesh.wire.envelope import Envelope
from mesh.wire.limits import LETTERS

AGAIN = 0.5  # s after which what was lost in a site in the middle goes again

# Rule 1: what has not left for a site to which there is no way is refused at once, unless it may wait. What
#         has may be there: it waits, and goes again, as what is kept for a node. To one that is paused there
#         is none.
# Rule 2: a stream goes by one gateway while anything of it is under way: so its order holds.
# Rule 3: what was lost in a site in the middle goes again, after a while, and before all that is later.
# Rule 4: only who is a gateway to that site is believed what became of a letter.


class Letters(Part):
    """The face of it."""

    def __init__(
        self,
        desk: Desk,
        forwarder: Forwarder,
        neighbours: Neighbours,
        transit: Transit,
        exits: Exits,
        why_paused: Callable[[str], str],
    ) -> None:
        self._desk = desk
        self._why_paused = why_paused
        self._forwarder = forwarder
        self._neighbours = neighbours
        self._transit = transit
        self._exits = exits
        self._sites = desk.settings.ways
        self._asking: set[str] = set()
        self._held: dict[str, float] = {}  # by hop: when something may leave by it again
        self._ways: dict[str, dict[bytes, bytes]] = {}  # site -> stream -> the gateway by which it goes

    def speaks(self) -> Sequence[str]:
        return (LETTERS,)

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(SettingsRead, lambda _: self._resettle()),
            hear(PauseChanged, lambda _: self._forwarder.review()),
            hear(ExitsChanged, lambda fact: self._changed(fact.site, fact.lost)),
            hear(SiteAnswered, self._answered),
        )

    def _resettle(self) -> None:
        """The settings are others. What has not left for a site that is gone is refused."""
        before, self._sites = self._sites, self._desk.settings.ways
        for site in before.keys() - self._sites.keys():
            if waiting := self._forwarder.tailback.depth(way_to(site)).messages:
                text = f"{waiting:,} letters for {site} do not go there: it is known no more"
                self._desk.event("site", text, level="warning")
        self._forwarder.review()

    # --- may it go there? -------------------------------------------------------------------------------

    def decide(self, site: str, waits: bool) -> Decision:
        """What becomes of a letter to that site. `waits`: until there is a way."""
        hop = way_to(site)
        if unknown := self._exits.why_unknown(site):
            return refuse(unknown, hop, UNREACHABLE)
        paused = self._why_paused(site)
        if not paused and not self._exits.is_known(site):
            self._ask(site)
            return wait(f"asking who is a gateway to {site}", hop)
        if self.has_way(hop):
            return forward(f"a gateway to {site}", hop)
        why = paused or self._exits.why_no_way(site)
        return wait(why, hop) if waits else refuse(why, hop, UNREACHABLE)

    def ask(self, site: str, then: Callable[[], None]) -> None:
        """Call it when it is known who is a gateway to that site."""
        self._exits.ask(site, then)

    def has_way(self, hop: str) -> bool:
        site = hop.removeprefix(WAY)
        return not self._why_paused(site) and bool(self._exits.able(site))

    def says(self, hop: str) -> str:
        if paused := self._why_paused(hop.removeprefix(WAY)):
            return paused
        return "a gateway is linked with it" if self.has_way(hop) else "no gateway is linked with it"

    def _ask(self, site: str) -> None:
        """What waits for that is decided then, behind whatever has asked."""

        def heard() -> None:
            self._asking.discard(site)
            self._desk.ending[self._forwarder.review] = None

        if site not in self._asking:
            self._asking.add(site)
            self._exits.ask(site, heard)

    def tick(self) -> None:
        for hop in [hop for hop, until in self._held.items() if until <= self._desk.now]:
            del self._held[hop]
            self._forwarder.shipping.due(hop)
        self._desk.wake(min(self._held.values(), default=None))

    def tidy(self) -> None:
        """What waits for a site goes on being told who is a gateway to it."""
        for hop in self._forwarder.onward.hops():
            if hop.startswith(WAY):
                self._exits.is_known(hop.removeprefix(WAY))
        for site, ways in self._ways.items():
            flying = set(self._flying(way_to(site)))
            for stream in [stream for stream in ways if stream not in flying]:
                del ways[stream]

    def _flying(self, hop: str) -> Iterator[bytes]:
        for line in self._forwarder.onward.lines(hop):
            yield from (entry.envelope.stream for entry in line.flight)

    # --- by which gateway? ------------------------------------------------------------------------------

    def _changed(self, site: str, lost: frozenset[bytes]) -> None:
        """Other gateways are linked with it, or with other connections."""
        ways = self._ways.get(site, {})
        for stream in [stream for stream, way in ways.items() if way in lost]:
            del ways[stream]
        if lost:
            self._forwarder.lost(way_to(site))
        else:
            self._forwarder.review()

    def ship(self, hop: str) -> None:
        """Send what may go, as far as there is a way."""
        site, onward = hop.removeprefix(WAY), self._forwarder.onward
        able = self._exits.able(site)
        if not able or hop in self._held or self._why_paused(site):
            return
        going: dict[bytes, list[Envelope]] = {}
        for entry in onward.depart(hop, self._forwarder.rulings.may_leave):
            way, low = self._way(site, entry.envelope.stream, able), onward.lowest(entry.key)
            for first, last in entry.lacking[hop]:
                part = entry.envelope.part(first, last)
                left = leaving(part, self._desk.settings.site, min(part.low, low))
                going.setdefault(way, []).append(left)
        for way, envelopes in going.items():
            self._desk.count("forwarded", sum(envelope.count for envelope in envelopes))
            if way == self._desk.me.uuid:
                self._transit.take(way, site, envelopes)
            else:
                say_relay(self._desk, self._neighbours.peers[way].data, site, envelopes)

    def _way(self, site: str, stream: bytes, able: Sequence[bytes]) -> bytes:
        ways = self._ways.setdefault(site, {})
        if ways.get(stream) not in able:
            way = gateway(stream, site, able, self._desk.settings.relays)
            assert way is not None  # somebody is able
            ways[stream] = way
        return ways[stream]

    # --- what became of it ------------------------------------------------------------------------------

    def _answered(self, fact: SiteAnswered) -> None:
        hop, is_lost = way_to(fact.site), False
        for outcome in fact.outcomes if self._exits.has(fact.site, fact.by) else ():
            if outcome.answer.state == WAY_LOST:
                is_lost = True
            else:
                self._forwarder.said(hop, outcome)
        if is_lost and hop in self._forwarder.onward.hops():
            self._forwarder.onward.broken(hop)
            self._held[hop] = self._desk.now + AGAIN
            self._desk.wake(self._held[hop])
