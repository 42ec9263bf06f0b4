"""Sends the messages of this master through gateways to other sites, and applies the sites' answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from mesh.features.sites.node.batches import say_relay
from mesh.features.sites.node.facts import ExitsChanged, PauseChanged, SiteAnswered
from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.outbound_sites import Outbound, OutboundSites
from mesh.features.sites.node.passing import in_runs, leaving
from mesh.features.sites.node.site_in_flight import WAITS, PartlySent, answer_key, is_put_off
from mesh.features.sites.node.sitefeed import SiteFeed
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.features.sites.wire import Relayed
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.routing.log import stream_key
from mesh.wire.commands import Outcome
from mesh.wire.envelope import Envelope

STREAM = 16  # bytes of the stream in a stream key
TEXT = 300  # characters of another site's text

# Rule 1: a stream uses one gateway while any of its messages is unanswered, unless that gateway is lost.
# Rule 2: after a loss, all unanswered messages of the stream are sent again, in order, through another
# gateway.
# Rule 3: unanswered messages are also sent again, after a pause, when the site cannot accept some now.


class SiteSender(Component):
    """Component that sends the slices that leave the feeds of other sites, and resends those without answer.

    `is_paused` returns whether an admin has paused a site.
    """

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        transit: GatewayRelay,
        notes: GatewayNotes,
        dead: DeadLetters,
        is_paused: Callable[[str], bool],
        marking: TransferMarks,
        outbound: OutboundSites,
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._transit = transit
        self._notes = notes
        self._dead = dead
        self._is_paused = is_paused
        self._marking = marking
        self._outbound = outbound
        self._due: dict[str, None] = {}  # sites with something to send

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Relayed, lambda conn, peer, command, _: self._on_relayed(peer, command)),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PauseChanged, lambda fact: self._is_due(fact.site)),
            on_fact(ExitsChanged, self._on_exits_changed),
            on_fact(SiteAnswered, lambda fact: self._on_outcomes(fact.site, fact.outcomes)),
        )

    def add_unsent(self, feed: SiteFeed, given: PartlySent) -> None:
        """Send a slice that has left its feed when the current event ends, unless its stream is deferred."""
        out, key = self._outbound.by_name[feed.site], stream_key(given.envelope)
        if not out.pauses.holds(key):
            out.unsent.setdefault(key, deque()).append(given)
        self._is_due(feed.site)

    def _is_due(self, site: str) -> None:
        self._due[site] = None
        self._context.out.ending[self._send_due] = None

    def _send_due(self) -> None:
        due, self._due, sites = self._due, {}, self._outbound.by_name
        for site in due:
            if site in sites and not self._is_paused(site):
                self._send_unsent(sites[site])

    def _send_unsent(self, out: Outbound) -> None:
        if not out.unsent or not self._notes.notes_of(out.feed.site):
            return
        going: dict[bytes, list[Envelope]] = {}
        unsent, out.unsent = out.unsent, {}
        void: list[PartlySent] = []
        for key, givens in unsent.items():
            if key not in out.feed.in_flight.streams:  # answered meanwhile
                continue
            way = self._gateway_of(out, key)
            leave = going.setdefault(way, [])
            for given in givens:
                if out.feed.is_void(given):
                    void.append(given)
                else:
                    given.was_sent = True
                    leave.extend(self._as_it_leaves(out, given))
        for uuid, envelopes in going.items():
            if envelopes:
                self.ship(out.feed.site, uuid, envelopes)
        self._outbound.expire(out, void)

    def _gateway_of(self, out: Outbound, key: bytes) -> bytes:
        flight = out.feed.in_flight.streams
        way = flight.route_of(key)
        if way is None:
            way = self._notes.choose_gateway(out.feed.site, key[:STREAM])
            assert way is not None  # checked by the caller
            flight.assign_route(key, way)
        return way

    def _as_it_leaves(self, out: Outbound, given: PartlySent) -> Iterator[Envelope]:
        low = out.feed.in_flight.low(given.envelope, given.envelope.low)
        for run in in_runs(given.envelope):
            if given.left.overlaps(run.first, run.last):
                yield leaving(run, self._context.settings.site.name, low)

    def ship(self, site: str, uuid: bytes, envelopes: Iterable[Envelope]) -> None:
        """Send the envelopes through the gateway `uuid`, unless it is no longer connected."""
        peer, out = self._neighbours.peers.get(uuid), self._outbound.by_name[site]
        if uuid == self._context.me.uuid:
            self._transit.forward(uuid, site, list(envelopes), out.untold)
        elif peer is not None and peer.data is not None:
            say_relay(self._context, peer.data, site, envelopes, out.untold)
        else:
            return
        out.untold = 0

    def tick(self) -> None:
        """Resend deferred streams whose pause is over."""
        for site, out in self._outbound.by_name.items():
            for key in out.pauses.begin_due(self._context.clock.now):
                out.unsent[key] = deque(out.feed.in_flight.unanswered(key))
                self._is_due(site)
            self._context.clock.wake(out.pauses.deadline())

    # --- gateways ---------------------------------------------------------------------------------------

    def _on_exits_changed(self, fact: ExitsChanged) -> None:
        if (out := self._outbound.by_name.get(fact.site)) is not None:
            self._marking.sees(fact.site, self._notes.notes_of(fact.site).values())
            self._requeue_in_flight(out, fact.lost)

    def _requeue_in_flight(self, out: Outbound, lost: Collection[bytes]) -> None:
        """Resend the unanswered messages of streams that used the gateways in `lost`, unless deferred."""
        self._is_due(out.feed.site)
        in_flight = out.feed.in_flight
        for key in in_flight.streams.streams_by(lambda way: way in lost):
            in_flight.streams.assign_route(key, None)
            if not out.pauses.holds(key):
                out.unsent[key] = deque(in_flight.unanswered(key))

    # --- answers ----------------------------------------------------------------------------------------

    def _on_relayed(self, peer: Peer, command: Relayed) -> None:
        self._context.facts.publish_fact(SiteAnswered(command.site, command.outcomes, peer.node.uuid))

    def _on_outcomes(self, site: str, outcomes: Sequence[Outcome]) -> None:
        if (out := self._outbound.by_name.get(site)) is not None:
            for outcome in outcomes:
                self._take_answer(out, outcome)

    def _take_answer(self, out: Outbound, outcome: Outcome) -> None:
        feed, answer, key = out.feed, outcome.answer, answer_key(outcome.stream, outcome.answer)
        if answer.state == WAITS:
            feed.waits(outcome.stream, answer)
            return
        if answer.state != "OK" and self._is_put_off(out, key, outcome):
            return
        before = feed.position
        parts = feed.apply_answer(outcome.stream, answer, self._context.clock.now)
        for given, first, last, _ in parts if answer.state != "OK" else ():
            dead = replace(given.envelope, to=f"site/{feed.site}")
            self._dead.publish_refused(dead, replace(answer, first=first, last=last))
        if key in feed.in_flight.streams:
            out.pauses.record_progress(key, self._context.clock.now)
            self._context.clock.wake(out.pauses.deadline())
        else:
            out.pauses.drop(key)
        if feed.position != before:
            self._outbound.write_position(feed)

    def _is_put_off(self, out: Outbound, key: bytes, outcome: Outcome) -> bool:
        """Defer the stream if the site may accept the messages later, and return whether it was deferred."""
        answer, now, site = outcome.answer, self._context.clock.now, out.feed.site
        about = out.feed.in_flight.about(outcome.stream, answer)
        if not about or not is_put_off(answer, about):
            return False
        self._context.clock.wake(out.pauses.record_refusal(key, now))
        out.unsent.pop(key, None)
        if out.warnings.allows(now):
            why = f"{answer.state}: {answer.text[:TEXT]!r}"
            text = f"{site} cannot accept some messages, which wait here: {why}"
            self._context.event("site", text, level="warning")
        return True
