"""Searches messages on disk for selectors: small reads, of which only wanted envelopes stay in memory."""

# Law 1: a consumer receives no message behind a disk envelope that the consumer has not searched.
# Law 2: disk messages that a consumer has searched contain no match for it.
# Law 3: an envelope that no consumer wants stays on disk, and is evicted when no consumer wants it any more.
# Law 4: the disk is read for consumers with credit that have searched all of memory without a match. No
#   envelope is read twice for the same consumer.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from msgspec import Struct

from mesh.queues.consumers.queue_consumer import QueueConsumer, TakerSelector
from mesh.queues.lots.counts import Runs, joined
from mesh.queues.lots.queued_envelope import QueuedEnvelope
from mesh.queues.part.local_queue import LocalQueue
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


class ScanBudget:
    """The search budget of one turn, shared by all consumers of a queue."""

    __slots__ = ("_left", "_now", "_queue")

    def __init__(self, queue: LocalQueue, now: float) -> None:
        self._queue, self._now, self._left = queue, now, MESSAGES

    def is_his(self, taker: QueueConsumer) -> bool:
        """Return whether a consumer may search on now; if not, schedule its next search."""
        if taker.selector is None or (self._left > 0 and taker.rests <= self._now):
            return True
        self._queue.looks_at = min(self._queue.looks_at, max(self._now, taker.rests))
        return False

    def met(self, taker: QueueConsumer, n: int) -> None:
        """Count `n` messages that a consumer has searched without a match."""
        if taker.selector is None:
            return
        self._left -= n
        taker.vain += n
        if self._left <= 0:
            _rest(self._queue, taker, self._now)


def _rest(queue: LocalQueue, taker: QueueConsumer, now: float) -> None:
    looking = sum(each.selector is not None for each in queue.takers.values())
    taker.rests = now + (REST * looking if taker.vain >= VAIN else 0.0)


def wanted(selector: TakerSelector | None, lot: QueuedEnvelope, runs: Iterable[tuple[int, int]]) -> Runs:
    if selector is None:
        return list(runs)
    e = lot.envelope
    if e.count == 1:  # the usual case in a large queue
        headers = decode_properties(e.message(0)[0]).headers
        return list(runs) if selector.wants(e.keys[0], lot.priority, headers) else []
    places = {number: i for i, number in enumerate(e.number_list(range(e.count)))}

    def is_for_him(number: int) -> bool:
        i = places[number]
        return selector.wants(e.keys[e.row(i)], lot.priority, decode_properties(e.message(i)[0]).headers)

    return joined(n for first, last in runs for n in range(first, last + 1) if is_for_him(n))


# --- disk search --------------------------------------------------------------------------------------------


def to_search(queue: LocalQueue, now: float) -> Search | None:
    """Return the next disk read for selectors, or `None` while one is pending or none is possible.

    If all consumers of a read rest, `looks_at` is set to the end of the rest.
    """
    if not queue.on_disk or queue.is_searching:
        return None
    takers = [taker for taker in queue.eligible() if taker.is_through and taker.room]
    if not takers or _idle(queue) > IDLE:
        return None
    for priority in sorted(queue.on_disk, reverse=True):
        for place in sorted({taker.place_on_disk(priority) for taker in takers}):
            his = [taker for taker in takers if taker.place_on_disk(priority) == place]
            if positions := _next(queue, priority, place, len({taker.selector for taker in his})):
                awake = [taker for taker in his if taker.rests <= now]
                if awake:
                    queue.is_searching = True
                    return Search(priority, awake, positions)
                queue.looks_at = min(queue.looks_at, *(taker.rests for taker in his))
    return None


def _idle(queue: LocalQueue) -> int:
    return sum(lot.cost for lot in queue.picked if lot.ready)


def _next(queue: LocalQueue, priority: int, place: int, selectors: int) -> tuple[int, ...]:
    positions: list[int] = []
    messages = size = 0
    for position, n, length in queue.on_disk.after(priority, place):
        messages, size = messages + n, size + length
        if positions and (messages * selectors > MESSAGES or size > BYTES):
            break
        positions.append(position)
    return tuple(positions)


def searched(
    queue: LocalQueue, search: Search, lots: Iterable[QueuedEnvelope], now: float, wall: int
) -> None:
    """Finish a disk read: keep the envelopes that a selector matches and that are still on disk.

    The consumers of the read have then searched up to its last position.
    """
    queue.is_searching = False
    takers = [taker for taker in search.takers if queue.takers.get(taker.key) is taker]
    glad: set[TakerSelector | None] = set()
    messages = 0
    for lot in lots:
        queue.remember(lot)
        runs = lot.open()
        messages += lot.left
        fans = {s for s in {taker.selector for taker in takers} if wanted(s, lot, runs)}
        if fans and queue.pick(lot, now, wall):
            glad |= fans
    for taker in takers:
        taker.seen[search.priority] = search.positions[-1]
        taker.vain = 0 if taker.selector in glad else taker.vain + messages
        _rest(queue, taker, now)


def put_back(queue: LocalQueue) -> None:
    """Evict picked envelopes that no consumer wants any more, once their rows are written."""
    if not queue.returning or queue.is_searching:
        return
    returning, queue.returning = queue.returning, {}
    for lot in returning:
        if lot in queue.changed:
            queue.returning[lot] = None
        elif lot in queue.picked and lot.is_whole and not any(_fans(queue, lot)):
            queue.put_back(lot)


def _fans(queue: LocalQueue, lot: QueuedEnvelope) -> Iterator[Runs]:
    for taker in queue.takers.values():
        if lot.parcel.position <= taker.place_on_disk(lot.priority):
            yield wanted(taker.selector, lot, lot.ready)


def in_vain(queue: LocalQueue) -> tuple[int, bool]:
    """Return the most messages that a consumer has searched without a match, and whether searches continue.

    Return `(0, False)` below a limit of VAIN messages.
    """
    vain = max((taker.vain for taker in queue.eligible() if taker.room), default=0)
    looks_on = queue.is_searching or queue.looks_at < inf
    return (vain, looks_on) if vain >= VAIN else (0, False)
