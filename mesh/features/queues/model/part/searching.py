"""Searches messages on disk for selectors, in small reads; only wanted envelopes stay in memory."""

# Law 1: a consumer receives no message behind a disk envelope that the consumer has not searched.
# Law 2: disk messages that a consumer has searched contain no match for it.
# Law 3: an envelope that no consumer wants stays on disk, and is evicted when no consumer wants it any more.
# Law 4: the disk is read for consumers with credit that have searched all of memory without a match. No
#   envelope is read twice for the same consumer.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from msgspec import Struct

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer, TakerSelector
from mesh.features.queues.model.envelopes.counts import Runs, joined
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.queue_backlog import QueueBacklog
from mesh.features.queues.model.part.queue_consumers import QueueConsumers
from mesh.wire.limits import KIB, MIB
from mesh.wire.properties import decode_properties

MESSAGES, BYTES = 500, 256 * KIB  # per turn of 5 ms; or one envelope
VAIN = 10_000  # messages without a match before a consumer rests
REST = 0.02  # rest between turns, s per searching consumer
IDLE = 4 * MIB  # bytes of undelivered matches that stop disk reads


class Search(Struct, eq=False):
    """A disk read of some envelopes, for consumers that have searched all envelopes before them."""

    priority: int
    takers: list[QueueConsumer]
    positions: tuple[int, ...]


class SelectorSearch:
    """The search of a local queue for messages that selectors match, with its disk reads.

    `seeks` is set when a consumer with a selector has searched all of memory in the current turn, and
    `looks_at` is when the next deferred search is due.
    """

    def __init__(self, backlog: QueueBacklog, consumers: QueueConsumers) -> None:
        self.is_reading = False  # whether a disk read is pending
        self.seeks = False
        self.looks_at = inf
        self._backlog = backlog
        self._consumers = consumers

    def start_turn(self) -> None:
        self.looks_at, self.seeks = inf, False

    def defer(self, at: float) -> None:
        """Schedule a search for the time `at` or earlier."""
        self.looks_at = min(self.looks_at, at)

    def rest(self, taker: QueueConsumer, now: float) -> None:
        """Delay the next search of a consumer that has searched many messages without a match."""
        looking = sum(each.selector is not None for each in self._consumers.takers.values())
        taker.rests = now + (REST * looking if taker.vain >= VAIN else 0.0)

    def next_read(self, now: float) -> Search | None:
        """Return the next disk read for selectors, or `None` while one is pending or none is possible.

        If all consumers of a read rest, `looks_at` is set to the end of the first rest.
        """
        on_disk = self._backlog.order.on_disk
        if not on_disk or self.is_reading:
            return None
        takers = [taker for taker in self._consumers.eligible() if taker.is_through and taker.room]
        if not takers or self._idle() > IDLE:
            return None
        for priority in sorted(on_disk, reverse=True):
            for place in sorted({taker.place_on_disk(priority) for taker in takers}):
                his = [taker for taker in takers if taker.place_on_disk(priority) == place]
                if positions := self._next(priority, place, len({taker.selector for taker in his})):
                    awake = [taker for taker in his if taker.rests <= now]
                    if awake:
                        self.is_reading = True
                        return Search(priority, awake, positions)
                    self.defer(min(taker.rests for taker in his))
        return None

    def _idle(self) -> int:
        return sum(queued.cost for queued in self._backlog.picked if queued.ready)

    def _next(self, priority: int, place: int, selectors: int) -> tuple[int, ...]:
        positions: list[int] = []
        messages = size = 0
        for position, n, length in self._backlog.order.on_disk.after(priority, place):
            messages, size = messages + n, size + length
            if positions and (messages * selectors > MESSAGES or size > BYTES):
                break
            positions.append(position)
        return tuple(positions)

    def finish_read(self, search: Search, envelopes: Iterable[QueuedEnvelope], now: float, wall: int) -> None:
        """Finish a disk read, and keep the matching envelopes in memory, unless they are no longer on disk.

        The consumers of the read have then searched up to its last position.
        """
        self.is_reading = False
        takers = [taker for taker in search.takers if self._consumers.takers.get(taker.key) is taker]
        glad: set[TakerSelector | None] = set()
        messages = 0
        for queued in envelopes:
            self._backlog.remember(queued)
            runs = queued.open()
            messages += queued.left
            fans = {s for s in {taker.selector for taker in takers} if wanted(s, queued, runs)}
            if fans and self._backlog.keep_ahead(queued, now, wall):
                glad |= fans
        for taker in takers:
            taker.seen[search.priority] = search.positions[-1]
            taker.vain = 0 if taker.selector in glad else taker.vain + messages
            self.rest(taker, now)

    def evict_unwanted(self) -> None:
        """Evict picked envelopes that no consumer wants any longer, after their rows are written."""
        if not self._backlog.returning or self.is_reading:
            return
        backlog = self._backlog
        returning, backlog.returning = backlog.returning, {}
        for queued in returning:
            if queued in backlog.changed:
                backlog.returning[queued] = None
            elif queued in backlog.picked and queued.is_whole and not any(self._fans(queued)):
                backlog.evict_picked(queued)

    def _fans(self, queued: QueuedEnvelope) -> Iterator[Runs]:
        for taker in self._consumers.takers.values():
            if queued.stored.position <= taker.place_on_disk(queued.priority):
                yield wanted(taker.selector, queued, queued.ready)

    def in_vain(self) -> tuple[int, bool]:
        """Return the most messages that a consumer searched without a match, and whether searches continue.

        Only consumers with credit count. Return `(0, False)` below a limit of VAIN messages.
        """
        vain = max((taker.vain for taker in self._consumers.eligible() if taker.room), default=0)
        looks_on = self.is_reading or self.looks_at < inf
        return (vain, looks_on) if vain >= VAIN else (0, False)


class ScanBudget:
    """The search budget of one turn, shared by all consumers of a queue."""

    __slots__ = ("_left", "_now", "_search")

    def __init__(self, search: SelectorSearch, now: float) -> None:
        self._search, self._now, self._left = search, now, MESSAGES

    def is_his(self, taker: QueueConsumer) -> bool:
        """Return whether a consumer may continue its search now; if not, schedule its next search."""
        if taker.selector is None or (self._left > 0 and taker.rests <= self._now):
            return True
        self._search.defer(max(self._now, taker.rests))
        return False

    def met(self, taker: QueueConsumer, n: int) -> None:
        """Count `n` messages that a consumer has searched without a match."""
        if taker.selector is None:
            return
        self._left -= n
        taker.vain += n
        if self._left <= 0:
            self._search.rest(taker, self._now)


def wanted(selector: TakerSelector | None, queued: QueuedEnvelope, runs: Iterable[tuple[int, int]]) -> Runs:
    if selector is None:
        return list(runs)
    e = queued.envelope
    if e.count == 1:  # the usual case in a large queue
        headers = decode_properties(e.message(0)[0]).headers
        return list(runs) if selector.wants(e.keys[0], queued.priority, headers) else []
    places = {number: i for i, number in enumerate(e.number_list(range(e.count)))}

    def is_for_him(number: int) -> bool:
        i = places[number]
        return selector.wants(e.keys[e.row(i)], queued.priority, decode_properties(e.message(i)[0]).headers)

    return joined(n for first, last in runs for n in range(first, last + 1) if is_for_him(n))
