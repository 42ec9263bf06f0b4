"""What a selector wants of what waits on the disk alone: it is read in small parts, and kept if wanted."""

# Law 1: a taker is given nothing that stands behind something on the disk at which he has not looked.
# Law 2: of what is on the disk nobody wants anything at which he has looked.
# Law 3: what is read and wanted by nobody does not leave the disk; what nobody wants any more is put back.
# Law 4: the disk is read for who has room and has looked in vain through all that is in memory, and no part
#        of it twice for the same taker.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from msgspec import Struct

from mesh.queues.lots.counts import Runs, joined
from mesh.queues.lots.lot import Lot
from mesh.queues.part.partial import PartialQueue
from mesh.queues.takers.taker import QueueTaker, TakerSelector
from mesh.wire.limits import KIB, MIB
from mesh.wire.properties import decode_properties

MESSAGES, BYTES = 500, 256 * KIB  # of a turn, which takes 5 ms; or one envelope
VAIN = 10_000  # messages met in vain, after which a taker rests between two turns,
REST = 0.02  # … so many s for each who looks
IDLE = 4 * MIB  # found, and not taken yet: while it is more, the disk is not read


class Search(Struct, eq=False):
    """Some of what is on the disk, for those who have looked at all before it."""

    priority: int
    takers: list[QueueTaker]
    positions: tuple[int, ...]


class Turn:
    """How much may be looked at now, by all takers of a queue together."""

    __slots__ = ("_left", "_now", "_queue")

    def __init__(self, queue: PartialQueue, now: float) -> None:
        self._queue, self._now, self._left = queue, now, MESSAGES

    def is_his(self, taker: QueueTaker) -> bool:
        """May he look at more? If not, then later."""
        if taker.selector is None or (self._left > 0 and taker.rests <= self._now):
            return True
        self._queue.looks_at = min(self._queue.looks_at, max(self._now, taker.rests))
        return False

    def met(self, taker: QueueTaker, n: int) -> None:
        """He has looked at so many in vain."""
        if taker.selector is None:
            return
        self._left -= n
        taker.vain += n
        if self._left <= 0:
            _rest(self._queue, taker, self._now)


def _rest(queue: PartialQueue, taker: QueueTaker, now: float) -> None:
    looking = sum(each.selector is not None for each in queue.takers.values())
    taker.rests = now + (REST * looking if taker.vain >= VAIN else 0.0)


def wanted(selector: TakerSelector | None, lot: Lot, runs: Iterable[tuple[int, int]]) -> Runs:
    """What a selector wants of these messages of a lot."""
    if selector is None:
        return list(runs)
    e = lot.envelope
    if e.count == 1:  # as a rule where there are many
        headers = decode_properties(e.message(0)[0]).headers
        return list(runs) if selector.wants(e.keys[0], lot.priority, headers) else []
    places = {number: i for i, number in enumerate(e.number_list(range(e.count)))}

    def is_for_him(number: int) -> bool:
        i = places[number]
        return selector.wants(e.keys[e.row(i)], lot.priority, decode_properties(e.message(i)[0]).headers)

    return joined(n for first, last in runs for n in range(first, last + 1) if is_for_him(n))


# --- looking on ---------------------------------------------------------------------------------------------


def to_search(queue: PartialQueue, now: float) -> Search | None:
    """What is to be read next, unless some is being read. The others of that queue rest until `looks_at`."""
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


def _idle(queue: PartialQueue) -> int:
    return sum(lot.cost for lot in queue.picked if lot.ready)


def _next(queue: PartialQueue, priority: int, place: int, selectors: int) -> tuple[int, ...]:
    """The next positions behind that place, as many as so many selectors may look at in a turn."""
    positions: list[int] = []
    messages = size = 0
    for position, n, length in queue.on_disk.after(priority, place):
        messages, size = messages + n, size + length
        if positions and (messages * selectors > MESSAGES or size > BYTES):
            break
        positions.append(position)
    return tuple(positions)


def searched(queue: PartialQueue, search: Search, lots: Iterable[Lot], now: float, wall: int) -> None:
    """That was read. What is wanted of it, and is still on the disk, is kept."""
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


def put_back(queue: PartialQueue) -> None:
    """What was found, and nobody wants any more, waits on the disk alone again. It is written by now."""
    if not queue.returning or queue.is_searching:
        return
    returning, queue.returning = queue.returning, {}
    for lot in returning:
        if lot in queue.changed:
            queue.returning[lot] = None
        elif lot in queue.picked and lot.is_whole and not any(_fans(queue, lot)):
            queue.put_back(lot)


def _fans(queue: PartialQueue, lot: Lot) -> Iterator[Runs]:
    """For each who has looked at it, and wants something of it, what that is."""
    for taker in queue.takers.values():
        if lot.parcel.position <= taker.place_on_disk(lot.priority):
            yield wanted(taker.selector, lot, lot.ready)


def in_vain(queue: PartialQueue) -> tuple[int, bool]:
    """(the most that a taker with room has met in vain, if that is much; does he look on?)"""
    vain = max((taker.vain for taker in queue.eligible() if taker.room), default=0)
    looks_on = queue.is_searching or queue.looks_at < inf
    return (vain, looks_on) if vain >= VAIN else (0, False)
