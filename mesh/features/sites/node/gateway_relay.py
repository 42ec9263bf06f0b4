"""Gateway side of site relay: forwards messages to other sites and returns their answers.

The gateway keeps no message. The node that requested the forwarding resends through another gateway, or this
one, when a connection is lost. The gateway remembers the requester, so that it can return the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.features.sites.model.gateways import gateway
from mesh.features.sites.model.stores import note
from mesh.features.sites.node.batches import say_relay, say_relayed
from mesh.features.sites.node.facts import SITE, GateChanged, ReachChanged, SiteAnswered
from mesh.features.sites.node.gateway import MOST, Gateways
from mesh.features.sites.node.passing import feature_of
from mesh.features.sites.node.site_connection import SiteConnection
from mesh.features.sites.node.site_in_flight import WAITS
from mesh.features.sites.wire import Relay, Relayed
from mesh.flow.bounded import Bounded
from mesh.flow.inflight import InFlight
from mesh.hops import is_of
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, SettingsRead, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedOut
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.presence import Presence
from mesh.remote_names import UNREACHABLE, WAY_LOST
from mesh.wire.commands import Answer, Outcome
from mesh.wire.envelope import Envelope
from mesh.wire.limits import CHAINS

# Rule 1: while any message of a stream is in transit, the stream uses one connection, so its order holds.
# Rule 2: each lost connection changes the note with which this node announces the site. A sender that used
# the connection then resends.
# Rule 3: until the lost messages are resent, later ones that depend on them are not forwarded, as the sender
# resends these too. If nothing is resent within KNOWN_BY, the sender has used another gateway for the lost
# ones: another loss is announced, and the sender resends everything.


MOST_LOST = 10_000  # streams with losses that are remembered
KNOWN_BY = 3.0  # s until a sender has noticed a loss
Asker = tuple[bytes, bool]  # uuid of the requester; whether for direct messages
Stream = tuple[bytes, str]  # stream and domain


class GatewayRelay(Component):
    """Component that forwards messages to other sites."""

    def __init__(
        self, context: NodeContext, gateways: Gateways, presence: Presence, neighbours: Neighbours
    ) -> None:
        self._watchers: tuple[Callable[[Envelope], None], ...] = ()
        self._context = context
        self._gateways = gateways
        self._presence = presence
        self._neighbours = neighbours
        self._flights = defaultdict[str, InFlight[Stream, Asker, Conn]](InFlight)  # by site
        self._losses: dict[str, int] = {}
        # (site, stream, requester) -> the lowest number to be resent
        self._lost = Bounded[tuple[str, Stream, Asker], int](MOST_LOST)
        self._early: dict[tuple[str, Stream, Asker], float] = {}  # time of the first early message
        self._ways = context.settings.site.ways
        self._answers: dict[tuple[bytes, str], list[Outcome]] = {}

    def when_leaving(self, watch: Callable[[Envelope], None]) -> None:
        """Call `watch` with each envelope that is sent to another site, from now on."""
        self._watchers += (watch,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SettingsRead, lambda _: self._resettle()),
            on_fact(GateChanged, self._on_gate_changed),
            on_fact(ReachChanged, lambda fact: self._review(fact.site, fact.is_less)),
            on_fact(LoggedOut, self._logged_out),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Relay, self._from_master),)

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return (on_command(Relayed, self._on_relayed),)

    def note(self, site: str) -> bytes | None:
        """Return the note with which this node announces the site, or None while the two are not linked."""
        gate = self._gate(site)
        if gate is None or not self._linked(gate, site):
            return None
        there = gate.gateways.items() if site == gate.name else ()  # sites behind it have other stores
        return note(self._losses.get(site, 0), ((uuid, each.node.boot) for uuid, each in there))

    def announced(self, site: str) -> dict[bytes, bytes]:
        """Return the notes of the nodes of this site that are linked with `site`, by uuid."""
        found = dict(self._presence.notes((SITE, site)))
        own = self.note(site)
        if own is not None:
            found[self._context.me.uuid] = own
        return found

    def paused_by(self, site: str) -> str:
        """Return the linked neighbor that has paused that site, or ""."""
        gate = self._gate(site)
        return gate.name if gate is not None and gate.has_paused(site) else ""

    def _gate(self, site: str) -> SiteConnection | None:
        return self._gateways.gate(self._context.settings.site.ways.get(site, ""))

    def conns(self, site: str, is_ours: bool) -> dict[bytes, Conn]:
        """Return the connections toward that site, by the uuid of the remote gateway.

        `is_ours` means that the message is from this site.
        """
        gate = self._gate(site)
        return self._linked(gate, site, is_ours) if gate is not None else {}

    def _linked(self, gate: SiteConnection, site: str, is_ours: bool = True) -> dict[bytes, Conn]:
        """Return the connections of gateways that reach the site.

        A neighbor's gateway of an older release accepts only messages of this site.
        """
        there = gate.gateways.items()
        if site != gate.name:
            return {uuid: each.conn for uuid, each in there if each.reaches(site)}
        return {uuid: each.conn for uuid, each in there if is_ours or CHAINS in each.conn.speaks}

    # --- to the site ------------------------------------------------------------------------------------

    def forward(self, source: bytes, site: str, envelopes: Collection[Envelope], dropped: int = 0) -> None:
        """Forward envelopes of the node `source`, with the number of messages dropped before them.

        Without a connection, envelopes of this site are dropped, as their node learns from the announcement
        that there is no connection. Envelopes of other sites, and direct messages that no gateway there
        supports, are refused. Envelopes that follow a lost one are also dropped or refused.
        """
        gate = self._gate(site)
        flight = self._flights[site] if gate is not None else InFlight()
        going: dict[Conn, list[Envelope]] = {}
        for envelope in envelopes:
            asker = source, bool(envelope.to)
            if self._lost and self._is_early(asker, site, envelope):
                # Requesters of messages from elsewhere do not resend everything, and direct messages are
                # resent in another order than that of their numbers.
                if envelope.to or not self._is_ours(envelope):
                    self._refuse(source, site, envelope, WAY_LOST if envelope.to else UNREACHABLE)
                continue
            stream = envelope.stream, envelope.domain
            conn = flight.route_of(stream) or self._choose_conn(gate, site, envelope)
            is_older = conn is not None and not _accepts(conn, envelope)
            if conn is not None and not is_older:
                flight.record_sent(stream, conn, asker, envelope.first, envelope.last)
                going.setdefault(conn, []).append(envelope)
                for watch in self._watchers:
                    watch(envelope)
            elif is_older or not self._is_ours(envelope):
                self._refuse(source, site, envelope)
        for conn, leaving in going.items():
            say_relay(self._context, conn, site, leaving, dropped)
            dropped = 0

    def _is_early(self, asker: Asker, site: str, envelope: Envelope) -> bool:
        """Return whether the envelope follows lost messages that were not resent.

        Otherwise the loss is forgotten, as the envelope resends the lost messages, or does not depend on
        them.
        """
        key = site, (envelope.stream, envelope.domain), asker
        number = self._lost.get(key)
        if number is None:
            return False
        if number < envelope.first and envelope.low <= number:
            self._early.setdefault(key, self._context.clock.now)
            self._context.clock.wake(self._context.clock.now + KNOWN_BY)
            return True
        del self._lost[key]
        self._early.pop(key, None)
        return False

    def tick(self) -> None:
        """Report another loss for messages that were lost and not resent within KNOWN_BY."""
        late = [key for key, since in self._early.items() if self._context.clock.now >= since + KNOWN_BY]
        for key in late:
            del self._early[key]
            self._lost.pop(key, None)
        for site in sorted({site for site, _, _ in late}):
            self._review(site, True)
        self._context.clock.wake(min(self._early.values(), default=self._context.clock.alarm) + KNOWN_BY)

    def _choose_conn(self, gate: SiteConnection | None, site: str, envelope: Envelope) -> Conn | None:
        if gate is None:
            return None
        linked = self._linked(gate, site, self._is_ours(envelope))
        able = [uuid for uuid, conn in linked.items() if _accepts(conn, envelope)]
        uuid = gateway(envelope.stream, gate.name, able or linked, MOST)
        return linked[uuid] if uuid is not None else None

    def _is_ours(self, envelope: Envelope) -> bool:
        return is_of(self._context.settings.site.name, envelope.sender)

    def _refuse(self, source: bytes, site: str, envelope: Envelope, state: str = UNREACHABLE) -> None:
        e, text = (
            envelope,
            f"{self._context.me.name} has no connection with a gateway of {site} that accepts the message.",
        )
        answer = Answer(e.domain, e.first, e.last, state=state, text=text)
        self._back(source, site, Outcome(e.stream, answer))

    def _from_master(self, conn: Conn, peer: Peer, command: Relay, envelopes: list[Envelope]) -> None:
        for envelope in envelopes:
            if envelope.numbers:
                what = f"{peer.node.name} relays an envelope with gaps in its numbers"
                raise RemoteError(what, code="MALFORMED")
        self.forward(peer.node.uuid, command.site, envelopes, command.dropped)

    # --- answers of the site ----------------------------------------------------------------------------

    def _on_relayed(self, conn: Conn, gate: SiteConnection, command: Relayed, _: list[Envelope]) -> None:
        flight = self._flights.get(command.site)
        if flight is None:
            return
        for outcome in command.outcomes:
            stream, a = outcome.stream, outcome.answer
            key, is_final = (stream, a.domain), a.state != WAITS
            for asker, first, last, _freed in flight.apply_answer(key, a.first, a.last, is_final, conn):
                self._back(asker[0], command.site, Outcome(stream, replace(a, first=first, last=last)))

    def _back(self, source: bytes, site: str, outcome: Outcome) -> None:
        self._answers.setdefault((source, site), []).append(outcome)
        self._context.out.ending[self._send_answers] = None

    def _send_answers(self) -> None:
        answers, self._answers = self._answers, {}
        for (source, site), outcomes in answers.items():
            if source == self._context.me.uuid:
                self._context.facts.publish_fact(SiteAnswered(site, tuple(outcomes), source))
            elif (peer := self._neighbours.peers.get(source)) is not None:
                say_relayed(self._context, peer.data, site, outcomes)

    # --- changes ----------------------------------------------------------------------------------------

    def _on_gate_changed(self, fact: GateChanged) -> None:
        for site, way in [*self._ways.items()]:
            if way == fact.site:
                self._review(site, fact.is_less)

    def _resettle(self) -> None:
        before, self._ways = self._ways, self._context.settings.site.ways
        for site in {**before, **self._ways}:
            self._review(site, before.get(site) != self._ways.get(site))

    def _review(self, site: str, is_less: bool) -> None:
        """Announce whether the site is reached from here, and record messages on lost connections as lost.

        `is_less` means that messages in transit may be lost.
        """
        gate = self._gate(site)
        conns = [*self._linked(gate, site).values()] if gate is not None else []
        for stream, asker, numbers, _ in self._flights[site].drop_routes(lambda conn: conn not in conns):
            key, number = (site, stream, asker), numbers.bottom()
            if oldest := self._lost.keep(key, min(number, self._lost.get(key, number))):
                self._early.pop(oldest[0], None)
        if is_less:
            self._losses[site] = self._losses.get(site, 0) + 1
        self._presence.serve((SITE, site), len(conns), self.note(site) or b"")

    def _logged_out(self, fact: LoggedOut) -> None:
        """Forget the requests of a node that logged out, as it resends them on another connection."""
        uuid = fact.peer.node.uuid
        for key in [key for key in self._lost if key[2][0] == uuid]:
            del self._lost[key]
        self._early = {key: since for key, since in self._early.items() if key in self._lost}
        for flight in self._flights.values():
            flight.drop_waiters(lambda asker: asker[0] == uuid)


def _accepts(conn: Conn, envelope: Envelope) -> bool:
    """Return whether the gateway at the other end has the feature that the envelope needs."""
    return not envelope.to or feature_of(envelope.to) in conn.speaks
