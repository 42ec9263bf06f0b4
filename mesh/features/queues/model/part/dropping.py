"""Drops the oldest ready messages of a full local queue that must accept new ones."""

# Law 1: messages that a consumer has, that move or that are delayed are never dropped.
# Law 2: a message is dropped only after all droppable messages that were accepted before it.

from __future__ import annotations

from math import inf

from mesh.features.queues.model.part.local_queue import LocalQueue


def drop_excess(part: LocalQueue) -> int:
    """Drop the oldest messages until the local queue is within its limits, and return how many were dropped.

    The local queue still exceeds its limits if the remaining messages cannot be dropped.
    """
    backlog, terms = part.backlog, part.terms
    before = backlog.messages
    while (backlog.messages > terms.max_count or backlog.bytes > terms.max_bytes) and _drop_oldest(part):
        pass
    return before - backlog.messages


def drop_bytes(part: LocalQueue, size: int) -> int:
    """Drop the oldest messages until `size` bytes are freed, and return how many were dropped.

    Fewer bytes are freed if the remaining messages cannot be dropped.
    """
    backlog = part.backlog
    before, most = backlog.messages, backlog.bytes - size
    while backlog.bytes > most and _drop_oldest(part):
        pass
    return before - backlog.messages


def _drop_oldest(part: LocalQueue) -> bool:
    """Drop the ready messages of the oldest envelope.

    Return `False` if none is ready or the envelope is being read from disk.
    """
    stamp, priority = min(((_oldest(part, each), each) for each in part.order.priorities()), default=(inf, 0))
    if stamp == inf:
        return False
    queued = part.order.line(priority).first()
    if queued is not None and queued.key[0] == stamp:
        part.backlog.finish_ready(queued)
        return True
    return part.backlog.discard_first(priority)


def _oldest(part: LocalQueue, priority: int) -> float:
    queued = part.order.line(priority).first()
    return min(part.order.on_disk.first_accepted(priority), queued.key[0] if queued is not None else inf)
