"""Which messages leave a part that may not refuse any when it is full: the oldest that no consumer has."""

# Law 1: what a consumer has, what moves and what is delayed is never dropped.
# Law 2: a message is dropped after all that was accepted before it and could be dropped.

from __future__ import annotations

from math import inf

from mesh.queues.part.partial import PartialQueue


def drop_excess(part: PartialQueue) -> int:
    """Drop the oldest messages until the part keeps to its terms; returns how many were dropped."""
    before, terms = part.messages, part.terms
    while (part.messages > terms.max_count or part.bytes > terms.max_bytes) and _drop_oldest(part):
        pass
    return before - part.messages


def drop_bytes(part: PartialQueue, size: int) -> int:
    """Drop the oldest messages until the part has `size` bytes less, or none that can be dropped; returns how
    many were dropped.
    """
    before, most = part.messages, part.bytes - size
    while part.bytes > most and _drop_oldest(part):
        pass
    return before - part.messages


def _drop_oldest(part: PartialQueue) -> bool:
    """Drop what is ready of the oldest envelope. False: nothing is, or it is being read from the disk."""
    stamp, priority = min(((_oldest(part, each), each) for each in part.priorities()), default=(inf, 0))
    if stamp == inf:
        return False
    lot = part.line(priority).first()
    if lot is not None and lot.key[0] == stamp:
        runs = list(lot.ready)
        lot.take_out(runs)
        part.done(lot, runs)
        return True
    return part.discard_first(priority)


def _oldest(part: PartialQueue, priority: int) -> float:
    lot = part.line(priority).first()
    return min(part.on_disk.first(priority), lot.key[0] if lot is not None else inf)
