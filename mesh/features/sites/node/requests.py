"""Requests to addresses in other sites, which pass through this gateway, and their replies.

The gateway keeps no message: the node of the sender waits for answers and replies. The sender's node is
notified when the connection that the request used is lost.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from mesh.errors import BadName, HandlerLost
from mesh.features.sites.model.gateways import gateway
from mesh.features.sites.node.facts import GateChanged
from mesh.features.sites.node.gateway import MOST, Gateways
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.gateway_routes import GatewayRoutes
from mesh.features.sites.node.passing import leaving
from mesh.features.sites.node.site_connection import SiteConnection
from mesh.hops import is_foreign, is_of, site_of
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import RemoteAddresses
from mesh.kernel.peers.facts import LoggedOut
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.names import OTHERS, SENDS, SessionName
from mesh.remote_names import UNREACHABLE
from mesh.routing.requester import Requester
from mesh.streams.ranges import numbers_within
from mesh.wire.commands import Answer, Respond, Sent
from mesh.wire.envelope import EVERY, REPLY, REQUEST, Envelope, runs
from mesh.wire.envelope_batches import TimedEnvelopes, batches, sends
from mesh.wire.limits import LETTERS
from mesh.wire.ttls import end_of

OPEN = 100_000  # open messages for one site
SWEEP = 5.0  # s after its deadline until a request is forgotten

# Rule 1: an answer or reply counts once, only for the sender, and only on the connection that the request
# used.
# Rule 2: a site replies for its own clients only.


@dataclass(slots=True, eq=False)
class SiteRequestInFlight:
    """An envelope that was sent to a site.

    `is_taken` means that a service accepted its messages, so that only replies are expected.
    """

    site: str
    conn: Conn
    requester: Requester
    sender: str
    flags: int
    until: float
    is_taken: bool = False


class SiteRequests(Component):
    """Component that sends requests to other sites."""

    def __init__(
        self,
        context: NodeContext,
        gateways: Gateways,
        transit: GatewayRelay,
        exits: GatewayRoutes,
        back: ReplyBatch,
        why_paused: Callable[[str], str],
    ) -> None:
        self._context = context
        self._transit = transit
        self._gateways = gateways
        self._exits = exits
        self._back = back
        self._why_paused = why_paused
        self._open: dict[bytes, dict[int, SiteRequestInFlight]] = {}  # by stream and number
        self._counts: Counter[str] = Counter()  # open messages by site
        self._due: dict[Conn, TimedEnvelopes] = {}
        self._swept = 0.0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(GateChanged, lambda fact: self._on_gate_changed(fact.site) if fact.is_less else None),
            on_fact(LoggedOut, lambda fact: self._forget_peer(fact.peer.node.uuid)),
        )

    def remote_addresses(self) -> Mapping[str, RemoteAddresses]:
        return {OTHERS: self}

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return (on_command(Sent, self._sent), on_command(Respond, self._responded))

    def figures(self) -> dict[str, int | float]:
        return {"site_requests": self._counts.total()}

    # --- to the site ------------------------------------------------------------------------------------

    def when_known(self, site: str, then: Callable[[], None]) -> None:
        """Call `then` when the gateways to that site are known, immediately if nothing may be sent to it."""
        if self.why_none(site):
            then()
        else:
            self._exits.when_known(site, then)

    def why_none(self, site: str) -> str:
        """Return why nothing may be sent to the site, even with a gateway, or ""."""
        return self._exits.why_unknown(site) or self._why_paused(site)

    def why_no_way(self, site: str) -> str:
        """Return why no gateway reaches the site, as text for a user."""
        return self._exits.why_no_way(site)

    def way(self, site: str, stream: bytes, in_vain: Collection[bytes]) -> bytes | None:
        """Return the uuid of the gateway of this site that a stream to `site` uses, or None if there is none.

        Gateways in `in_vain` are left out.
        """
        able = [uuid for uuid in self._exits.able(site) if uuid not in in_vain]
        return gateway(stream, site, able, self._context.settings.site.relays)

    def accept(self, requester: Requester, envelope: Envelope, ttl: int) -> None:
        """Send the envelope to its site when the event ends, or refuse it.

        `ttl` is the remaining time in ms; 0 means no limit.
        """
        site, e = site_of(envelope.to), envelope
        conn = self._conn(site, e)
        if conn is None:
            me = self._context.me.name
            text = f"{me} has no connection with a gateway of {site[:64]} that accepts requests."
            self._refuse(requester, e, UNREACHABLE, text)
        elif self._counts[site] + e.count > OPEN:
            text = (
                f"{self._counts[site]:,} messages for the site {site} are unanswered; the limit is {OPEN:,}."
            )
            self._refuse(requester, e, "TOO_MANY_REQUESTS", text)
        else:
            until = end_of(ttl, self._context.clock.now)
            trip = SiteRequestInFlight(site, conn, requester, e.sender, e.flags, until)
            numbers = range(e.first, e.last + 1)
            self._drop(e.stream, numbers)
            self._open.setdefault(e.stream, {}).update(dict.fromkeys(numbers, trip))
            self._counts[site] += e.count
            self._due.setdefault(conn, []).append((self._as_it_leaves(e, requester.is_local), ttl))
            self._context.out.ending[self._flush] = None

    def _conn(self, site: str, e: Envelope) -> Conn | None:
        known = self._transit.conns(site, not is_foreign(e.sender))
        able = [uuid for uuid, conn in known.items() if LETTERS in conn.speaks]
        uuid = gateway(e.stream, site, able, MOST)
        return known[uuid] if uuid is not None else None

    def _as_it_leaves(self, e: Envelope, is_first: bool) -> Envelope:
        """Return the envelope as it leaves this site.

        `is_first` means that no other node of this site forwarded it.
        """
        e = e.passed(self._context.hop(0), self._context.clock.stamp()) if is_first else e
        return replace(leaving(e, self._context.settings.site.name, e.low), flags=e.flags & (REQUEST | EVERY))

    def _flush(self) -> None:
        due, self._due = self._due, {}
        for conn, whole in due.items():
            for batch in batches(whole):
                self._context.counters.add_count("forwarded", sum(envelope.count for envelope, _ in batch))
                self._context.out.send(conn, sends(batch), [envelope for envelope, _ in batch])

    def _refuse(self, requester: Requester, e: Envelope, code: str, text: str) -> None:
        self._back.outcome(requester, e.stream, Answer(SENDS, e.first, e.last, code, text=text))

    # --- answers and replies ----------------------------------------------------------------------------

    def _sent(self, conn: Conn, gate: SiteConnection, command: Sent, _: list[Envelope]) -> None:
        for outcome in command.outcomes:
            a = outcome.answer
            if a.domain == SENDS:
                trips = self._open.get(outcome.stream, {})
                numbers = [n for n in numbers_within(trips, a.first, a.last) if trips[n].conn is conn]
                self._forward_answer(outcome.stream, numbers, a)

    def _forward_answer(self, stream: bytes, numbers: Iterable[int], a: Answer) -> None:
        """Pass an answer on to the senders; accepted requests stay open for their replies."""
        trips = self._open.get(stream, {})
        by_trip: dict[SiteRequestInFlight, list[int]] = {}
        for n in numbers:
            by_trip.setdefault(trips[n], []).append(n)
        for trip, some in by_trip.items():
            for first, last in runs(some):
                part = Answer(SENDS, first, last, a.state, a.matched, a.text)
                self._back.outcome(trip.requester, stream, part)
            if a.state != "OK" or not trip.flags & REQUEST:
                self._drop(stream, some)
            else:
                trips.update(dict.fromkeys(some, dataclasses.replace(trip, is_taken=True)))

    def _responded(
        self, conn: Conn, gate: SiteConnection, command: Respond, envelopes: list[Envelope]
    ) -> None:
        for e in envelopes:
            home = f"{OTHERS}{self._context.settings.site.name}"
            site = self._site_of(gate, e)
            if site is None or e.domain != SENDS or e.keys != ("",) or not is_foreign(e.to):
                self._context.counters.add_count("forged")
                continue
            to = e.to.removeprefix(home) if is_of(self._context.settings.site.name, e.to) else e.to
            numbers, trips = e.number_list(range(e.count)), self._open.get(e.stream, {})
            came: dict[SiteRequestInFlight, list[int]] = {}
            for place, n in enumerate(numbers):
                trip = trips.get(n)
                if trip is None or trip.conn is not conn or trip.sender != to or site not in ("", trip.site):
                    continue
                if trip.flags & REQUEST:
                    came.setdefault(trip, []).append(place)
            for trip, places in came.items():
                reply = replace(e.cut(places), to=to, flags=REPLY, route=(), low=1)
                self._back.add_reply(trip.requester, reply)
                if not trip.flags & EVERY:
                    self._drop(e.stream, [numbers[place] for place in places])
            late = e.count - sum(map(len, came.values()))
            if late:
                self._context.counters.add_count("late_replies", late)

    def _site_of(self, gate: SiteConnection, e: Envelope) -> str | None:
        """Return the site of the replying client, "" for the mesh itself, or None for a forged sender."""
        try:
            site = (SessionName.parse(e.sender).site or "") if e.sender else ""
        except BadName:
            return None
        is_theirs = not e.sender or self._context.settings.site.ways.get(site) == gate.name
        return site if is_theirs else None

    # --- changes ----------------------------------------------------------------------------------------

    def _open_requests(self) -> Iterator[tuple[bytes, int, SiteRequestInFlight]]:
        for stream, trips in list(self._open.items()):
            for n, trip in list(trips.items()):
                yield stream, n, trip

    def _on_gate_changed(self, site: str) -> None:
        """Answer HANDLER_LOST for requests on a lost connection, as they may have been handled."""
        gate = self._gateways.gate(site)
        conns = gate.conns() if gate is not None else []
        lost: dict[bytes, list[int]] = {}
        for stream, n, trip in self._open_requests():
            if trip.conn.site == site and trip.conn not in conns:
                lost.setdefault(stream, []).append(n)
        text = f"The connection with the site {site} was lost. The request may have run there."
        for stream, numbers in lost.items():
            self._forward_answer(stream, sorted(numbers), Answer(SENDS, 1, 1, HandlerLost.code, text=text))

    def _forget_peer(self, uuid: bytes) -> None:
        """Forget the requests that a peer forwarded, as it has logged out and no longer waits for answers."""
        for stream, n, trip in self._open_requests():
            if trip.requester.peer == uuid:
                self._drop(stream, (n,))

    def on_second(self) -> None:
        """Forget requests 5 s or more after their deadline, and answer unanswered ones with HANDLER_LOST."""
        if self._context.clock.now - self._swept < SWEEP:
            return
        self._swept = self._context.clock.now
        text = "The request timed out. It may have run at the other site."
        for stream, n, trip in self._open_requests():
            if trip.until + SWEEP >= self._context.clock.now:
                continue
            if trip.is_taken:
                self._drop(stream, (n,))
            else:
                self._forward_answer(stream, (n,), Answer(SENDS, n, n, HandlerLost.code, text=text))

    def _drop(self, stream: bytes, numbers: Iterable[int]) -> None:
        trips = self._open.get(stream, {})
        for n in numbers:
            if (trip := trips.pop(n, None)) is not None:
                self._counts[trip.site] -= 1
        if not trips:
            self._open.pop(stream, None)
