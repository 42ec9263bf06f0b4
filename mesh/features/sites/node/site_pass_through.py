"""Passes messages of other sites through this site to a third one, by the gateways linked with that site.

Nothing is kept here: the site that sent the messages keeps them until the last site answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from mesh.errors import LocalError, PublishRefused, TailBackFull
from mesh.features.sites.node.answering import Answering, FromSite
from mesh.features.sites.node.arrivals import NeighbourSite, unfit_to_pass
from mesh.features.sites.node.batches import say_relay
from mesh.features.sites.node.facts import ExitsChanged, GateChanged, SiteAnswered
from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.passing import GATEWAY, passing, turn_of
from mesh.features.sites.node.site_in_flight import WAITS
from mesh.features.sites.wire import Relay
from mesh.flow.inflight import InFlight, LostNumbers
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.remote_names import UNREACHABLE, WAY_LOST
from mesh.routing.verdict import refusal
from mesh.site_policy.refusals import FOR_NOW
from mesh.streams.deferred_numbers import DeferredNumbers
from mesh.wire.commands import Answer, Outcome
from mesh.wire.envelope import Envelope

Stream = tuple[bytes, str]  # stream and domain

EACH = 512  # overhead of an envelope, bytes
STREAMS = 4096  # streams with deferred messages that are remembered

# Rule 1: a stream uses one gateway of this site while any of its messages is unanswered, unless that gateway
# is lost.
# Rule 2: messages lost behind this node are deferred: their master sends them again, and none overtakes them.
# Rule 3: for a direct message each refusal is final, except WAY_LOST, after which it is sent again.
# Rule 4: the bytes in transit from one neighbor are bounded, whatever the next site does.


class PassingWaiter(NamedTuple):
    """The gateway that brought messages, and the key of their order after a deferral."""

    origin: FromSite
    who: bytes
    is_letter: bool


class SitePassThrough(Component):
    """Component that passes messages through to third sites."""

    def __init__(
        self,
        context: NodeContext,
        transit: GatewayRelay,
        notes: GatewayNotes,
        neighbours: Neighbours,
        answering: Answering,
        why_paused: Callable[[str], str],
    ) -> None:
        self._context = context
        self._transit = transit
        self._notes = notes
        self._neighbours = neighbours
        self._answering = answering
        self._why_paused = why_paused
        self._flights = defaultdict[str, InFlight[Stream, PassingWaiter, bytes]](InFlight)  # by site
        self._sizes = Counter[str]()  # bytes in transit, by neighbor
        self._untold: dict[str, int] = {}  # dropped messages not yet reported, by site
        self._turns = defaultdict[str, DeferredNumbers](lambda: DeferredNumbers(STREAMS))  # by neighbor

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SiteAnswered, lambda fact: self._on_outcomes(fact.site, fact.outcomes)),
            on_fact(ExitsChanged, self._on_exits_changed),
            on_fact(GateChanged, self._gate_changed),
        )

    def figures(self) -> dict[str, int | float]:
        return {"site_passing_bytes": sum(self._sizes.values())}

    def on_second(self) -> None:
        s = self._context.settings.site
        for site in s.ways if s.is_relay else ():  # keeps the gateways up to date
            if any(accepting.may_pass(site) for accepting in s.accepting.values()):
                self._notes.read_notes(site)

    # --- to the third site ------------------------------------------------------------------------------

    def forward(
        self, origin: FromSite, came: NeighbourSite, command: Relay, envelopes: Sequence[Envelope]
    ) -> None:
        """Forward envelopes from another site to the third site that `command` names, or refuse them.

        Envelopes that are already in transit are ignored.
        """
        going: dict[bytes, list[Envelope]] = {}
        here, hop = self._context.settings.site.name, self._context.hop(GATEWAY)
        for envelope in envelopes:
            alias = replace(envelope, stream=self._answering.aliases.here(came.name, envelope.stream))
            error = unfit_to_pass(envelope, came, here, command.site)
            if error is None or error.code in FOR_NOW:
                who = command.site.encode() + b"/" + turn_of(alias)
                waiter = PassingWaiter(origin, who, alias.to != "")
                if self._is_under_way(command.site, waiter, alias):
                    continue
                error = self._in_turn(came.name, command.site, waiter, alias, error)
                if error is None:
                    way = self._note(command.site, waiter, alias)
                    going.setdefault(way, []).append(passing(alias, here, hop))
            if error is not None:
                self._context.counters.add_count("refused", alias.count)
                self._answering.send_answer(origin, alias.stream, refusal(alias, error), command.site)
        self._ship(command, going)

    def _in_turn(
        self, name: str, site: str, waiter: PassingWaiter, envelope: Envelope, error: LocalError | None
    ) -> LocalError | None:
        """Return why the envelope is not forwarded now, or None.

        After a refusal, later messages of the publisher wait until the refused one is sent again. Direct
        messages wait only behind a message that was refused as WAY_LOST.
        """
        now, turns, here = self._context.clock.now, self._turns[name], self._context.settings.site.name
        me = self._context.me.name
        is_early = turns.is_early(waiter.who, envelope.first, envelope.last, envelope.low, now)
        if error is None and is_early:
            error = TailBackFull(f"{me} must accept an earlier deferred message of the same publisher first.")
        elif error is None and self._is_full(name, envelope):
            error = TailBackFull(
                f"{me} has no room for this message: {self._sizes[name]:,} bytes from {name} are in transit "
                f"through it; the limit is {self._transit_limit:,} bytes."
            )
        elif error is None and (paused := self._why_paused(site)):
            error = PublishRefused(f"{paused}.", code=UNREACHABLE)
        elif error is None and self._gateway_of(site, envelope) is None:
            hint = f"See `mesh why site {site}` at a node of {here}."
            error = PublishRefused(
                f"{here} has no route to the site {site} now.", hint=hint, code=UNREACHABLE
            )
        if waiter.is_letter and isinstance(error, TailBackFull):
            error = PublishRefused(error.what, hint=error.hint, code=WAY_LOST)
        if error is not None and (not waiter.is_letter or error.code == WAY_LOST):
            turns.defer(waiter.who, envelope.first, now)
        return error

    def _is_full(self, name: str, envelope: Envelope) -> bool:
        """Return whether the messages of the neighbor in transit would exceed half of the buffer limit.

        A message always passes while none of that neighbor is in transit.
        """
        under_way = self._sizes[name]
        return under_way > 0 and under_way + len(envelope.body) + EACH > self._transit_limit

    @property
    def _transit_limit(self) -> int:
        return self._context.settings.tailback_bytes // 2

    def _is_under_way(self, site: str, waiter: PassingWaiter, e: Envelope) -> bool:
        flight = self._flights.get(site)  # no entry is made: the site may be unknown
        return flight is not None and flight.has_range((e.stream, e.domain), waiter, e.first, e.last)

    def _gateway_of(self, site: str, envelope: Envelope) -> bytes | None:
        way = self._flights[site].route_of((envelope.stream, envelope.domain))
        if way is None:
            self._notes.read_notes(site)
            way = self._notes.choose_gateway(site, envelope.stream)
        return way

    def _note(self, site: str, waiter: PassingWaiter, envelope: Envelope) -> bytes:
        """Record that `waiter` expects an answer, and return the gateway that the stream uses."""
        e, size, way = envelope, len(envelope.body) + EACH, self._gateway_of(site, envelope)
        assert way is not None  # else it would have been refused
        self._flights[site].record_sent((e.stream, e.domain), way, waiter, e.first, e.last, size)
        self._sizes[waiter.origin.site] += size
        return way

    def _ship(self, command: Relay, going: dict[bytes, list[Envelope]]) -> None:
        dropped = command.dropped + self._untold.pop(command.site, 0)
        for way, envelopes in going.items():
            if way == self._context.me.uuid:
                self._transit.forward(way, command.site, envelopes, dropped)
            elif (peer := self._neighbours.peers.get(way)) is not None:
                say_relay(self._context, peer.data, command.site, envelopes, dropped)
            dropped = 0
        if dropped and len(self._untold) < STREAMS:
            self._untold[command.site] = dropped

    # --- answers of the third site ----------------------------------------------------------------------

    def _on_outcomes(self, site: str, outcomes: Sequence[Outcome]) -> None:
        flight = self._flights.get(site)
        if flight is None:
            return
        for outcome in outcomes:
            stream, a = outcome.stream, outcome.answer
            key, is_final = (stream, a.domain), a.state != WAITS
            for waiter, first, last, freed in flight.apply_answer(key, a.first, a.last, is_final):
                self._free(waiter, freed)
                part = replace(a, first=first, last=last)
                self._answering.send_answer(waiter.origin, stream, part, site)

    def _free(self, waiter: PassingWaiter, size: int) -> None:
        name = waiter.origin.site
        self._sizes[name] -= size
        if not self._sizes[name]:
            del self._sizes[name]

    # --- changes ----------------------------------------------------------------------------------------

    def _on_exits_changed(self, fact: ExitsChanged) -> None:
        """Defer the messages in transit to a site through gateways that lost them."""
        flight = self._flights.get(fact.site, InFlight())
        for lost in flight.drop_routes(lambda way: way in fact.lost):
            self._put_off(fact.site, lost)

    def _put_off(self, site: str, lost: LostNumbers[Stream, PassingWaiter]) -> None:
        (stream, domain), waiter, numbers, size = lost
        self._free(waiter, size)
        self._turns[waiter.origin.site].defer(waiter.who, numbers.bottom(), self._context.clock.now)
        text = f"The message was lost in transit through {self._context.settings.site.name}."
        for first, last in numbers:
            state = WAY_LOST if waiter.is_letter else UNREACHABLE
            answer = Answer(domain, first, last, state=state, text=text)
            self._answering.send_answer(waiter.origin, stream, answer, site)

    def _gate_changed(self, fact: GateChanged) -> None:
        """Forget disconnected waiters, as their masters resend through other gateways."""
        for flight in self._flights.values() if fact.is_less else ():
            for lost in flight.drop_waiters(lambda waiter: not waiter.origin.is_there()):
                self._free(lost.waiter, lost.size)
