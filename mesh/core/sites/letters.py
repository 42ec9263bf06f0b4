"""Letters to other sites: is there a way now, by which gateway do they leave, and what became of them?

They wait where they were sent, as what is for a master that is away: so who sends one keeps it, until the
other site has said its last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, SettingsRead, hear
from mesh.core.desk.part import Part
from mesh.core.forwarding.abroad import UNREACHABLE
from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.peers.facts import LoggedOut
from mesh.core.peers.neighbours import Neighbours
from mesh.core.presence.facts import ServersChanged
from mesh.core.presence.presence import Presence
from mesh.core.sites.batches import say_relay
from mesh.core.sites.facts import SiteAnswered
from mesh.core.sites.passing import leaving
from mesh.core.sites.transit import SITE, Transit
from mesh.mapping.decision import Decision, forward, refuse, wait
from mesh.sites.gateways import gateway
from mesh.sites.letters import WAY, way_to
from mesh.wire.envelope import Envelope
from mesh.wire.limits import LETTERS

FRESH = 30.0  # s after which it is asked anew who is a gateway

# Rule 1: what has not left for a site to which there is no way is refused at once, unless it may wait. What
#         has may be there: it waits, and goes again, as what is kept for a node.
# Rule 2: a stream goes by one gateway while anything of it is under way: so its order holds.
# Rule 3: only who is a gateway to that site is believed what became of a letter.


class Letters(Part):
    """The face of it."""

    def __init__(
        self, desk: Desk, forwarder: Forwarder, neighbours: Neighbours, presence: Presence, transit: Transit
    ) -> None:
        self._desk = desk
        self._forwarder = forwarder
        self._neighbours = neighbours
        self._presence = presence
        self._transit = transit
        self._asked: dict[str, float] = {}  # sites of which it is known who is a gateway: when that was used
        self._asking: set[str] = set()
        self._notes: dict[str, Mapping[bytes, bytes]] = {}  # of gateways, as they were when last looked at
        self._ways: dict[str, dict[bytes, bytes]] = {}  # site -> stream -> the gateway by which it goes

    def speaks(self) -> Sequence[str]:
        return (LETTERS,)

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(SettingsRead, lambda _: self._forwarder.review()),
            hear(ServersChanged, self._servers_changed),
            hear(LoggedOut, lambda fact: self._logged_out(fact.peer.node.uuid)),
            hear(SiteAnswered, self._answered),
        )

    # --- may it go there? -------------------------------------------------------------------------------

    def decide(self, site: str, waits: bool) -> Decision:
        """What becomes of a letter to that site. `waits`: until there is a way."""
        hop, me = way_to(site), self._desk.me.name
        if site not in self._desk.settings.sites:
            known = "no other site" if self._desk.settings.site else "no sites"
            return refuse(f"{me} knows no site {site}; {known}", hop, UNREACHABLE)
        if not self._is_asked(site):
            return wait(f"asking who is a gateway to {site}", hop)
        if self.has_way(hop):
            return forward(f"a gateway to {site}", hop)
        return (
            wait(f"no way to {site}", hop)
            if waits
            else refuse(f"no way to the site {site}", hop, UNREACHABLE)
        )

    def ask(self, site: str, then: Callable[[], None]) -> None:
        """Call it when it is known who is a gateway to that site."""
        if site not in self._desk.settings.sites:
            then()
            return

        def heard() -> None:
            self._heard(site)
            then()

        self._presence.ask(self._name(site), heard)

    def has_way(self, hop: str) -> bool:
        return bool(self._able(hop.removeprefix(WAY)))

    def says(self, hop: str) -> str:
        return "a gateway is linked with it" if self.has_way(hop) else "no gateway is linked with it"

    def _is_asked(self, site: str) -> bool:
        """Is it known who is a gateway to it? If not, that is asked."""
        now = self._desk.now
        if now - self._asked.get(site, -FRESH) >= FRESH:
            self._asked.pop(site, None)
        if site not in self._asked and site not in self._asking:
            self._asking.add(site)
            self.ask(site, lambda: None)
        if site in self._asked:
            self._asked[site] = now
        return site in self._asked

    def _heard(self, site: str) -> None:
        self._asking.discard(site)
        self._asked[site] = self._desk.now
        self._notes[site] = self._announced(site)
        self._desk.ending[self._forwarder.review] = None  # behind whatever has asked

    def tidy(self) -> None:
        """What waits for a site goes on being told who is a gateway to it."""
        open_hops = [hop for hop in self._forwarder.onward.hops() if hop.startswith(WAY)]
        for hop in open_hops:
            site = hop.removeprefix(WAY)
            self._announced(site)
            if site in self._asked:
                self._asked[site] = self._desk.now
        for site, ways in self._ways.items():
            flying = set(self._flying(way_to(site)))
            for stream in [stream for stream in ways if stream not in flying]:
                del ways[stream]

    def _flying(self, hop: str) -> Iterator[bytes]:
        for line in self._forwarder.onward.lines(hop):
            yield from (entry.envelope.stream for entry in line.flight)

    # --- by which gateway? ------------------------------------------------------------------------------

    def _name(self, site: str) -> tuple[str, str]:
        return SITE, self._neighbour(site)

    def _neighbour(self, site: str) -> str:
        """The next site on the way to it."""
        return site

    def _announced(self, site: str) -> dict[bytes, bytes]:
        """Who is a gateway to it, and what each says with that."""
        found = dict(self._presence.notes(self._name(site)))
        own = self._transit.note(self._neighbour(site))
        if own is not None:
            found[self._desk.me.uuid] = own
        return found

    def _able(self, site: str) -> list[bytes]:
        """Those of them that can be given letters now."""
        return [
            uuid for uuid in self._notes.get(site, ()) if uuid == self._desk.me.uuid or self._is_able(uuid)
        ]

    def _is_able(self, uuid: bytes) -> bool:
        peer = self._neighbours.peers.get(uuid)
        return peer is not None and peer.data is not None and LETTERS in peer.data.speaks

    def _servers_changed(self, fact: ServersChanged) -> None:
        if fact.kind == SITE:
            for site in [site for site in self._notes if self._name(site)[1] == fact.name]:
                self._changed(site, self._announced(site))

    def _logged_out(self, uuid: bytes) -> None:
        for site, notes in list(self._notes.items()):
            if uuid in notes:
                self._changed(site, {each: note for each, note in notes.items() if each != uuid})

    def _changed(self, site: str, now: Mapping[bytes, bytes]) -> None:
        """Other gateways are linked with it, or with other connections."""
        before, self._notes[site] = self._notes[site], now
        lost = {uuid for uuid, note in before.items() if now.get(uuid) != note}
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
        able = self._able(site)
        if not able:
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
        if fact.by in self._notes.get(fact.site, ()):
            for outcome in fact.outcomes:
                self._forwarder.said(way_to(fact.site), outcome)
