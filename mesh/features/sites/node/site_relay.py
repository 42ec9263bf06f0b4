"""Site relay at a master: keeps messages for other sites until the sites have sent the final answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from mesh.errors import SiteFull
from mesh.features.sites.node.batches import say_relay
from mesh.features.sites.node.facts import ExitsChanged, PauseChanged, SiteAnswered
from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.passing import in_runs, leaving, may_leave
from mesh.features.sites.node.site_in_flight import WAITS, PartlySent, answer_key, is_put_off
from mesh.features.sites.node.sitefeed import SiteFeed, site_key
from mesh.features.sites.node.transfer_marks import TransferMarks
from mesh.features.sites.wire import Relayed
from mesh.flow.backoff import Backoff
from mesh.flow.seldom import Seldom
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, SettingsRead, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import MessageSinks
from mesh.kernel.delivery.router import Router
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.operations import Delete
from mesh.patterns import SYSTEM
from mesh.printable import count
from mesh.routing.log import position_key, stream_key
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.retained_value import RetainedValue
from mesh.routing.sink import Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.subscriptions import by_taker
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Outcome
from mesh.wire.envelope import Envelope
from mesh.wire.limits import STAYS
from mesh.wire.replies import Depth

STREAM = 16  # bytes of the stream in a stream key
KNOWN = 10_000  # topics whose sites are cached
TOLD_AGAIN = 60.0  # s between two warnings about a site that defers
TEXT = 300  # characters of another site's text

# Rule 1: a stream uses one gateway while any of its messages is unanswered, unless that gateway is lost.
# Rule 2: after a loss, all unanswered messages of the stream are sent again, in order, through another
# gateway.
# Rule 3: unanswered messages are also sent again, after a pause, when the site cannot accept some now.


@dataclass(slots=True)
class Outbound:
    """The state of sending to one site: its feed, unsent slices, and retries."""

    feed: SiteFeed
    unsent: dict[bytes, deque[PartlySent]] = field(default_factory=dict)  # by stream and domain
    pauses: Backoff[bytes] = field(default_factory=Backoff)  # by stream and domain
    untold: int = 0  # dropped messages not yet reported to the site
    warnings: Seldom = field(default_factory=lambda: Seldom(TOLD_AGAIN))  # about deferral


class SiteRelay(Component):
    """Component that sends messages of this master to other sites.

    `released` is called with stored envelopes that are not needed any longer.
    """

    def __init__(  # noqa: PLR0913
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        transit: GatewayRelay,
        notes: GatewayNotes,
        dead: DeadLetters,
        released: Callable[[StoredEnvelope], None],
        paging: Paging,
        is_paused: Callable[[str], bool],
        marking: TransferMarks,
    ) -> None:
        self._context = context
        self._marking = marking
        self._disk = disk
        self._neighbours = neighbours
        self._transit = transit
        self._notes = notes
        self._dead = dead
        self._router = router
        self._released = released
        self._paging = paging
        self._is_paused = is_paused
        self._outbound: dict[str, Outbound] = {}
        self._known: dict[tuple[str, str], tuple[SiteFeed, ...]] = {}
        self._due: dict[str, None] = {}  # sites with something to send
        self._adopt()

    def _feed(self, site: str, size: int) -> SiteFeed:
        context, s, count = (
            self._context,
            self._context.settings,
            self._context.counters.loss_counter(f"site/{site}"),
        )

        def lost(envelope: Envelope, why: str, messages: int) -> None:
            count(envelope, why, messages)
            if why != "EXPIRED":
                self._marking.dropped(site, messages)
                self._outbound[site].untold += messages

        return SiteFeed(
            site,
            Credit(s.window_bytes, s.window_count, size),
            self._leaves,
            self._released,
            s.backlog_bytes,
            lambda: context.clock.believed,
            paging=self._paging,
            lost=lost,
            passes=lambda first, last: self._marking.passes(site, first, last),
        )

    def features(self) -> Sequence[str]:
        return (STAYS,)

    def message_sinks(self) -> Sequence[MessageSinks]:
        return (self,) if self._context.settings.site.name else ()

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SettingsRead, lambda _: self._resettle()),
            on_fact(PauseChanged, lambda fact: self._is_due(fact.site)),
            on_fact(ExitsChanged, self._on_exits_changed),
            on_fact(SiteAnswered, lambda fact: self._on_outcomes(fact.site, fact.outcomes)),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Relayed, lambda conn, peer, command, _: self._on_relayed(peer, command)),)

    def _on_relayed(self, peer: Peer, command: Relayed) -> None:
        self._context.facts.publish(SiteAnswered(command.site, command.outcomes, peer.node.uuid))

    @property
    def sites(self) -> Collection[str]:
        """The sites to which messages may leave from here."""
        return self._outbound.keys()

    def has_way(self, site: str) -> bool:
        """Return whether a gateway of this site is linked with that site."""
        return site in self._outbound and bool(self._notes.of(site))

    def is_through(self, site: str) -> bool:
        """Return whether everything that waited for the site has left; False for an unknown site."""
        return site in self._outbound and self._outbound[site].feed.is_through

    def is_coming(self, site: str, value: RetainedValue) -> bool:
        """Return whether that value is already owed to the site."""
        e = value.envelope
        return self._outbound[site].feed.in_flight.is_open(e.stream + e.domain.encode(), value.number)

    def send(self, site: str, stream: bytes, envelopes: Sequence[Envelope]) -> None:
        """Send envelopes that another component keeps.

        The caller checks that a gateway is linked with the site.
        """
        if envelopes:
            way = self._notes.choose(site, stream)
            assert way is not None  # the caller has checked for a route
            self._ship(site, way, envelopes)

    def depth(self, site: str) -> Depth:
        """Return the count, size and age of the messages that wait for the site or are unanswered."""
        out = self._outbound.get(site)
        return out.feed.depth(self._context.clock.believed) if out is not None else Depth()

    def waiting(self, names: Collection[str]) -> Iterator[Waiting]:
        for site in self._outbound:
            depth = self.depth(site)
            yield Waiting(f"site/{site}", depth.messages, depth.bytes, depth.age)

    def holds(self) -> int:
        return sum(each.feed.waiting_bytes for each in self._outbound.values())

    def figures(self) -> dict[str, int | float]:
        feeds = [each.feed for each in self._outbound.values()]
        return {
            "site_pending": sum(feed.pending for feed in feeds),
            "site_bytes": sum(feed.waiting_bytes for feed in feeds),
        }

    def start(self, beginning: Beginning) -> None:
        """Resume the feed of each site from its stored position.

        The feed of a new site starts at the end of the log. The positions of sites that are no longer
        configured are deleted.
        """
        rows, last = beginning.rows("position"), beginning.image.next_position - 1
        feeds = {each.feed.key: each.feed for each in self._outbound.values()}
        for key, feed in feeds.items():
            position = int.from_bytes(rows[key]) if key in rows else last
            feed.resumes(position, self._marking.passed_over(feed.site))
            self._write_position(feed)
        for key in rows:
            if key[:1] == site_key("") and key not in feeds:
                self._disk.later("position", key, Delete("position", key))

    def on_restored(self) -> None:
        for out in self._outbound.values():
            out.feed.resumed()

    # --- configured sites -------------------------------------------------------------------------------

    def _adopt(self) -> tuple[list[Outbound], list[Outbound]]:
        """Apply the sites of the settings, and return the added and the removed ones."""
        sizes, before = self._context.settings.site.outboxes, self._outbound
        self._selection = self._context.settings.site.selection
        self._known.clear()
        self._outbound = {
            site: before.get(site) or Outbound(self._feed(site, size)) for site, size in sizes.items()
        }
        for site, out in self._outbound.items():
            out.feed.adopt(sizes[site], site in self._context.settings.site.rejecting)
        new = [out for site, out in self._outbound.items() if site not in before]
        return new, [out for site, out in before.items() if site not in self._outbound]

    def _resettle(self) -> None:
        """Apply new settings: a new site is owed the messages accepted from now on, a removed site none."""
        new, gone = self._adopt()
        for out in gone:
            self._give_up(out.feed)
        for out in new:
            out.feed.position = self._router.shelf.next_position - 1
            self._notes.read(out.feed.site)
            self._write_position(out.feed)

    def _give_up(self, feed: SiteFeed) -> None:
        if feed.pending:
            text = (
                f"discarded {count(feed.pending, 'message')} for site {feed.site}, which is no "
                "longer configured"
            )
            self._context.event("site", text, level="warning")
        feed.close()
        self._marking.passed(feed.site, feed.passed_over.take_settled(inf))
        self._marking.forget_site(feed.site)
        self._disk.later("position", feed.key, Delete("position", feed.key))

    def on_second(self) -> None:
        for site, out in self._outbound.items():
            self._notes.read(site)  # keeps the gateways up to date
            self._expire(out, out.feed.drop_expired())
        self._expire_waiting()

    def _expire_waiting(self) -> None:
        def came() -> None:
            self._context.out.ending[self._expire_waiting] = None

        for out in self._outbound.values():
            out.feed.expire_waiting(came)

    def _expire(self, out: Outbound, void: Sequence[PartlySent]) -> None:
        if not void:
            return
        before = out.feed.position
        out.feed.expire(void)
        for key in {stream_key(given.envelope) for given in void}:
            if left := [given for given in out.unsent.pop(key, ()) if given.left]:
                out.unsent[key] = deque(left)
            if key not in out.feed.in_flight.streams:
                out.pauses.drop(key)
        if out.feed.position != before:
            self._write_position(out.feed)

    # --- messages for other sites -----------------------------------------------------------------------

    def plan(self, envelope: Envelope) -> Targets:
        """Return the feeds of the sites that are owed messages of the envelope. Raises: SiteFull.

        Each feed is paired with the indices of its messages; `None` means all messages.
        """
        if not may_leave(envelope) or f"/client/{SYSTEM}" in envelope.sender:
            return []
        by_row = [self.match(key, envelope.domain) for key in envelope.keys]
        found: Targets = [(feed, None) for feed in by_row[0]]
        if len(by_row) > 1:
            found = list(by_taker(envelope, by_row))
        if self._context.settings.site.rejecting:
            self._check_room(envelope, {feed for row in by_row for feed in row})
        return found

    def _check_room(self, envelope: Envelope, feeds: Iterable[SiteFeed]) -> None:
        """Raise SiteFull if a site with the `rejecting` setting has no room left."""
        for feed in feeds:
            if feed.rejects and not feed.has_room(envelope.persistent):
                what = (
                    f"{self._context.me.name} has {feed.waiting_bytes:,} waiting bytes for the site "
                    f"{feed.site}, and no room for this message."
                )
                hint = f"Publish it again when the site is reachable (`mesh why site {feed.site}`), or raise "
                raise SiteFull(what, hint=f"{hint}max_bytes in [sites.{feed.site}].")

    def match(self, key: str, domain: str) -> tuple[SiteFeed, ...]:
        """Return the feeds of the sites to which messages of the topic are sent."""
        found = self._known.get((domain, key))
        if found is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            names = self._selection.sites_for(domain, key)
            found = tuple([self._outbound[name].feed for name in names if name in self._outbound])
            self._known[domain, key] = found
        return found

    def names(self, key: str, domain: str) -> list[str]:
        return [feed.site for feed in self.match(key, domain)]

    def _leaves(self, feed: SiteFeed, given: PartlySent) -> None:
        out, key = self._outbound[feed.site], stream_key(given.envelope)
        if not out.pauses.holds(key):
            out.unsent.setdefault(key, deque()).append(given)
        self._is_due(feed.site)

    # --- gateways ---------------------------------------------------------------------------------------

    def _on_exits_changed(self, fact: ExitsChanged) -> None:
        if (out := self._outbound.get(fact.site)) is not None:
            self._marking.sees(fact.site, self._notes.of(fact.site).values())
            self._requeue_in_flight(out, fact.lost)

    def _requeue_in_flight(self, out: Outbound, lost: Collection[bytes]) -> None:
        """Resend the unanswered messages of streams that used the gateways in `lost`, unless deferred."""
        self._is_due(out.feed.site)
        in_flight = out.feed.in_flight
        for key in in_flight.streams.streams_by(lambda way: way in lost):
            in_flight.streams.assign_route(key, None)
            if not out.pauses.holds(key):
                out.unsent[key] = deque(in_flight.unanswered(key))

    def _is_due(self, site: str) -> None:
        self._due[site] = None
        self._context.out.ending[self._send_due] = None

    def _send_due(self) -> None:
        due, self._due = self._due, {}
        for site in due:
            if site in self._outbound and not self._is_paused(site):
                self._send_unsent(self._outbound[site])

    def _send_unsent(self, out: Outbound) -> None:
        if not out.unsent or not self._notes.of(out.feed.site):
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
                self._ship(out.feed.site, uuid, envelopes)
        self._expire(out, void)

    def _gateway_of(self, out: Outbound, key: bytes) -> bytes:
        flight = out.feed.in_flight.streams
        way = flight.route_of(key)
        if way is None:
            way = self._notes.choose(out.feed.site, key[:STREAM])
            assert way is not None  # checked by the caller
            flight.assign_route(key, way)
        return way

    def _as_it_leaves(self, out: Outbound, given: PartlySent) -> Iterator[Envelope]:
        low = out.feed.in_flight.low(given.envelope, given.envelope.low)
        for run in in_runs(given.envelope):
            if given.left.overlaps(run.first, run.last):
                yield leaving(run, self._context.settings.site.name, low)

    def _ship(self, site: str, uuid: bytes, envelopes: Iterable[Envelope]) -> None:
        peer, out = self._neighbours.peers.get(uuid), self._outbound[site]
        if uuid == self._context.me.uuid:
            self._transit.forward(uuid, site, list(envelopes), out.untold)
        elif peer is not None and peer.data is not None:
            say_relay(self._context, peer.data, site, envelopes, out.untold)
        else:
            return
        out.untold = 0

    # --- answers ----------------------------------------------------------------------------------------

    def _on_outcomes(self, site: str, outcomes: Sequence[Outcome]) -> None:
        if (out := self._outbound.get(site)) is not None:
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
            self._write_position(feed)

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

    def tick(self) -> None:
        """Resend deferred streams whose pause is over."""
        for site, out in self._outbound.items():
            for key in out.pauses.begin_due(self._context.clock.now):
                out.unsent[key] = deque(out.feed.in_flight.unanswered(key))
                self._is_due(site)
            self._context.clock.wake(out.pauses.deadline())

    def _write_position(self, feed: SiteFeed) -> None:
        self._disk.later("position", feed.key, position_key(feed, feed.position))
        self._marking.passed(feed.site, feed.passed_over.take_settled(feed.position))
