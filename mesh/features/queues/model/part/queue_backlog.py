"""The messages of a local queue that are not done, in memory and on disk."""

# Law 1: `messages` and `bytes` cover memory and disk. An envelope counts in bytes until all of it is done.
# Law 2: the memory budget holds the cost of the envelopes in memory, and of no others.
# Law 3: an envelope picked from the disk ahead of its order returns there when no consumer wants it.

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf

from mesh.features.queues.model.consumers.groups import MessageGroups
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.model.envelopes.expiring import Expiring
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.delayed_messages import DelayedMessages
from mesh.features.queues.model.part.delivery_order import DeliveryOrder
from mesh.features.queues.model.part.queue_observer import QueueObserver
from mesh.routing.memory import Memory
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import PRIORITY

Pledge = tuple[bytes, int]  # node, number of the move


class Pledges:
    """Envelopes of which another node keeps a copy until all their messages are done here."""

    def __init__(self) -> None:
        self.open: dict[QueuedEnvelope, Pledge] = {}
        self.redeemed: list[Pledge] = []  # to report to the other nodes

    def add(self, queued: QueuedEnvelope, node: bytes, number: int) -> None:
        self.open[queued] = node, number

    def redeem(self, queued: QueuedEnvelope) -> None:
        self.redeemed.append(self.open.pop(queued))

    def redeem_moves(self, node: bytes, numbers: Collection[int]) -> None:
        """Redeem the moves `numbers` of `node`, which no longer keeps their envelopes."""
        for queued in [
            queued for queued, (of, number) in self.open.items() if of == node and number in numbers
        ]:
            self.redeem(queued)

    def take_redeemed(self) -> list[Pledge]:
        redeemed, self.redeemed = self.redeemed, []
        return redeemed


class QueueBacklog:
    """The messages of a local queue that are not done.

    `takers` are the consumers that search again when messages become ready. The owner writes the rows of the
    envelopes in `changed`. `watch`, if set, observes the local queue.
    """

    def __init__(
        self, terms: QueueTerms, memory: Memory, order: DeliveryOrder, takers: Mapping[bytes, QueueConsumer]
    ) -> None:
        self.terms = terms
        self.messages = self.bytes = 0
        self.order = order
        self.groups = MessageGroups()
        self.later = DelayedMessages(self.groups)
        self.expiring = Expiring()  # in memory
        self.changed: dict[QueuedEnvelope, None] = {}
        # Envelopes read for a selector, although envelopes before them may still be on disk: see
        # searching.py.
        self.picked: dict[QueuedEnvelope, None] = {}
        self.returning: dict[QueuedEnvelope, None] = {}  # picked envelopes that may return to disk
        self.pledges = Pledges()
        self.watch: QueueObserver | None = None
        self._takers = takers
        self._memory = memory

    def is_full_with(self, messages: int, size: int) -> bool:
        """Return whether the queue is full, counting `messages` and `size` bytes that are being stored."""
        terms = self.terms
        return self.messages + messages >= terms.max_count or self.bytes + size >= terms.max_bytes

    def take_changed(self) -> Iterable[QueuedEnvelope]:
        changed, self.changed = self.changed, {}
        return changed

    # --- adding -----------------------------------------------------------------------------------------

    def add(self, queued: QueuedEnvelope, now: float, wall: int, may_be_out: bool = False) -> Runs:
        """Add an envelope in memory, and return its messages that may become ready.

        With `may_be_out`, messages whose published delay is over are not delayed, as consumers may have them.
        """
        if self.watch is not None:
            self.watch.adds(queued)
        self.messages += queued.left
        self.bytes += queued.size
        return self._keep(queued, now, wall, may_be_out)

    def _keep(self, queued: QueuedEnvelope, now: float, wall: int, may_be_out: bool = False) -> Runs:
        """Keep an envelope in memory, and return its messages that may become ready.

        The arrival time of a moved envelope that was read from disk is unknown, so the envelope counts as
        arrived now.
        """
        if self.watch is not None:
            self.watch.keeps(queued)
        if queued.moves and queued.came == -inf:
            queued.came = now
        self._memory.used += queued.cost
        self.groups.add(queued.group, queued.left)
        self.later.delay_new(queued, now, wall, may_be_out)
        self.expiring.add(queued, self.terms.expiry)
        if queued.given is not None:
            self.picked[queued] = None
        return queued.at_hand()

    def page_plain(self, stored: StoredEnvelope) -> bool:
        """Add a new envelope on disk only, behind its predecessors, and return whether that was possible."""
        e = stored.envelope
        priority, delay, _ = e.put or (PRIORITY, 0, "")
        if delay or not self.order.on_disk.has(priority):
            return False
        if self.watch is not None:
            self.watch.pages_plain(stored)
        self.messages += e.count
        self.bytes += stored.size
        self.order.on_disk.add_stored(stored, priority, e.count, self.terms.expiry)
        return True

    def page(self, queued: QueuedEnvelope) -> None:
        """Add an envelope that waits on disk only."""
        if self.watch is not None:
            self.watch.pages(queued)
        self.messages += queued.left
        self.bytes += queued.size
        self.order.on_disk.add(queued, self.terms.expiry)

    def may_page(self, queued: QueuedEnvelope) -> bool:
        """Return whether an envelope should wait on disk only: never one with delayed or moving messages."""
        is_busy = bool(queued.late or queued.delay or queued.going)
        return not is_busy and (
            self.order.on_disk.has(queued.priority) or self._memory.has_no_room(queued.cost)
        )

    def may_page_moved(self, queued: QueuedEnvelope) -> bool:
        """Return whether an envelope from another node should wait on disk only.

        The timestamp of a moved envelope does not match its position, so the envelope stays in memory while
        there is room. An envelope must not be reread while another node keeps a copy of it.
        """
        is_reread = bool(queued.stored.position) and queued not in self.pledges.open
        return is_reread and self._memory.has_no_room(queued.cost)

    # --- disk reads -------------------------------------------------------------------------------------

    def loaded(self, priority: int, envelopes: Iterable[QueuedEnvelope], now: float, wall: int) -> None:
        """Keep the envelopes of a finished disk read; discard them if they were purged meanwhile."""
        is_wanted = self.order.on_disk.loaded(priority)
        for queued in envelopes:
            self.remember(queued)
            self.order.on_disk.rows.pop(queued.stored.position, None)
            self.make_ready(queued, self._keep(queued, now, wall))
            if not is_wanted:
                if self.watch is not None:
                    self.watch.voids(list(queued.ready))
                self.finish_ready(queued)

    def remember(self, queued: QueuedEnvelope) -> None:
        """Restore the stored state of an envelope that was read from disk."""
        row = self.order.on_disk.rows.get(queued.stored.position)
        if row:
            queued.restore_state(row)

    def keep_ahead(self, queued: QueuedEnvelope, now: float, wall: int) -> bool:
        """Keep an envelope in memory ahead of its order, and return whether it was still on disk."""
        if not self.order.on_disk.take_out(queued.priority, queued.stored.position):
            return False
        self.order.on_disk.rows.pop(queued.stored.position, None)
        self.picked[queued] = None
        self.make_ready(queued, self._keep(queued, now, wall))
        return True

    def evict_picked(self, queued: QueuedEnvelope) -> None:
        """Evict a picked envelope to disk, unless it now precedes all envelopes on disk.

        The caller ensures that all remaining messages of the envelope are ready.
        """
        del self.picked[queued]
        if queued.key[0] < self.order.on_disk.first_accepted(queued.priority):
            return
        if self.watch is not None:
            self.watch.puts_back(queued)
        self._memory.used -= queued.cost
        self.groups.done(queued.group, queued.left)
        self.order.on_disk.add(queued, self.terms.expiry, is_back=True)
        queued.evict()
        self.order.line(queued.priority).emptied()
        self.expiring.count_ended()

    def review_picked(self) -> None:
        """Mark all picked envelopes to be returned to disk if no consumer wants them."""
        self.returning.update(self.picked)

    # --- ready and done ---------------------------------------------------------------------------------

    def make_ready(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Make messages ready, and let consumers that searched beyond them search again."""
        queued.add_ready(runs)
        if not queued.ready:
            return
        priority = queued.priority
        self.order.line(priority).add(queued)
        for taker in self._takers.values():
            taker.look_again(priority, queued.key)

    def done(self, queued: QueuedEnvelope, runs: Runs) -> int:
        """Remove `runs`, which are neither ready nor out, from the queue, and return their count."""
        n = queued.mark_done(runs)
        self.messages -= n
        self.groups.done(queued.group, n)
        if not queued.left:
            self.bytes -= queued.size
            self._memory.used -= queued.cost
            if queued.stored.envelope.expires or self.terms.expiry is not None:
                self.expiring.count_ended()
        if self.picked and queued in self.picked:
            self._picked_done(queued)
        if self.pledges.open and not queued.left and queued in self.pledges.open:
            self.pledges.redeem(queued)
        self.changed[queued] = None
        return n

    def _picked_done(self, queued: QueuedEnvelope) -> None:
        if queued.left:
            self.returning[queued] = None
        else:
            del self.picked[queued]

    def finish_ready(self, queued: QueuedEnvelope) -> None:
        """Discard the ready messages of an envelope in memory."""
        runs = list(queued.ready)
        queued.take_out(runs)
        self.done(queued, runs)

    def purge(self) -> int:
        """Discard all ready and delayed messages, and return their count.

        Messages that are being read from disk are discarded after the read, and not counted.
        """
        if self.watch is not None:
            self.watch.purges()
        before = self.messages
        self._leave_disk(self.order.on_disk.purge())
        for line in self.order.lines.values():
            while (queued := line.first()) is not None:
                self.finish_ready(queued)
        while self.later:
            queued, first, last = self.later.pop()
            self.done(queued, [(first, last)])
        purged = before - self.messages
        if self.watch is not None:
            self.watch.purged(purged)
        return purged

    def discard_first(self, priority: int) -> bool:
        """Discard the first envelope of a priority that waits on disk only.

        Return `False` if none was removed, for example while envelopes of this priority are being read.
        """
        return self._leave_disk(self.order.on_disk.discard_first(priority))

    def _leave_disk(self, left: tuple[int, int]) -> bool:
        messages, size = left
        self.messages -= messages
        self.bytes -= size
        return bool(messages)
