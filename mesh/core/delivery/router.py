"""The router: accepts messages as their master, relays those of other masters, and finds subscribers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import dropwhile

from mesh.core.context.component import PUBLISHED, Beginning, Component, Restores
from mesh.core.context.disks import Disks
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.node_context import NodeContext
from mesh.core.delivery.busytopics import BusyTopics
from mesh.core.delivery.cache import Cache
from mesh.core.delivery.durable_bindings import NOT_FOR_THEM, Answered, DurableBindings
from mesh.core.delivery.facts import EnvelopeAccepted
from mesh.core.delivery.joining import Joining
from mesh.core.delivery.reasons import of_message, of_topic
from mesh.core.peers.facts import LoggedIn, PeerJoined
from mesh.errors import LocalError, MeshError, NoQueue, PublishRefused, StoreFull, TailBackFull
from mesh.hops import leg_of
from mesh.mapping.keyxml import check_xml
from mesh.names import CLIENT, OTHERS, QUEUE, kind_of
from mesh.patterns import SYSTEM
from mesh.reasons.what import MESSAGE, TOPIC, What
from mesh.reserved import reserved
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.log import Accepted, Log, StreamLog
from mesh.routing.merging import Merging
from mesh.routing.pacing import ItemsOf, Pacing
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.restored_debts import RestoredDebts
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.routing.sink import AddressResolver, Sink, Targets
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.streams.multi_path_stream import LegsFull, MultiPathStream
from mesh.streams.ranges import Ranges
from mesh.values import check_domain, check_key
from mesh.wire.commands import Answer
from mesh.wire.envelope import ERASED, FIRST, INITIAL, LOCAL_ONLY, MARKS, RESENT, SECOND, Envelope
from mesh.wire.properties import check_properties
from mesh.wire.replies import Reason

ASKED = 7  # further sources answered after a commit
HOLD_CHECK = 0.05  # s between checks of held answers
STREAM_KEPT = 24 * 3600.0  # s that an idle stream is remembered
CHECKED = 100_000  # keys remembered as well-formed


class Router(Component):
    """Component with the log of this node, and the subscriptions of clients and peers.

    `boot_of(master)` returns the boot of a node, 0 if unknown.
    """

    def __init__(
        self,
        desk: NodeContext,
        log: Log,
        disks: Disks,
        boot_of: Callable[[bytes], int],
        keeps_cache: bool,
        merging: Merging,
    ) -> None:
        self.clients = SubscriptionIndex[Feed]()
        self.peers = SubscriptionIndex[PeerFeed]()  # peers' queries for this node's own log
        self.relays = SubscriptionIndex[PeerFeed]()  # peers' queries relayed to other masters
        self.groups = SubscriptionIndex[Sink]()  # one member of a group gets each message
        self.has_groups = False  # whether there are groups
        self._merging = merging
        self.bindings = DurableBindings(desk)  # of durable subscriptions
        self.log = log
        self.shelf = log.shelf
        self._disk, self._disks = disks.own, disks
        self.cache = Cache(desk.settings.topics_bytes)
        self._keeps_cache = keeps_cache
        self._boot_of = boot_of
        self.pacing = Pacing()
        self.busy = BusyTopics()
        self._desk = desk
        self._checked: set[str] = set()
        self.joining = Joining()
        self._owing = RestoredDebts(self._wanting, lambda to: self._addressees(to).taker(to))

    def start(self, beginning: Beginning) -> None:
        values = beginning.rows("retained").values()
        position = beginning.image.next_position
        self.log.restore(beginning.rows("stream"), values, position, self._desk.clock.now)
        for store in beginning.others:
            self.log.restore_streams(beginning.rows("stream", store), self._desk.clock.now)
        self._desk.clock.stamped(self.log.newest)

    def envelope_restorers(self) -> Mapping[str, Restores]:
        return dict.fromkeys((PUBLISHED, CLIENT), self._restore)

    def on_restored(self) -> None:
        self._owing.clear_cache()

    def on_second(self) -> None:
        self.log.forget_idle(self._desk.clock.now - STREAM_KEPT)

    def flush(self) -> None:
        if self.pacing:
            self.pacing.release(self._desk.clock.now)
            if self.pacing:
                self._desk.clock.wake(self._desk.clock.now + HOLD_CHECK)
        outlets = self._desk.out.outlets
        while outlets:
            outlet, _ = outlets.popitem()
            outlet.flush(self._desk.out.raw)

    def fact_handlers(self) -> Sequence[Hearing]:
        # A restarted master may have lost values that were in memory, and messages may have been missed while
        # a link was down.
        return (
            on_fact(PeerJoined, lambda _: self.cache.empty()),
            on_fact(LoggedIn, lambda _: self.cache.empty()),
        )

    def ruled(self, is_plain: bool) -> None:
        """Discard the cache, as new rules may change masters."""
        self._keeps_cache = not is_plain
        self.cache.empty()

    def figures(self) -> dict[str, int | float]:
        return {
            "topics": len(self.log.retained),
            "topics_evicted": self.log.retained.evicted,
            "cached_topics": len(self.cache.values),
        }

    def holds(self) -> int:
        return self.log.retained.bytes

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == TOPIC:
            yield from of_topic(self, what.text, what.domain, self._desk)
        elif what.kind == MESSAGE:
            yield from of_message(self, *what.message, self._desk)

    def goes_abroad(self, key: str, domain: str) -> Sequence[str]:
        return [name for sinks in self._desk.face.message_sinks for name in sinks.names(key, domain)]

    def publish(
        self, source: Hashable, envelope: Envelope, answered: Answered, stamp: int = 0, holder: object = None
    ) -> None:
        """Accept an envelope as its master and deliver it, or refuse it; answer at once or when it is stored.

        `answered` may be called several times, for parts of the envelope. `stamp` is the time that several
        masters share. `holder` becomes the `held_by` of the stored envelope.
        """
        lane = self.log.lane(envelope.stream, envelope.domain, self._desk.clock.now)
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
                fresh = lane.origin.accept(envelope.first, envelope.last, envelope.low)
        except LocalError as error:
            self._desk.counters.count("refused", envelope.count)
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
        leg, now = leg_of(envelope.route, bool(envelope.to)), self._desk.clock.now
        try:
            return lane.origin.accept_by(leg, envelope.first, envelope.last, envelope.low, now)
        except LegsFull as error:
            raise TailBackFull(
                f"The outbound buffer of {self._desk.me.name} is full for now: {error}."
            ) from error

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
            self.log.write(lane, envelope)
        for first, last in again:
            part = envelope.part(first, last).mastered(self._desk.clock.stamp(), self._desk.hop(0))
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
        desk = self._desk
        stamped = envelope.mastered(stamp or desk.clock.stamp(), desk.hop(0))
        try:
            pieces, matched = self._pieces(envelope, stamped)
        except (LocalError, StoreFull) as error:
            lane.origin.refuse(envelope.first, envelope.last)  # numbers between may be accepted
            desk.counters.count("refused", envelope.count)
            answered(refusal(envelope, error))
            return
        desk.counters.count("published", envelope.count)
        accepted, ops = self.log.accept(lane, pieces, matched, desk.me.uuid)
        if holder is not None:
            accepted.deliveries[0][0].held_by = holder
        if desk.facts.watched:
            desk.facts.publish(EnvelopeAccepted(pieces))
        if envelope.to:
            _come(accepted, +1)
        else:
            self.busy.count_messages(envelope)
            if len(pieces) > 1:
                _come(accepted, +1)
        if ops:
            disk = self._disk if lane.shelf is self.shelf else self._disks[lane.shelf.store]
            disk.commit(ops, lambda error: self._landed(lane, accepted, source, answered, error))
        if not lane.waiting:
            self._deliver(accepted, source, answered)
        elif accepted.stored:
            accepted.when_first = lambda: self._deliver(accepted, source, answered)

    def _pieces(self, came: Envelope, envelope: Envelope) -> tuple[list[tuple[Envelope, Targets]], int]:
        """Return an envelope and its copies for queues, each with its targets, and the number of receivers.

        `came` has the original marks. Raises: LocalError or StoreFull if a receiver refuses the envelope.
        """
        if envelope.to:
            return self._addressees(envelope.to).addressed(envelope)
        targets: Targets = list(self.clients.plan(envelope))
        if envelope.sender.startswith(OTHERS):
            targets = self._unmerged(envelope, targets)
        if not envelope.flags & LOCAL_ONLY:
            targets += self.peers.plan(envelope)
            for sinks in self._desk.face.message_sinks:
                targets += sinks.plan(envelope)
        if self.has_groups and not came.flags & SECOND:
            targets += self.groups.plan(envelope)
        if self.bindings.any and not came.flags & NOT_FOR_THEM:
            # The node that chose a FIRST master before is lost, and may have chosen another one.
            may_be_second = came.flags & MARKS == FIRST and came.flags & RESENT > 0
            copies = self.bindings.copies(envelope, may_be_second)
            return [(envelope, targets), *copies], len(targets) + len(copies)
        return [(envelope, targets)], len(targets)

    def _unmerged(self, envelope: Envelope, targets: Targets) -> Targets:
        """Remove messages of another site that another gateway of this site has already forwarded here."""
        news = self._merging.news(envelope)
        if news is None:
            return targets
        kept = [(taker, news if each is None else tuple(set(each) & set(news))) for taker, each in targets]
        return [(taker, tuple(sorted(each))) for taker, each in kept if each]

    def _addressees(self, to: str) -> AddressResolver:
        """Return the component that delivers to this destination. Raises: NoQueue if there are no queues."""
        if kind_of(to) != QUEUE:
            return self._desk.face.address_resolvers[CLIENT]
        if (found := self._desk.face.address_resolvers.get(QUEUE)) is None:
            raise NoQueue(f"The queue {to} is not at {self._desk.me.name}, which has no queues.")
        return found

    def _landed(
        self,
        lane: StreamLog,
        accepted: Accepted,
        source: Hashable,
        answered: Answered,
        error: MeshError | None,
    ) -> None:
        """Deliver an envelope after its commit, or refuse it if the commit failed."""
        if error is None:
            lane.refusals_before(accepted)
            self._passes(lane, accepted, lambda: self._deliver(accepted, source, answered))
            return
        answer = refusal(accepted.envelope, error)
        self.log.refuse(lane, accepted)
        if isinstance(lane.origin, MultiPathStream):  # the keeping node resends it
            self._put_off(lane.origin, accepted)
        if len(accepted.deliveries) > 1 or accepted.envelope.to:
            _come(accepted, -1)
        self._desk.counters.count("refused", accepted.envelope.count)
        accepted.is_refused, accepted.when_first = True, lambda: _all_of(accepted, answered)(answer)
        if isinstance(error, StoreFull):
            # The refusal is stored first: lost in a crash, it would allow acceptance behind later messages.
            disk = self._disks[lane.shelf.store]
            disk.commit((), lambda _: self._passes(lane, accepted, accepted.when_first))
        else:  # the store has failed
            self._passes(lane, accepted, accepted.when_first)

    def _put_off(self, origin: MultiPathStream, accepted: Accepted) -> None:
        """Defer the messages of a failed commit, so that their site sends them again."""
        e = accepted.envelope
        if e.to:  # a refused direct message is not resent
            return
        origin.defer_leg(leg_of(e.route), e.first, self._desk.clock.now)
        for parcel, targets in accepted.deliveries:
            for taker, indices in targets:
                if not taker.owner:
                    self._merging.forget_messages(parcel.envelope, indices)

    def _passes(self, lane: StreamLog, accepted: Accepted, when_first: Callable[[], None]) -> None:
        """Handle the outcome of an envelope, and of stored ones behind it, in the publisher's order."""
        accepted.stored, accepted.when_first = True, when_first
        while lane.waiting and lane.waiting[0].stored:
            lane.waiting.popleft().when_first()

    def relay(self, parcel: StoredEnvelope) -> None:
        """Deliver a peer's item to local subscribers, and to peers that receive it through this node."""
        envelope = parcel.envelope
        targets: Targets = list(self.clients.plan(envelope))
        if parcel.position:
            # A message resent after our restart is too old for a subscription that came later.
            targets = [(f, i) for f, i in targets if f.floors.get(parcel.master, 0) < parcel.position]
        if self._keeps_cache and self._is_void(parcel):
            self.cache.empty()
        elif self._keeps_cache:
            self.cache.store_value(envelope)
        # Only hops since the master, at stratum 0: a node before it may have subscribers too.
        visited = {hop.node for hop in dropwhile(lambda hop: hop.stratum > 0, envelope.route)}
        targets += [
            (feed, indices)
            for feed, indices in self.relays.plan(envelope)
            if feed.owner not in visited and feed.is_due(parcel)
        ]
        parcel.owed = len(targets) if parcel.position else 0
        self._desk.counters.count("relayed", envelope.count)
        self._offer([(parcel, targets)], ItemsOf(parcel.source), lambda: None)

    def _is_void(self, parcel: StoredEnvelope) -> bool:
        """Return whether an item comes from an earlier process of its master that did not store it.

        Only the master knows the latest value then.
        """
        return not parcel.position and 0 < parcel.boot < self._boot_of(parcel.master)

    def deliver_local(self, envelope: Envelope) -> None:
        """Retain a system message of this node, and deliver it to local clients, without counting it."""
        stamped = self.retain(envelope)
        targets: Targets = list(self.clients.plan(stamped))
        self._offer(
            [(StoredEnvelope(stamped, master=self._desk.me.uuid, own=True), targets)], b"", lambda: None
        )

    def retain(self, envelope: Envelope) -> Envelope:
        """Retain a system message for later readers, and return it with its timestamp."""
        stamped = envelope.mastered(self._desk.clock.stamp(), self._desk.hop(0))
        self.log.retained.retain_last(stamped)
        return stamped

    def _restore(self, position: int, envelope: Envelope) -> None:
        parcel = StoredEnvelope(envelope, position, self._desk.me.uuid, own=True)
        owed = self._owing.sinks_of(parcel)
        self.shelf.restore(parcel, owed)
        for taker, indices in owed:
            taker.offer(EnvelopeSlice(parcel, indices), self._desk.clock.now)

    def _wanting(self, key: str, domain: str, xml: str, is_local: bool) -> Iterator[Sink]:
        """Yield the sinks that may be owed messages from before the start, which groups never are."""
        yield from self.clients.match(key, domain, xml)
        if not is_local:
            yield from self.peers.match(key, domain, xml)
            for sinks in self._desk.face.message_sinks:
                yield from sinks.match(key, domain)

    def _check(self, envelope: Envelope) -> None:
        check_domain(envelope.domain)
        if envelope.props:  # not decoded elsewhere before it is stored
            check_properties(envelope)
        if envelope.xml:
            check_xml(envelope.xml)
        if self._checked.issuperset(envelope.keys):
            return
        for key in envelope.keys:
            if key or not envelope.to:
                check_key(key)
            # Local clients were refused before.
            if key.startswith(SYSTEM) and not envelope.to:
                self._check_own(key, envelope)
                return
        if envelope.to:  # only a direct message may have no key
            return
        if len(self._checked) >= CHECKED:
            self._checked.clear()
        self._checked.update(envelope.keys)

    def _check_own(self, key: str, envelope: Envelope) -> None:
        """Check that a system message is this node's own, or reports an erased topic."""
        is_own = envelope.sender == f"/node/{self._desk.me.name}/client/{SYSTEM}"
        if not (is_own and len(envelope.keys) == 1) and not envelope.flags & ERASED:
            raise reserved(key)

    def _refused_before(self, envelope: Envelope) -> Answer:
        error = PublishRefused(
            f"{self._desk.me.name} refused the message when it first arrived; the refusal is final.",
            hint="Publish it as a new message.",
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
                # It may have come by another route, which needs the answer as well.
                waiting.also = [*(waiting.also or ())[-ASKED:], answered]
        for first, last in open_numbers.missing(envelope.first, envelope.last):
            self._desk.counters.count("repeated", last - first + 1)
            answered(Answer(envelope.domain, first, last))

    def _deliver(self, accepted: Accepted, source: Hashable, answered: Answered) -> None:
        if self.log.passes(accepted):
            answered = self._when_written(answered)
        if len(accepted.deliveries) > 1 or accepted.envelope.to:
            _come(accepted, -1)
        if not any(targets for _, targets in accepted.deliveries):
            self._desk.counters.count("unrouted", accepted.envelope.count)
        if accepted.also is not None:
            answered = _all_of(accepted, answered)
        self._offer(accepted.deliveries, source, lambda: answered(accepted.answer))

    def _when_written(self, answered: Answered) -> Answered:
        """Return a handler that answers after the next commit, which stores this message's records."""
        return lambda answer: self._disk.commit((), lambda error: answered(answer))

    def _offer(
        self, deliveries: list[tuple[StoredEnvelope, Targets]], source: Hashable, done: Callable[[], None]
    ) -> None:
        waiting: list[tuple[Sink, EnvelopeSlice]] = []
        for parcel, targets in deliveries:
            if self.joining:
                self.joining.note(parcel.envelope, targets)
            for taker, indices in targets:
                portion = EnvelopeSlice(parcel, indices)
                taker.offer(portion, self._desk.clock.now)
                if portion.waiting and taker.paces:
                    waiting.append((taker, portion))
        self.pacing.release_after(source, waiting, done)


def _come(accepted: Accepted, sign: int) -> None:
    """Count an accepted envelope at its sinks while it is being written: `sign` is +1, later -1.

    A burst would otherwise exceed the limits of the sinks before it is on disk.
    """
    for parcel, targets in accepted.deliveries:
        for taker, _ in targets:
            taker.expect(parcel, sign)


def _all_of(accepted: Accepted, answered: Answered) -> Answered:
    """Return a handler that answers all sources that asked."""

    def tell(answer: Answer) -> None:
        for each in (answered, *(accepted.also or ())):
            each(answer)

    return tell


def refusal(envelope: Envelope, error: MeshError) -> Answer:
    return Answer(envelope.domain, envelope.first, envelope.last, state=error.code, text=str(error))
