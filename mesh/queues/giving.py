"""Who is given what next?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as counter

from mesh.queues.counts import Runs, count, first_of, joined
from mesh.queues.lot import Lot
from mesh.queues.partial import PartialQueue
from mesh.queues.taker import Taker
from mesh.services.consumer import shared_out
from mesh.wire.properties import decode_properties

Given = tuple[Taker, Lot, Runs]
_turns = counter(1)


def give(queue: PartialQueue, now: float, wall: int) -> Iterator[Given]:
    """All that there is room for, and a reason: whoever has the least is first."""
    queue.expire(wall)
    takers = list(queue.takers.values())
    if queue.terms.exclusive:
        takers = takers[:1]
    takers = [taker for taker in takers if taker.room]
    if not takers:
        return
    if queue.groups or any(taker.selector is not None for taker in takers):
        yield from _apart(queue, takers, now)
    else:
        yield from _alike(queue, takers, now)


def _alike(queue: PartialQueue, takers: list[Taker], now: float) -> Iterator[Given]:
    """To those who take whatever comes."""
    for priority in queue.priorities():
        line = queue.line(priority)
        while takers and (lot := line.first()) is not None:
            for taker, n in shared_out(takers, lot.ready.count()):
                runs = lot.take(n)
                yield _given(queue, taker, lot, runs, now)
            if not lot.ready:
                line.emptied()
            takers = [taker for taker in takers if taker.room]
        if queue.on_disk.has(priority):
            return  # what is of lower priority comes behind that


def _apart(queue: PartialQueue, takers: list[Taker], now: float) -> Iterator[Given]:
    """To those of whom each looks for what is for him: something of one lot in each turn."""
    while takers:
        taker = min(takers, key=lambda t: (t.busy, t.turn))
        found = _find(queue, taker)
        if found is None:
            takers.remove(taker)
            continue
        lot, runs = found
        share = -(-count(runs) // len(takers))
        runs = first_of(runs, min(taker.room, share))
        lot.take_out(runs)
        yield _given(queue, taker, lot, runs, now)
        if not lot.ready:
            queue.line(lot.priority).emptied()
        if not taker.room:
            takers.remove(taker)


def _find(queue: PartialQueue, taker: Taker) -> tuple[Lot, Runs] | None:
    """The next lot with something for him, and what."""
    for priority in queue.priorities():
        for lot in queue.line(priority).after(taker.place(priority)):
            if queue.groups.may_have(lot.group, taker) and (runs := _wanted(taker, lot)):
                return lot, runs
            taker.passed[priority] = lot.key
    return None


def _wanted(taker: Taker, lot: Lot) -> Runs:
    """What is ready of it and for him."""
    selector = taker.selector
    if selector is None:
        return list(lot.ready)
    e = lot.envelope
    places = {number: i for i, number in enumerate(e.number_list(range(e.count)))}

    def is_for_him(number: int) -> bool:
        i = places[number]
        return selector.wants(e.keys[e.row(i)], lot.priority, decode_properties(e.message(i)[0]).headers)

    return joined(n for first, last in lot.ready for n in range(first, last + 1) if is_for_him(n))


def _given(queue: PartialQueue, taker: Taker, lot: Lot, runs: Runs, now: float) -> Given:
    taker.turn = next(_turns)
    queue.given(taker, lot, runs, now + taker.lease)
    return taker, lot, runs
