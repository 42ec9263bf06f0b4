"""Moves the messages of durable subscriptions from the node's own store to the store of their queue."""

# Law 1: a copy is accepted in the commit of its message, in the node's own store. So it is neither lost nor
#   doubled, although a commit changes one store only.
# Law 2: a batch is on disk in the other store, with a row of its former positions, before it leaves the own
#   store. A start completes the move of a batch that a crash has interrupted: see mesh/store/moving.py.
# Law 3: a queue receives a message after it is in the queue's store.
# Law 4: while the other store is full or too slow, a subscription loses new messages, or refuses them if
#   limits.durable_full says so. The waiting messages are bounded by limits.backlog_bytes.
# Law 5: no batch begins during a backup, which copies the own store last, unless half of that limit waits.

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Protocol

from mesh.errors import MeshError, StoreFull
from mesh.flow.seldom import Seldom
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Delete, Put, moved_key
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.sink import Sink
from mesh.routing.stored_envelope import StoredEnvelope

MOVED = "moved"  # table
MOST, MOST_BYTES = 1000, 8 << 20  # limits of one batch
SAY_AGAIN = 60.0  # s between two events about a full store


class SpoolSink(Sink, Protocol):
    """The queue of a durable subscription, as its spool sees it."""

    drops_oldest: bool
    lost: int  # messages that were dropped and not yet reported

    def schedule(self) -> None:
        """Schedule the queue for the end of the event."""


Move = tuple[
    SpoolSink, StoredEnvelope, StoredEnvelope
]  # queue, envelope in the own store, envelope in the other


class Spool:
    """The messages in transit from the node's own store, `own`, to another store, `disk`."""

    def __init__(self, context: NodeContext, own: Disk, disk: Disk) -> None:
        self._context = context
        self._own = own
        self._disk = disk
        self._waiting: deque[tuple[SpoolSink, StoredEnvelope]] = deque()
        self._bytes = 0  # of the waiting envelopes
        self._is_moving = False  # a batch is in both stores
        self._is_unfinished = False  # the own store did not drop it yet
        self._is_full = False  # at the last attempt
        self._is_held = False  # during a backup
        self._events = Seldom(SAY_AGAIN)

    @property
    def is_stuck(self) -> bool:
        """Whether the other store is full, or so slow that too much waits."""
        return self._is_full or self._bytes > self._context.settings.backlog_bytes

    def move(self, sink: SpoolSink, stored: StoredEnvelope) -> None:
        """Move an envelope to the other store and offer it to its queue, or drop it by Law 4."""
        if self.is_stuck and sink.drops_oldest:
            self._own.shelf.delete_released(stored)
            sink.lost += stored.envelope.count
            sink.schedule()
            return
        sink.expect(stored, +1)
        self._waiting.append((sink, stored))
        self._bytes += stored.size
        if not self._is_full:
            self._move_next()

    def hold(self, is_held: bool) -> None:
        """Hold back new batches while `is_held`."""
        self._is_held = is_held
        if not (is_held or self._is_full):
            self._move_next()

    def retry(self) -> None:
        """Try again what failed for lack of space; called once a second."""
        if self._is_unfinished:
            self._is_unfinished = False
            self._own.commit((), self._on_left)
        elif self._is_full:
            self._is_full = False
            self._move_next()

    def _move_next(self) -> None:
        is_held = self._is_held and self._bytes <= self._context.settings.backlog_bytes // 2
        if self._is_moving or not self._waiting or is_held:
            return
        self._is_moving = True
        moves, size = list[Move](), 0
        while self._waiting and len(moves) < MOST and size < MOST_BYTES:
            sink, old = self._waiting.popleft()
            size += old.size
            moves.append((sink, old, StoredEnvelope(old.envelope, master=old.master, own=True)))
        self._bytes -= size
        row = Put(MOVED, moved_key(""), b"".join(old.position.to_bytes(8) for _, old, _ in moves))
        self._disk.shelf.supersede((row,))
        ops = [self._disk.shelf.append_envelope(new, [(sink, None)]) for sink, _, new in moves]
        self._disk.commit([*ops, row], partial(self._on_moved, moves))

    def _on_moved(self, moves: list[Move], error: MeshError | None) -> None:
        """Offer the batch to its queues, or keep it if the other store is full.

        After any other error the node stops.
        """
        if isinstance(error, StoreFull):
            self._keep(moves)
        elif error is None:
            for _, old, _ in moves:
                self._own.shelf.delete_released(old)
            self._own.commit((), self._on_left)
            for sink, old, new in moves:
                sink.expect(old, -1)
                sink.offer(EnvelopeSlice(new, None), self._context.clock.now)

    def _keep(self, moves: list[Move]) -> None:
        for sink, old, new in reversed(moves):
            self._disk.shelf.delete_released(new)
            self._waiting.appendleft((sink, old))
            self._bytes += old.size
        self._is_moving, self._is_full = False, True
        if self._events.allows(self._context.clock.now):
            text = f"{self._disk.shelf.store} is full: its durable subscriptions accept no messages"
            self._context.event("durable", text, level="warning")

    def _on_left(self, error: MeshError | None) -> None:
        """Delete the record of a batch that has left the own store, and move the next one."""
        if isinstance(error, StoreFull):
            self._is_unfinished = True
        elif error is None:
            self._disk.shelf.later(MOVED, moved_key(""), Delete(MOVED, moved_key("")))
            self._is_moving = False
            if not self._is_full:
                self._move_next()
