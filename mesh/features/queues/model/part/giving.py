"""Decides which consumer receives which message next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as counter
from math import inf

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import Runs, count, first_of
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.model.part.searching import ScanBudget, wanted
from mesh.flow.sharing import shared_out

Given = tuple[QueueConsumer, QueuedEnvelope, Runs]
_turns = counter(1)


def deliver(queue: LocalQueue, now: float, wall: int) -> Iterator[Given]:
    """Deliver messages while a consumer has credit, and yield each delivery.

    The consumer with the fewest outstanding messages is served first.
    """
    queue.failures.expire(wall)
    queue.search.start_turn()
    takers = [taker for taker in queue.consumers.eligible() if taker.room]
    if not takers:
        return
    if queue.backlog.groups or any(taker.selector is not None for taker in takers):
        yield from _apart(queue, takers, now)
    else:
        yield from _alike(queue, takers, now)


def _alike(queue: LocalQueue, takers: list[QueueConsumer], now: float) -> Iterator[Given]:
    order = queue.order
    for priority in order.priorities():
        line, end = order.line(priority), order.on_disk.first_accepted(priority)
        while takers and (queued := line.first()) is not None and queued.key[0] < end:
            for taker, n in shared_out(takers, queued.ready.count()):
                runs = queued.take_ready(n)
                yield _given(queue, taker, queued, runs, now)
            if not queued.ready:
                line.emptied()
            takers = [taker for taker in takers if taker.room]
        if end < inf:
            return  # disk envelopes precede envelopes of lower priority


def _apart(queue: LocalQueue, takers: list[QueueConsumer], now: float) -> Iterator[Given]:
    turn = ScanBudget(queue.search, now)
    while takers:
        taker = min(takers, key=lambda t: (t.busy, t.turn))
        found = _find(queue, taker, turn)
        if found is None:
            takers.remove(taker)
            continue
        queued, runs = found
        share = -(-count(runs) // len(takers))
        runs = first_of(runs, min(taker.room, share))
        queued.take_out(runs)
        yield _given(queue, taker, queued, runs, now)
        if not queued.ready:
            queue.order.line(queued.priority).emptied()
        if not taker.room:
            takers.remove(taker)


def _find(queue: LocalQueue, taker: QueueConsumer, turn: ScanBudget) -> tuple[QueuedEnvelope, Runs] | None:
    groups, taker.is_through = queue.backlog.groups, False
    for priority in queue.order.priorities():
        end = queue.order.on_disk.first_accepted(priority, taker.place_on_disk(priority))
        for queued in queue.order.line(priority).after(taker.searched_up_to(priority)):
            if queued.key[0] >= end:
                break
            if not turn.is_his(taker):
                return None
            if groups.may_have(queued.group, taker) and (
                runs := wanted(taker.selector, queued, queued.ready)
            ):
                taker.vain = 0
                return queued, runs
            taker.passed[priority] = queued.key
            turn.met(taker, queued.left)
    taker.is_through = taker.selector is not None
    queue.search.seeks |= taker.is_through
    return None


def _given(queue: LocalQueue, taker: QueueConsumer, queued: QueuedEnvelope, runs: Runs, now: float) -> Given:
    taker.turn = next(_turns)
    queue.deliveries.record_delivery(taker, queued, runs, now + taker.lease)
    return taker, queued, runs
