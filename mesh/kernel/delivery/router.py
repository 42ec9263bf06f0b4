"""The router: accepts messages for which this node is the master, and delivers them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from mesh.errors import LocalError, PublishRefused, StoreFull, TailBackFull
from mesh.hops import leg_of
from mesh.kernel.context.component import PUBLISHED, Beginning, Component, Restores
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.busytopics import BusyTopics
from mesh.kernel.delivery.deliveries import Deliveries, expect
from mesh.kernel.delivery.durable_bindings import Answered
from mesh.kernel.delivery.envelope_check import EnvelopeCheck
from mesh.kernel.delivery.facts import EnvelopeAccepted
from mesh.kernel.delivery.item_relay import ItemRelay
from mesh.kernel.delivery.reasons import of_message, of_topic
from mesh.kernel.delivery.receivers import Receivers
from mesh.kernel.peers.facts import LoggedIn, PeerJoined
from mesh.names import CLIENT, OTHERS
from mesh.reasons.what import MESSAGE, TOPIC, What
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.log import Log
from mesh.routing.merging import Merging
from mesh.routing.restored_debts import RestoredDebts
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.routing.sink import Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import StreamLog
from mesh.routing.verdict import refusal
from mesh.streams.multi_path_stream import LegsFull, MultiPathStream
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import INITIAL, MARKS, SECOND, Envelope
from mesh.wire.replies import Reason

ASKED = 7  # further sources answered after a commit
HOLD_CHECK = 0.05  # s between checks of held answers
STREAM_KEPT = 24 * 3600.0  # s that an idle stream is remembered


class Router(Component):
    """Component with the log of this node, and the subscriptions of clients and peers.

    `boot_of(master)` returns the boot of a node, 0 if unknown. `cache_ttls_of` is `ttls_of` of the cache.
    """

    def __init__(
        self,
        context: NodeContext,
        log: Log,
        disks: Disks,
        boot_of: Callable[[bytes], int],
        keeps_cache: bool,
        merging: Merging,
        cache_ttls_of: Callable[[Envelope], Mapping[str, float]] = lambda envelope: {},
    ) -> None:
        receivers = self.receivers = Receivers(context, merging)
        self.clients, self.peers, self.groups = receivers.clients, receivers.peers, receivers.groups
        self.bindings, self.goes_abroad = receivers.bindings, receivers.sites_for
        self.log, self.shelf, self.had = log, log.shelf, merging.had
        self._disk, self._disks = disks.own, disks
        deliveries = Deliveries(context, log, disks, merging)
        self.pacing, self.joining = deliveries.pacing, deliveries.joining
        self._deliver, self._offer = deliveries.deliver, deliveries.offer_all
        self.on_committed = deliveries.on_committed
        self.items = ItemRelay(context, self.clients, deliveries, boot_of, keeps_cache, cache_ttls_of)
        self.relays, self.cache, self.ruled = self.items.peers, self.items.cache, self.items.ruled
        self.relay = self.items.relay
        self.busy = BusyTopics()
        self._context = context
        self._check = EnvelopeCheck(context.me.name).check_envelope
        self._pieces = receivers.pieces
        self._owing = RestoredDebts(receivers.wanting, lambda to: receivers.addressees(to).taker(to))

    def start(self, beginning: Beginning) -> None:
        rows, position, now = beginning.rows, beginning.image.next_position, self._context.clock.now
        self.log.restore_log(rows("stream"), rows("retained").values(), position, now, rows("kept"))
        for store in beginning.others:
            self.log.restore_streams(rows("stream", store), now)
        self._context.clock.stamped(self.log.newest)

    def envelope_restorers(self) -> Mapping[str, Restores]:
        return dict.fromkeys((PUBLISHED, CLIENT), self._restore)

    def on_restored(self) -> None:
        self._owing.clear_cache()

    def on_second(self) -> None:
        self.log.forget_idle(self._context.clock.now - STREAM_KEPT)
        self.cache.expire(self._context.clock.now)

    def flush(self) -> None:
        if self.pacing:
            self.pacing.run_due(self._context.clock.now)
            if self.pacing:
                self._context.clock.wake(self._context.clock.now + HOLD_CHECK)
        outlets = self._context.out.outlets
        while outlets:
            outlet, _ = outlets.popitem()
            outlet.flush(self._context.out.raw)

    def fact_handlers(self) -> Sequence[Hearing]:
        # A restarted master may have lost values that were in memory, and messages may have been missed while
        # a link was down.
        return (
            on_fact(PeerJoined, lambda _: self.cache.empty()),
            on_fact(LoggedIn, lambda _: self.cache.empty()),
        )

    def figures(self) -> dict[str, int | float]:
        return {
            "topics": len(self.log.retained),
            "topics_evicted": self.log.retained.evicted,
            **self.log.histories.figures,
            "cached_topics": len(self.cache.values),
        }

    def holds(self) -> int:
        return self.log.retained.bytes + self.log.histories.bytes

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == TOPIC:
            yield from of_topic(self, what.text, what.domain, self._context)
        elif what.kind == MESSAGE:
            yield from of_message(self, *what.message, self._context)

    def publish_here(
        self, source: Hashable, envelope: Envelope, answered: Answered, stamp: int = 0, holder: object = None
    ) -> None:
        """Accept an envelope as its master and deliver it, or refuse it; answer now or when it is stored.

        `answered` may be called several times, for parts of the envelope. `stamp` is the timestamp that all
        masters share; 0 means a new one. `holder` becomes the `held_by` of the stored envelope.
        """
        lane = self.log.lane(envelope.stream, envelope.domain, self._context.clock.now)
        if lane.origin.refused:
            for first, last in lane.origin.refused.common(envelope.first, envelope.last):
                answered(self._refused_before(envelope.part(first, last)))
            for first, last in lane.origin.refused.missing(envelope.first, envelope.last):
                self._accept_envelope(lane, envelope.part(first, last), source, answered, stamp, holder)
        else:
            self._accept_envelope(lane, envelope, source, answered, stamp, holder)

    def _accept_envelope(
        self,
        lane: StreamLog,
        envelope: Envelope,
        source: Hashable,
        answered: Answered,
        stamp: int,
        holder: object,
    ) -> None:
        try:
            self._check(envelope)
            if envelope.sender.startswith(OTHERS):
                fresh = self._from_site(lane, envelope)
            else:
                fresh = lane.origin.accept_numbers(envelope.first, envelope.last, envelope.low)
        except LocalError as error:
            self._context.counters.add_count("refused", envelope.count)
            answered(refusal(envelope, error))
            return
        if self.bindings.any and envelope.flags & MARKS:
            answered = self._marked(lane, envelope, fresh, answered)
        if fresh != [(envelope.first, envelope.last)]:
            self._repeated(lane, envelope, fresh, answered)
        for first, last in fresh:
            part = envelope.part(first, last)
            if part.flags & INITIAL and part.sender.startswith(OTHERS) and self._is_behind(part):
                answered(Answer(part.domain, first, last))
            else:
                self._accept(lane, part, source, answered, stamp, holder)

    def _is_behind(self, envelope: Envelope) -> bool:
        """Return whether none of a site's transferred values is newer than the values here."""
        values = last_values(envelope)
        stand = [self.log.stands_against(value) for value in values]
        for value, stands in zip(values, stand, strict=True):
            if isinstance(stands, RetainedValue) and self.log.retained.watcher is not None:
                self.log.retained.watcher.on_outdone(value, stands)
        return all(stand)

    def _from_site(self, lane: StreamLog, envelope: Envelope) -> list[tuple[int, int]]:
        """Return the new ranges of an envelope that several masters of another site may have relayed.

        Raises: TailBackFull.
        """
        if not isinstance(lane.origin, MultiPathStream):
            lane.origin = MultiPathStream.unpack(lane.origin.pack())
        leg, now = leg_of(envelope.route, bool(envelope.to)), self._context.clock.now
        try:
            return lane.origin.accept_by(leg, envelope.first, envelope.last, envelope.low, now)
        except LegsFull as error:
            raise TailBackFull(f"{self._context.me.name} cannot accept the message yet: {error}.") from error

    def _marked(
        self, lane: StreamLog, envelope: Envelope, fresh: list[tuple[int, int]], answered: Answered
    ) -> Answered:
        """Handle the marks FIRST and SECOND, and return the handler of answers.

        Messages that this node accepted as SECOND, without copies for durable subscriptions, may come again
        as FIRST if their first master is lost. The queues then get copies, and the answers wait for the disk.
        """
        if envelope.flags & SECOND:
            lane.origin.mark_second(fresh)
            return answered
        again = lane.origin.take_second(envelope.first, envelope.last)
        if again:
            self.log.write_stream(lane, envelope)
        for first, last in again:
            part = envelope.part(first, last).mastered(self._context.clock.stamp(), self._context.hop(0))
            answered = self.bindings.redeliver(part, answered)
        return answered

    def _accept(
        self,
        lane: StreamLog,
        envelope: Envelope,
        source: Hashable,
        answered: Answered,
        stamp: int,
        holder: object,
    ) -> None:
        context, now = self._context, self._context.clock.stamp()
        stamped = envelope.mastered(stamp or lane.stamp_numbers(envelope, now), context.hop(0))
        try:
            pieces, matched = self._pieces(envelope, stamped)
        except (LocalError, StoreFull) as error:
            lane.origin.refuse_numbers(envelope.first, envelope.last)  # numbers between may be accepted
            context.counters.add_count("refused", envelope.count)
            answered(refusal(envelope, error))
            return
        context.counters.add_count("published", envelope.count)
        accepted, ops = self.log.accept_envelope(lane, pieces, matched, context.me.uuid)
        if holder is not None:
            accepted.deliveries[0][0].held_by = holder
        if context.facts.watched:
            context.facts.publish_fact(EnvelopeAccepted(pieces))
        if envelope.to:
            expect(accepted, +1)
        else:
            self.busy.count_messages(envelope)
            if len(pieces) > 1:
                expect(accepted, +1)
        if ops:
            disk = self._disk if lane.shelf is self.shelf else self._disks[lane.shelf.store]
            disk.commit(ops, lambda error: self.on_committed(lane, accepted, source, answered, error))
        if not lane.waiting:
            self._deliver(accepted, source, answered)
        elif accepted.stored:
            accepted.when_first = lambda: self._deliver(accepted, source, answered)

    def deliver_local(self, envelope: Envelope) -> None:
        """Retain a system message of this node, and deliver it to local clients, without counting it."""
        stamped = self.retain(envelope)
        targets: Targets = list(self.clients.plan(stamped))
        self._offer(
            [(StoredEnvelope(stamped, master=self._context.me.uuid, own=True), targets)], b"", lambda: None
        )

    def retain(self, envelope: Envelope) -> Envelope:
        """Retain a system message for later readers, and return it with its timestamp."""
        stamped = envelope.mastered(self._context.clock.stamp(), self._context.hop(0))
        self.log.retained.retain_last(stamped)
        return stamped

    def _restore(self, position: int, envelope: Envelope) -> None:
        stored = StoredEnvelope(envelope, position, self._context.me.uuid, own=True)
        owed = self._owing.sinks_of(stored)
        self.shelf.restore_envelope(stored, owed)
        for taker, indices in owed:
            taker.offer(EnvelopeSlice(stored, indices), self._context.clock.now)

    def _refused_before(self, envelope: Envelope) -> Answer:
        error = PublishRefused(
            f"{self._context.me.name} refused the message when it first arrived; the refusal is final.",
            hint="Send it as a new message.",
            code="REFUSED" if envelope.to else StoreFull.code,  # a direct message: no receiver, or no room
        )
        return refusal(envelope, error)

    def _repeated(
        self, lane: StreamLog, envelope: Envelope, fresh: list[tuple[int, int]], answered: Answered
    ) -> None:
        """Answer repeated messages now, or after their commit if it is pending."""
        open_numbers = Ranges()
        for first, last in fresh:
            open_numbers.add(first, last)
        for waiting in lane.waiting:
            first, last = waiting.answer.first, waiting.answer.last
            open_numbers.add(first, last)
            if first <= envelope.last and last >= envelope.first:
                # The repeat may have come by another route, which needs the answer as well.
                waiting.also = [*(waiting.also or ())[-ASKED:], answered]
        for first, last in open_numbers.missing(envelope.first, envelope.last):
            self._context.counters.add_count("repeated", last - first + 1)
            answered(Answer(envelope.domain, first, last))
