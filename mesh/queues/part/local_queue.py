"""The part of a queue at one node: its messages, its consumers, and the outcome of each delivery."""

# Law 1: a message is delivered to one consumer at a time. The next one receives it as redelivered.
# Law 2: messages of one producer are delivered in its order, except redeliveries and other priorities.
# Law 3: messages of one group are with one consumer at a time.
# Law 4: a settled message is never delivered again.
# Law 5: messages = ready + out + delayed + doubtful + going + dead, at every moment.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct

from mesh.queues.consumers.groups import MessageGroups
from mesh.queues.consumers.leased_deliveries import LeasedRun
from mesh.queues.consumers.queue_consumer import QueueConsumer
from mesh.queues.declared.definition import QueueTerms
from mesh.queues.lots.counts import Runs, count, first_of, joined, numbers_of, slice_of, without
from mesh.queues.lots.disk_index import DiskIndex, Wish
from mesh.queues.lots.expiring import Expiring
from mesh.queues.lots.queued_envelope import LotKey, QueuedEnvelope
from mesh.queues.lots.ready_index import FIRST, ReadyIndex
from mesh.queues.part.delayed_messages import DelayedMessages
from mesh.queues.part.queue_observer import QueueObserver
from mesh.queues.part.unclaimed_deliveries import UnclaimedDeliveries
from mesh.routing.memory import Memory
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import PRIORITY

AHEAD = 1024  # envelopes per priority in memory before a disk read
EXPIRED, REJECTED, TRIED = "EXPIRED", "REJECTED", "TOO_MANY_ATTEMPTS"  # why a message is dead
Pledge = tuple[bytes, int]
NOWHERE: Mapping[int, LotKey] = {}
HeldNumbers = Sequence[tuple[bytes, Sequence[int]]]  # by stream: first, last, ... of held messages


class DeadMessages(Struct):
    """Messages of one envelope that are no longer delivered, with the reason.

    They count as done when the dead letter is stored.
    """

    lot: QueuedEnvelope
    runs: Runs
    code: str
    text: str


class LocalQueue:
    """The part of a queue at this node.

    The owner writes the rows of the envelopes in `changed` and dead-letters the messages in `dead`.
    """

    def __init__(self, name: str, terms: QueueTerms, memory: Memory | None = None) -> None:
        self.name = name
        self.terms = terms
        self.takers: dict[bytes, QueueConsumer] = {}
        self.groups = MessageGroups()
        self.messages = self.bytes = self.out = self.dying = self.going = 0
        self.acked = self.redelivered = self.died = 0  # since the start
        self.changed: dict[QueuedEnvelope, None] = {}
        self.dead: list[DeadMessages] = []
        self.lines: dict[int, ReadyIndex] = {}  # by priority
        self.later = DelayedMessages(self.groups)
        self.on_disk = DiskIndex()
        self._memory = memory or Memory(inf)
        # Envelopes read for a selector, although envelopes before them may still be on disk: see
        # searching.py.
        self.picked: dict[QueuedEnvelope, None] = {}
        self.returning: dict[QueuedEnvelope, None] = {}  # picked envelopes that may return to disk
        self.leaving: dict[QueuedEnvelope, None] = {}  # envelopes with messages in transit to another node
        # Moves that another node keeps until this node is done with the envelope, by (node, number of the
        # move). `redeemed` lists the moves whose envelopes are done.
        self.pledged: dict[QueuedEnvelope, Pledge] = {}
        self.redeemed: list[Pledge] = []
        self.is_searching = False  # whether a disk read for selectors is pending
        self.seeks = False  # whether a selector has searched all of memory
        self.looks_at = inf  # when the next deferred search is due
        self.watch: QueueObserver | None = None
        self._doubtful: UnclaimedDeliveries | None = None
        self._expiring = Expiring()

    @property
    def ready(self) -> int:
        """The number of ready messages, in memory or on disk."""
        return self.messages - self.away - self.later.messages - self.dying - self.going

    @property
    def away(self) -> int:
        """The number of messages that consumers have, or may still claim after a restart."""
        return self.out + (self._doubtful.messages if self._doubtful is not None else 0)

    def is_full_with(self, messages: int = 0, size: int = 0) -> bool:
        """Return whether the part is full, counting `messages` and `size` bytes that are in transit to it."""
        terms = self.terms
        return self.messages + messages >= terms.max_count or self.bytes + size >= terms.max_bytes

    @property
    def oldest(self) -> int:
        """The time in ns since 1970 when the oldest ready message was accepted, or 0 if none is ready."""
        firsts = [lot.envelope.sent for line in self.lines.values() if (lot := line.first()) is not None]
        return min([*firsts, *filter(None, [self.on_disk.oldest])], default=0)

    def stamp_ahead(self, priority: int, n: int) -> int:
        """Return the acceptance time of the envelope `n` places behind the first of a priority.

        Beyond the last envelope, that of the last one is returned; 0 if there is none.
        """
        line = self.line(priority)
        here = line.before(self.on_disk.first(priority))
        lot = line.ahead(min(n, here - 1)) if here else None
        last = self.on_disk.last(priority, n - here) if here <= n else 0
        return max(lot.key[0] if lot is not None else 0, last)

    def next(self, place: Mapping[int, LotKey] = NOWHERE) -> Iterator[QueuedEnvelope]:
        """Yield the envelopes with ready messages behind `place` in delivery order, by priority.

        Envelopes behind the first one on disk are left out.
        """
        for priority in sorted(self.lines, reverse=True):
            end = self.on_disk.first(priority)
            for lot in self.lines[priority].after(place.get(priority, FIRST)):
                if lot.key[0] >= end:
                    break
                yield lot

    # --- adding -----------------------------------------------------------------------------------------

    def add(self, lot: QueuedEnvelope, now: float, wall: int, is_doubtful: bool = False) -> None:
        """Add an envelope and keep it in memory.

        `is_doubtful` means that consumers may already have messages of the envelope and claim them.
        """
        if self.watch is not None:
            self.watch.adds(lot)
        self.messages += lot.left
        self.bytes += lot.size
        self._keep_in_memory(lot, now, wall, is_doubtful)

    def _keep_in_memory(self, lot: QueuedEnvelope, now: float, wall: int, is_doubtful: bool = False) -> None:
        """Keep an envelope in memory.

        The arrival time of a moved envelope that was read from disk is unknown, so the envelope counts as
        arrived now.
        """
        if self.watch is not None:
            self.watch.keeps(lot)
        if lot.moves and lot.came == -inf:
            lot.came = now
        self._memory.used += lot.cost
        self.groups.add(lot.group, lot.left)
        if lot.going:
            self.leaving[lot] = None
            self._goes(lot, sum(count(runs) for runs, _, _ in lot.going))
        self.later.delay_new(lot, now, wall, is_doubtful and self._doubtful is not None)
        self._expiring.add(lot, self.terms.expiry)
        runs = lot.at_hand()
        if is_doubtful and self._doubtful is not None:
            # After a clock change, messages that are delayed by the new clock may have been due by the old
            # one.
            lot.may_have_been_given([(first, last) for first, last, _, _ in lot.late])
            doubtful = lot.with_somebody(runs)
            self._doubtful.add(lot, doubtful)
            for first, last in doubtful:
                runs = without(runs, first, last)
        if lot.given is not None:
            self.picked[lot] = None
        self._back(lot, runs)

    # --- paging -----------------------------------------------------------------------------------------

    def may_page(self, lot: QueuedEnvelope) -> bool:
        """Return whether an envelope should wait on disk only, which excludes delayed and moving messages."""
        is_busy = bool(lot.late or lot.delay or lot.going)
        return not is_busy and (self.on_disk.has(lot.priority) or self._memory.has_no_room(lot.cost))

    def may_page_moved(self, lot: QueuedEnvelope) -> bool:
        """Return whether an envelope from another node should wait on disk only.

        The timestamp of a moved envelope does not match its position, so the envelope stays in memory while
        there is room. An envelope must not be reread while another node waits for its end.
        """
        return bool(lot.parcel.position) and lot not in self.pledged and self._memory.has_no_room(lot.cost)

    def page_plain(self, parcel: StoredEnvelope) -> bool:
        """Add a new envelope on disk only, behind its predecessors, and return whether that was possible."""
        e = parcel.envelope
        priority, delay, _ = e.put or (PRIORITY, 0, "")
        if delay or not self.on_disk.has(priority):
            return False
        if self.watch is not None:
            self.watch.pages_plain(parcel)
        self.messages += e.count
        self.bytes += parcel.size
        self.on_disk.add_parcel(parcel, priority, e.count, self.terms.expiry)
        return True

    def page(self, lot: QueuedEnvelope) -> None:
        """Add an envelope that waits on disk only."""
        if self.watch is not None:
            self.watch.pages(lot)
        self.messages += lot.left
        self.bytes += lot.size
        self.on_disk.add(lot, self.terms.expiry)

    def to_load(self) -> Wish | None:
        """Return the disk read that is due because its envelopes are next in delivery order, or `None`."""
        for priority in self.priorities():
            if self.on_disk.has(priority):
                here = self.line(priority).before(self.on_disk.first(priority))
                return self.on_disk.to_load(priority) if here < AHEAD else None
        return None

    def loaded(self, priority: int, lots: Iterable[QueuedEnvelope], now: float, wall: int) -> None:
        """Keep the envelopes of a finished disk read; finish them if they were purged meanwhile."""
        is_wanted = self.on_disk.loaded(priority)
        for lot in lots:
            self.remember(lot)
            self.on_disk.rows.pop(lot.parcel.position, None)
            self._keep_in_memory(lot, now, wall)
            if not is_wanted:
                runs = list(lot.ready)
                if self.watch is not None:
                    self.watch.voids(runs)
                lot.take_out(runs)
                self.done(lot, runs)

    def remember(self, lot: QueuedEnvelope) -> None:
        """Restore the stored state of an envelope that was read from disk."""
        row = self.on_disk.rows.get(lot.parcel.position)
        if row:
            lot.restore(row)

    def pick(self, lot: QueuedEnvelope, now: float, wall: int) -> bool:
        """Keep an envelope in memory ahead of its order, and return whether it was still on disk."""
        if not self.on_disk.take_out(lot.priority, lot.parcel.position):
            return False
        self.picked[lot] = None
        self._keep_in_memory(lot, now, wall)
        return True

    def put_back(self, lot: QueuedEnvelope) -> None:
        """Evict a picked envelope to disk, unless its turn has come.

        The caller ensures that all remaining messages of the envelope are ready.
        """
        del self.picked[lot]
        if lot.key[0] < self.on_disk.first(lot.priority):
            return
        if self.watch is not None:
            self.watch.puts_back(lot)
        self._memory.used -= lot.cost
        self.groups.done(lot.group, lot.left)
        self.on_disk.add(lot, self.terms.expiry, is_back=True)
        lot.evict()
        self.line(lot.priority).emptied()
        self._expiring.count_ended()

    # --- in memory --------------------------------------------------------------------------------------

    def _back(self, lot: QueuedEnvelope, runs: Runs) -> None:
        lot.add_ready(runs)
        if not lot.ready:
            return
        priority = lot.priority
        self.line(priority).add(lot)
        for taker in self.takers.values():
            taker.look_again(priority, lot.key)

    # --- consumers --------------------------------------------------------------------------------------

    def eligible(self) -> list[QueueConsumer]:
        """Return the consumers that may receive messages: only the first one if the queue is exclusive."""
        takers = list(self.takers.values())
        return takers[:1] if self.terms.exclusive else takers

    def open(self, taker: QueueConsumer, held: HeldNumbers = ()) -> list[int]:
        """Register a consumer, and return the delivery tags of `held` messages that it no longer has.

        The k-th message in `held` gets tag k, even if the consumer no longer has it. Messages of its former
        registration that are not in `held` are requeued after a failed attempt.
        """
        old = self.takers.pop(taker.key, None)
        mine: dict[tuple[bytes, int], list[QueuedEnvelope]] = {}
        for run in old.holding.take_all() if old is not None else ():
            self._returned(run)
            for number in numbers_of(run.runs):
                mine.setdefault((run.lot.envelope.stream, number), []).append(run.lot)
        self.takers[taker.key] = taker
        if old is not None:
            taker.acked = old.acked  # the consumer may claim these again
            if old.selector == taker.selector:
                taker.seen, taker.vain = old.seen, old.vain
            self.returning.update(self.picked)
        void = list(self._claimed(old, mine, held, taker))
        for (_, number), lots in mine.items():
            for lot in lots:
                self._failed(lot, [(number, number)])
        if old is not None:
            self._freed(old)
        if self._doubtful is not None:
            self._doubtful.expected.discard(taker.key)
        return void

    def _claimed(
        self,
        old: QueueConsumer | None,
        mine: dict[tuple[bytes, int], list[QueuedEnvelope]],
        held: HeldNumbers,
        taker: QueueConsumer,
    ) -> Iterator[int]:
        for stream, ends in held:
            for first, last in zip(ends[::2], ends[1::2], strict=True):
                for number in range(first, last + 1):
                    lots, lot = mine.get((stream, number)), None
                    if taker.busy < taker.credit:
                        lot = lots.pop() if lots else self._from_doubt(taker, stream, number)
                    if lot is None:
                        taker.holding.skip(1)
                        yield taker.holding.given
                        if self._was_acked(old, stream, number):
                            taker.settled.add(taker.holding.given)
                    else:
                        self.record_delivery(taker, lot, [(number, number)], inf)

    def _was_acked(self, old: QueueConsumer | None, stream: bytes, number: int) -> bool:
        """Return whether `old`, the former registration, acknowledged the message.

        After a restart this is unknown, and the consumer's claim is no proof.
        """
        return old is not None and any(s == stream and a <= number <= b for s, a, b in old.acked)

    def _from_doubt(self, taker: QueueConsumer, stream: bytes, number: int) -> QueuedEnvelope | None:
        """Claim an unclaimed message, which only a consumer from before the restart may do."""
        doubtful = self._doubtful
        if doubtful is None or taker.key not in doubtful.expected:
            return None
        return doubtful.claim(stream, number)

    def close(self, taker: QueueConsumer, begun: float = inf) -> None:
        """Remove a consumer and requeue its messages.

        Messages with tags after `begun` were not seen by the consumer and do not count as failed attempts.
        """
        del self.takers[taker.key]
        self.returning.update(self.picked)
        for run in taker.holding.take_all():
            self._returned(run)
            seen = int(max(0, min(run.n, begun - run.tag + 1)))
            if seen:
                self._failed(run.lot, first_of(run.runs, seen))
            if seen < run.n:
                self._back(run.lot, slice_of(run.runs, seen, run.n))
        self._freed(taker)

    def _freed(self, taker: QueueConsumer) -> None:
        if self.groups.leave(taker):
            self._look_again()

    def _look_again(self) -> None:
        for taker in self.takers.values():
            taker.passed.clear()

    def record_delivery(self, taker: QueueConsumer, lot: QueuedEnvelope, runs: Runs, until: float) -> None:
        """Record that a consumer has `runs`, which the caller has removed from the ready messages."""
        n = taker.holding.add_delivery(lot, runs, until)
        self.out += n
        self.groups.out(lot.group, taker, n)

    def _returned(self, run: LeasedRun) -> None:
        self.out -= run.n
        if run.lot.given is not None and run.lot.returned(run.runs):
            self.changed[run.lot] = None
        if self.groups.remove_outstanding(run.lot.group, run.n):
            self._look_again()

    # --- moving -----------------------------------------------------------------------------------------

    def start_transfer(self, lot: QueuedEnvelope, runs: Runs, node: bytes, number: int) -> int:
        """Mark ready messages as moving to `node` under `number`, and return their count."""
        if self.watch is not None:
            self.watch.goes(lot, runs, node)
        n = count(runs)
        lot.take_out(runs)
        lot.start_transfer(runs, node, number)
        self.leaving[lot] = None
        self._goes(lot, n)
        self.changed[lot] = None
        if not lot.ready:
            self.line(lot.priority).emptied()
        return n

    def finish_moved(self, lot: QueuedEnvelope, node: bytes, number: int) -> int:
        """Finish the messages that `node` has accepted under `number`, and return their count."""
        runs = self._no_more(lot, node, number)
        if self.watch is not None:
            self.watch.went(lot, runs, node)
        n = self.done(lot, runs)
        self._goes(lot, -n)
        return n

    def record_refused_transfer(self, lot: QueuedEnvelope, node: bytes, number: int, is_sure: bool) -> Runs:
        """Return the messages of a refused move; they become ready in `came_back`, after their row is stored.

        `is_sure` means that no consumer at `node` received them.
        """
        runs = self._no_more(lot, node, number)
        if self.watch is not None:
            self.watch.transfer_refused(lot, runs, node)
        if not is_sure:
            lot.may_have_been_given(runs)
        self.changed[lot] = None
        return runs

    def came_back(self, lot: QueuedEnvelope, runs: Runs) -> None:
        """Make the messages of a refused move ready, after their row is on disk."""
        if self.watch is not None:
            self.watch.came_back(lot, runs)
        self._goes(lot, -count(runs))
        self._back(lot, runs)

    def gave_up(self, lot: QueuedEnvelope, runs: Runs) -> None:
        """Finish the messages of a refused move that are no longer wanted, after their row is on disk."""
        if self.watch is not None:
            self.watch.gave_up(lot, runs)
        self._goes(lot, -count(runs))
        self.done(lot, runs)

    def _goes(self, lot: QueuedEnvelope, n: int) -> None:
        self.going += n
        self.groups.add_moving(lot.group, n)

    def _no_more(self, lot: QueuedEnvelope, node: bytes, number: int) -> Runs:
        runs = lot.go_no_more(node, number)
        if not lot.going:
            self.leaving.pop(lot, None)
        return runs

    # --- settling ---------------------------------------------------------------------------------------

    def ack(self, taker: QueueConsumer, first: int, last: int) -> Runs:
        """Acknowledge the delivery tags `first` to `last`, and return the tags that the consumer had lost.

        An ack after the end of the lease counts if the message is still ready. Raises: RemoteError for tags
        that were never used.
        """
        runs = taker.holding.settle(first, last)
        for run in runs:
            self._returned(run)
            self.acked += run.n
            taker.acked.extend([(run.lot.key[1], *each) for each in run.runs])
            self.done(run.lot, run.runs)
        if sum([run.n for run in runs]) == last - first + 1:
            return []
        ours = {*taker.settled, *(run.tag + i for run in runs for i in range(run.n))}
        for at, lot, number in taker.take_lapsed(first, last):
            if number in lot.ready:  # not delivered to another consumer since
                lot.take_out([(number, number)])
                self.acked += 1
                self.done(lot, [(number, number)])
                ours.add(at)
        return joined(n for n in range(first, last + 1) if n not in ours)

    def nack(self, taker: QueueConsumer, first: int, last: int, delay: float, now: float, wall: int) -> Runs:
        """Requeue the messages of the given tags after `delay` seconds, if they have attempts left.

        The others are dead-lettered. Return the tags that were not outstanding. Raises as `ack`.
        """
        runs = taker.holding.settle(first, last)
        for run in runs:
            self._returned(run)
            if not delay:
                self._failed(run.lot, run.runs)
                continue
            for a, b in self._tried(run.lot, run.runs):
                self.later.delay_returned(run.lot, a, b, delay, now, wall)
        return _others(runs, first, last)

    def reject(self, taker: QueueConsumer, first: int, last: int, reason: str) -> Runs:
        """Dead-letter the messages of the given tags, and return the tags that were not outstanding.

        Raises as `ack`.
        """
        runs = taker.holding.settle(first, last)
        for run in runs:
            self._returned(run)
            text = reason or f"The consumer {taker.name} rejected the message."
            self._dies(run.lot, run.runs, REJECTED, text)
        return _others(runs, first, last)

    def extend(self, taker: QueueConsumer, first: int, last: int, until: float) -> Runs:
        """Let the lease of the given tags end at `until`, and return the tags that were not outstanding.

        Raises as `ack`.
        """
        return _others(taker.holding.extend(first, last, until), first, last)

    def _failed(self, lot: QueuedEnvelope, runs: Runs) -> None:
        self._back(lot, self._tried(lot, runs))

    def _tried(self, lot: QueuedEnvelope, runs: Runs) -> Runs:
        """Count a failed attempt, dead-letter messages without attempts left, and return the others."""
        lot.tried(runs)
        self.changed[lot] = None
        self.redelivered += count(runs)
        most = self.terms.max_attempts
        over = [n for n in numbers_of(runs) if lot.failures(n) >= most]
        if not over:
            return runs
        self._dies(
            lot,
            joined(over),
            TRIED,
            f"The message failed at {most} {'delivery' if most == 1 else 'deliveries'}.",
        )
        return joined(n for n in numbers_of(runs) if lot.failures(n) < most)

    def _dies(self, lot: QueuedEnvelope, runs: Runs, code: str, text: str) -> None:
        self.dying += count(runs)
        self.died += count(runs)
        self.dead.append(DeadMessages(lot, runs, code, text))

    def buried(self, dead: DeadMessages) -> None:
        self.dying -= count(dead.runs)
        self.done(dead.lot, dead.runs)

    def done(self, lot: QueuedEnvelope, runs: Runs) -> int:
        """Remove from the queue messages that are neither ready nor out, and return their count."""
        n = lot.mark_done(runs)
        self.messages -= n
        self.groups.done(lot.group, n)
        if not lot.left:
            self.bytes -= lot.size
            self._memory.used -= lot.cost
            if lot.parcel.envelope.expires or self.terms.expiry is not None:
                self._expiring.count_ended()
        if self.picked and lot in self.picked:
            self._picked_done(lot)
        if self.pledged and not lot.left and lot in self.pledged:
            self.redeemed.append(self.pledged.pop(lot))
        self.changed[lot] = None
        return n

    def _picked_done(self, lot: QueuedEnvelope) -> None:
        if lot.left:
            self.returning[lot] = None
        else:
            del self.picked[lot]

    def purge(self) -> int:
        """Finish all ready and delayed messages, and return their count.

        Messages that are being read from disk are finished after the read, and not counted.
        """
        if self.watch is not None:
            self.watch.purges()
        before = self.messages
        messages, size = self.on_disk.purge()
        self.messages -= messages
        self.bytes -= size
        for line in self.lines.values():
            while (lot := line.first()) is not None:
                runs = list(lot.ready)
                lot.take_out(runs)
                self.done(lot, runs)
        while self.later:
            lot, first, last = self.later.pop()
            self.done(lot, [(first, last)])
        purged = before - self.messages
        if self.watch is not None:
            self.watch.purged(purged)
        return purged

    def discard_first(self, priority: int) -> bool:
        """Finish the first envelope of a priority that waits on disk only.

        Return `False` if none was removed, for example while envelopes of this priority are being read.
        """
        messages, size = self.on_disk.discard_first(priority)
        self.messages -= messages
        self.bytes -= size
        return bool(messages)

    def end_queue(self) -> None:
        """Close the part: remove all consumers and finish all messages."""
        for taker in list(self.takers.values()):
            self.close(taker)
        doubtful, self._doubtful = self._doubtful, None
        for lot, runs in doubtful.rest() if doubtful is not None else ():
            self._back(lot, runs)
        dead, self.dead = self.dead, []
        for each in dead:
            self.buried(each)
        for lot in list(self.leaving):
            for _, node, number in lot.going[:]:
                self.finish_moved(lot, node, number)
        self.purge()

    # --- recovery and timers ----------------------------------------------------------------------------

    def recover(self, until: float, expected: Mapping[bytes, int]) -> None:
        """Start recovery: messages that may have been delivered wait until `until` for their consumers.

        `expected` maps the key of each consumer that may return to the most messages that it can have.
        """
        self._doubtful = UnclaimedDeliveries(until, set(expected), sum(expected.values()))

    def priorities(self) -> list[int]:
        """Return the priorities that may have envelopes, the highest first."""
        return sorted({*self.lines, *self.on_disk}, reverse=True)

    def line(self, priority: int) -> ReadyIndex:
        """Return the ready envelopes of a priority in memory; create the list if it is missing."""
        line = self.lines.get(priority)
        if line is None:
            line = self.lines[priority] = ReadyIndex(priority)
        return line

    def _recovered(self, doubtful: UnclaimedDeliveries) -> None:
        """End recovery: requeue what consumers did not claim.

        Messages that consumers can have had count as failed attempts. The rest was most likely never
        delivered and is only marked as possibly redelivered.
        """
        self._doubtful, most = None, doubtful.most
        for lot, runs in doubtful.rest():
            tried = first_of(runs, most)
            most -= count(tried)
            lot.returned(runs)
            self._failed(lot, tried)
            runs = slice_of(runs, count(tried), count(runs))
            lot.may_have_been_given(runs)
            self.changed[lot] = None
            self._back(lot, runs)

    @property
    def is_recovering(self) -> bool:
        return self._doubtful is not None

    @property
    def is_recovered(self) -> bool:
        """Whether all consumers that may have messages have returned."""
        return self._doubtful is not None and not self._doubtful.expected

    @property
    def is_timed(self) -> bool:
        """Whether messages in memory can expire or leases can end."""
        return bool(self._expiring) or any(taker.lease < inf for taker in self.takers.values())

    def tick(self, now: float, wall: int) -> None:
        """Requeue messages whose delay or lease is over, end recovery when due, and expire messages."""
        doubtful = self._doubtful
        if doubtful is not None and (doubtful.until <= now or not doubtful.expected):
            self._recovered(doubtful)
        while self.later.due <= now:
            lot, first, last = self.later.pop()
            self.changed[lot] = None
            self._back(lot, [(first, last)])
            if lot.group:  # the delayed message may have blocked its group
                self._look_again()
        for taker in self.takers.values():
            for run in taker.holding.take_lapsed(now) if taker.lease < inf else ():
                self._returned(run)
                taker.lapse(run)
                self._failed(run.lot, run.runs)
        self.expire(wall)

    @property
    def due(self) -> float:
        """The time of the next event that `tick` handles, or infinity; expiry is not included."""
        until = self._doubtful.until if self._doubtful is not None else inf
        leases = (taker.holding.first_over for taker in self.takers.values() if taker.lease < inf)
        return min(self.later.due, until, self.looks_at, *leases)

    def expire(self, wall: int) -> None:
        """Dead-letter the ready messages in memory that have expired."""
        for lot, void in self._expiring.take_expired(wall):
            lot.take_out(void)
            self._dies(lot, void, EXPIRED, f"The message expired in {self.name}.")


def _others(runs: list[LeasedRun], first: int, last: int) -> Runs:
    """Return the tags from `first` to `last` that no run in `runs` covers."""
    if sum(run.n for run in runs) == last - first + 1:
        return []
    ours = {run.tag + i for run in runs for i in range(run.n)}
    return joined(n for n in range(first, last + 1) if n not in ours)
