"""Direct messages to other sites: routes, gateways and answers.

Direct messages wait at the sender's node, like messages for an unreachable master. That node keeps them until
the other site has sent the final answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from mesh.features.sites.model.gateways import gateway
from mesh.features.sites.node.batches import say_relay
from mesh.features.sites.node.facts import ExitsChanged, PauseChanged, SiteAnswered
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.gateway_routes import GatewayRoutes
from mesh.features.sites.node.passing import feature_of, leaving
from mesh.flow.backoff import Backoff
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, SettingsRead, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import NextHop
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.peers.neighbours import Neighbours
from mesh.mapping.decision import ASKING, Decision, forward, refuse, wait
from mesh.printable import count
from mesh.remote_names import UNREACHABLE, WAY, way_to
from mesh.routing.pending_forward import PendingForward
from mesh.site_policy.refusals import goes_again
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import DIRECT, LETTERS

WHY = 200  # characters of another site's text
Sending = tuple[str, bytes, tuple[str, str]]  # hop, stream, and (domain, node)

# Rule 1: a message that has not left is refused now if it may not wait and no gateway reaches the site. A
# message that has left may have arrived, so it waits and is sent again. A paused site counts as unreachable.
# Rule 2: while any message of a stream is in transit, the stream uses one gateway, so its order holds.
# Rule 3: messages that another site had no room for, or lost in transit, are retried: first one, then all
# later ones of the same sender to the same node. Other messages do not wait for them.
# Rule 4: a message that left before and was not answered is not refused because of its latest route.
# Rule 5: answers are accepted only from gateways to that site.


class SiteDirectMessages(Component):
    """Component that sends direct messages to other sites."""

    def __init__(
        self,
        context: NodeContext,
        forwarder: Forwarder,
        neighbours: Neighbours,
        transit: GatewayRelay,
        exits: GatewayRoutes,
        why_paused: Callable[[str], str],
    ) -> None:
        self._context = context
        self._why_paused = why_paused
        self._forwarder = forwarder
        self._neighbours = neighbours
        self._transit = transit
        self._exits = exits
        self._sites = context.settings.site.ways
        self._asking: set[str] = set()
        self._trials = Backoff[Sending]()

    def features(self) -> Sequence[str]:
        return (LETTERS,)

    def next_hops(self) -> Mapping[str, NextHop]:
        return {WAY: self}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SettingsRead, lambda _: self._resettle()),
            on_fact(PauseChanged, lambda _: self._forwarder.review()),
            on_fact(ExitsChanged, lambda fact: self._on_exits_changed(fact.site, fact.lost)),
            on_fact(SiteAnswered, self._on_site_answered),
        )

    def _resettle(self) -> None:
        """Apply new settings; messages for removed sites are refused unless they have left."""
        before, self._sites = self._sites, self._context.settings.site.ways
        for site in before.keys() - self._sites.keys():
            if waiting := self._forwarder.tailback.depth(way_to(site)).messages:
                text = (
                    f"discarded {count(waiting, 'direct message')} for site {site}, which is no "
                    "longer configured"
                )
                self._context.event("site", text, level="warning")
        self._forwarder.review()

    # --- route decisions --------------------------------------------------------------------------------

    def decide(self, site: str, waits: bool) -> Decision:
        """Decide on a message to that site; `waits` means that it may wait for a route.

        While the gateways are looked up, every message waits.
        """
        hop = way_to(site)
        if unknown := self._exits.why_unknown(site):
            return refuse(unknown, hop, UNREACHABLE, is_final=True)
        paused = self._why_paused(site)
        if not paused and not self._exits.is_known(site):
            self._look_up_gateways(site)
            return wait(f"asking for a gateway to {site}", hop, code=ASKING)
        if self.has_way(hop):
            return forward(f"a gateway to {site}", hop)
        why = paused or self._exits.why_no_way(site)
        return wait(why, hop) if waits else refuse(why, hop, UNREACHABLE)

    def when_known(self, site: str, then: Callable[[], None]) -> None:
        """Call `then` when the gateways to that site are known, or immediately for an unknown site."""
        self._exits.when_known(site, then)

    def has_way(self, hop: str) -> bool:
        site = hop.removeprefix(WAY)
        return not self._why_paused(site) and bool(self._exits.able(site))

    def describe_hop(self, hop: str) -> str:
        if paused := self._why_paused(hop.removeprefix(WAY)):
            return paused
        return "a gateway is connected with it" if self.has_way(hop) else "no gateway is connected with it"

    def _look_up_gateways(self, site: str) -> None:
        """Look up the gateways, and review all waiting messages once the gateways are known."""

        def heard() -> None:
            self._asking.discard(site)
            self._context.out.ending[self._forwarder.review] = None

        if site not in self._asking:
            self._asking.add(site)
            self._exits.when_known(site, heard)

    def tick(self) -> None:
        """Retry messages that another site had no room for, or that were lost in transit."""
        for sending in self._trials.due_keys(self._context.clock.now):
            self._try(sending)
        self._context.clock.wake(self._trials.deadline())

    def on_second(self) -> None:
        """Keep the gateways of sites with waiting messages up to date.

        Also replace retried messages that have ended without an answer.
        """
        for sending, serial in self._trials.attempts():
            if self._forwarder.onward.entry(serial) is None:  # for example expired, so never answered
                self._try(sending)
        for hop in self._forwarder.onward.hops():
            if hop.startswith(WAY):
                self._exits.is_known(hop.removeprefix(WAY))

    # --- gateways ---------------------------------------------------------------------------------------

    def _on_exits_changed(self, site: str, lost: frozenset[bytes]) -> None:
        if lost:
            self._forwarder.on_route_lost(way_to(site))
        else:
            self._forwarder.review()

    def ship(self, hop: str) -> None:
        """Send the messages that may leave, if a gateway reaches the site and the site is not paused."""
        site, onward = hop.removeprefix(WAY), self._forwarder.onward
        able = self._exits.able(site)
        if not able or self._why_paused(site):
            return
        current: list[bytes] | None = None  # gateways with the feature DIRECT
        ways: dict[tuple[bytes, str], bytes] = {}  # by stream and feature
        going: dict[bytes, list[Envelope]] = {}
        for entry in onward.next_to_send(hop, self._forwarder.rulings.may_leave, self._is_held(hop)):
            stream, low = entry.envelope.stream, onward.lowest(entry.key)
            feature, suitable = feature_of(entry.envelope.to), able
            if feature == DIRECT:
                suitable = current = self._exits.able(site, DIRECT) if current is None else current
                if not current:
                    self._refuse_older(entry, hop)
                    continue
            if (stream, feature) not in ways:
                ways[stream, feature] = self._gateway_of(site, stream, suitable)
            way = ways[stream, feature]
            onward.record_gateway(entry, hop, way)
            for first, last in entry.lacking[hop]:
                part = entry.envelope.part(first, last)
                left = leaving(part, self._context.settings.site.name, min(part.low, low))
                going.setdefault(way, []).append(left)
        for way, envelopes in going.items():
            self._context.counters.add_count("forwarded", sum(envelope.count for envelope in envelopes))
            if way == self._context.me.uuid:
                self._transit.forward(way, site, envelopes)
            else:
                say_relay(self._context, self._neighbours.peers[way].data, site, envelopes)

    def _refuse_older(self, entry: PendingForward, hop: str) -> None:
        """Refuse a message for a client without a node, which gateways of earlier releases cannot read."""
        e, site = entry.envelope, hop.removeprefix(WAY)
        what = f"The gateways to {site} run an earlier release. Name the node of the client: {e.to}"
        for first, last in [*entry.lacking[hop]]:
            answer = Answer(e.domain, first, last, UNREACHABLE, text=f"{what}.")
            self._forwarder.on_site_answer(entry, hop, answer)

    def _gateway_of(self, site: str, stream: bytes, able: Sequence[bytes]) -> bytes:
        used = self._forwarder.onward.gateways_of(stream, way_to(site))
        way = next((way for way in used if way in able), None)
        way = way or gateway(stream, site, able, self._context.settings.site.relays)
        assert way is not None  # checked by the caller
        return way

    # --- answers ----------------------------------------------------------------------------------------

    def _on_site_answered(self, fact: SiteAnswered) -> None:
        hop, onward = way_to(fact.site), self._forwarder.onward
        for outcome in fact.outcomes if self._exits.has_gateway(fact.site, fact.by) else ():
            a = outcome.answer
            for entry, first, last in onward.find_answered(outcome.stream, a.domain, a.first, a.last):
                if hop in entry.lacking:  # unexpected answers change nothing
                    self._on_answer(entry, hop, replace(a, first=first, last=last))

    def _on_answer(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        sending = _sending(entry, hop)
        if not goes_again(answer.state, entry.may_be_there):
            self._forwarder.on_site_answer(entry, hop, answer)
            if self._trials.record_arrival(sending, entry.serial):
                self._forwarder.onward.requeue(hop, self._waiting(sending))
        elif self._forwarder.onward.is_under_way(entry, hop):  # otherwise it is resent anyway
            entry.why = f"{answer.state}: {answer.text[:WHY]}"
            self._forwarder.onward.put_aside(entry, hop)
            self._trials.record_refusal(sending, self._context.clock.now, entry.serial)
            self._context.clock.wake(self._trials.deadline())

    # --- retries ----------------------------------------------------------------------------------------

    def _is_held(self, hop: str) -> Callable[[PendingForward], bool]:
        """Return a function that returns whether an entry waits for the retry of another one."""
        if not self._trials:  # usual case
            return lambda entry: False
        return lambda entry: self._trials.holds(_sending(entry, hop), entry.serial)

    def _try(self, sending: Sending) -> None:
        """Retry the message with the lowest number, which the other site never rejects as too early."""
        first = next(iter(self._waiting(sending)), None)
        if first is None:
            self._trials.drop(sending)
        else:
            self._trials.begin_attempt(sending, first.serial)
            self._forwarder.onward.requeue(sending[0], (first,))
        self._forwarder.shipping.schedule_send(sending[0])

    def _waiting(self, sending: Sending) -> list[PendingForward]:
        """Return entries that have not left, or that are to be resent, in the order of their numbers."""
        (hop, stream, track), onward = sending, self._forwarder.onward
        lane = onward.lane((stream, track[0]))
        mine = [entry for entry in lane if entry.track == track and hop in entry.lacking]
        return [entry for entry in mine if not onward.is_under_way(entry, hop)]


def _sending(entry: PendingForward, hop: str) -> Sending:
    return hop, entry.envelope.stream, entry.track
