"""The stored rows of queues, apart from their messages: delivery states, consumers, marks, and moves."""

# A mark gives for each priority the acceptance time up to which messages may have been delivered. It is
# written before delivery, so no consumer has a message above it after a crash. The row of marks also has the
# time up to which deliveries are unknown because an old copy of the store was restored.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from mesh.errors import MeshError, RemoteError
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.node.keeping.consumer_row import ConsumerRow
from mesh.features.queues.node.keeping.settlement_rows import PART, SettlementRows, place_of
from mesh.features.queues.node.keeping.spool import Spool
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.disk import Committed, Disk, Fetched
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Delete, Op, Put
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.codec import pack, reader
from mesh.wire.envelope import Envelope

CONSUMER, MOVED = "consumer", "moved"  # tables, besides PART
FORGOTTEN = 10  # pseudo-priority of the unknown time
read_marks = reader(dict[int, Annotated[int, Meta(ge=0)]], 1024)


class Rows:
    """The rows of the queues in one store, by queue name.

    `spool` moves messages of durable subscriptions to this store; `None`: it is the node's own.
    """

    def __init__(self, disk: Disk, spool: Spool | None = None) -> None:
        self.spool = spool
        self.commit_if_any = disk.commit_if_any
        self._disk = disk
        self._shelf = disk.shelf
        self.settlements = SettlementRows(disk.shelf)
        self._envelopes: dict[bytes, bytes] = {}  # read from the store, until claimed
        self._marks: dict[str, dict[int, int]] = {}  # on disk, by priority
        self._wanted: dict[str, dict[int, int]] = {}  # including writes in progress
        # By the key of the consumer.
        self.consumers: dict[str, dict[bytes, ConsumerRow]] = {}
        self._stored: set[tuple[str, bytes]] = set()  # consumers whose row is on disk

    def start(self, beginning: Beginning) -> None:
        """Read the rows from the store.

        Unreadable marks cover everything, so that all messages count as possibly delivered.
        """
        for key, value in beginning.rows(PART, self._shelf.store).items():
            name, _, position = key.partition(b"\0")
            if position:
                self._envelopes[key] = value
                continue
            try:
                self._marks[name.decode()] = read_marks(value)
            except RemoteError:
                self._marks[name.decode()] = dict.fromkeys(range(10), 2**63)
        self.settlements.merge_into(self._envelopes)
        for key, value in beginning.rows(CONSUMER, self._shelf.store).items():
            name, _, taker = key.partition(b"\0")
            self.consumers.setdefault(name.decode(), {})[taker] = ConsumerRow.from_bytes(value)
            self._stored.add((name.decode(), taker))

    def queues(self) -> set[str]:
        """Return the names of the queues that have marks or consumers."""
        return {*self._marks, *self.consumers}

    # --- the log ----------------------------------------------------------------------------------------

    def restored(self) -> None:
        """Count a restored envelope."""
        self._shelf.live += 1

    def drop(self, name: str, positions: Iterable[int], with_row: Iterable[int]) -> None:
        """Delete the envelopes at `positions` with the next commit.

        `with_row` has the positions of the envelopes with a stored state, which is deleted too.
        """
        for position in positions:
            self._shelf.drop_position(position)
        for position in with_row:
            self._delete(place_of(name, position))

    def _delete(self, key: bytes) -> None:
        self._shelf.later(PART, key, Delete(PART, key))

    def read_envelopes(self, positions: Sequence[int], then: Fetched) -> None:
        """Read the envelopes at `positions`; see `Disk.fetch`."""
        self._disk.fetch(positions, then)

    def stored(self, envelope: Envelope, position: int, master: bytes) -> StoredEnvelope:
        """Return `envelope`, which was read from disk at `position`, as a stored envelope."""
        return StoredEnvelope(envelope, position, master, own=True, is_late=self._shelf.is_other)

    # --- queued envelopes -------------------------------------------------------------------------------

    def take_state(self, name: str, position: int) -> bytes:
        """Remove and return the state of an envelope that was read at the start, or empty bytes."""
        return self._envelopes.pop(place_of(name, position), b"") if self._envelopes else b""

    def write_state(self, name: str, queued: QueuedEnvelope) -> None:
        """Write the state of a persistent envelope, or delete the envelope if all its messages are done.

        Either is part of the next commit. An unchanged state has no row.
        """
        position = queued.stored.position
        if not position or queued.has_left:
            return
        key = place_of(name, position)
        if not queued.left:
            queued.has_left = True
            self._shelf.delete_released(queued.stored)
            if queued.has_row:
                self._delete(key)
        elif row := queued.row():
            queued.has_row = True
            self._shelf.later(PART, key, Put(PART, key, row))
        elif queued.has_row:
            queued.has_row = False
            self._delete(key)

    # --- messages from other nodes ----------------------------------------------------------------------

    def moved_rows(self, beginning: Beginning) -> Iterator[tuple[str, bytes, bytes]]:
        """Yield (queue, uuid of the source node, row) for messages that other nodes moved here."""
        for key, value in beginning.rows(MOVED, self._shelf.store).items():
            name, _, source = key.partition(b"\0")
            if name:  # otherwise of the store: see mesh/store/moving.py
                yield name.decode(), source, value

    def arrive(
        self, name: str, source: bytes, row: bytes, envelopes: Iterable[QueuedEnvelope], then: Committed
    ) -> None:
        """Store envelopes from the node `source` in one commit with `row`, the record of its pieces.

        `then` is called with `None` when they are on disk, or with the error.
        """
        self._store(name, envelopes, [Put(MOVED, _mark(name) + source, row)], then)

    def store_redelivered(self, name: str, queued: QueuedEnvelope, then: Committed) -> None:
        """Store an envelope whose messages another node may have delivered; `then` as for `arrive`."""
        self._store(name, [queued], [], then)

    def _store(self, name: str, envelopes: Iterable[QueuedEnvelope], ops: list[Op], then: Committed) -> None:
        for queued in envelopes:
            ops.append(self._shelf.append_envelope(queued.stored))
            queued.has_row = True
            ops.append(Put(PART, place_of(name, queued.stored.position), queued.row()))
        self._shelf.supersede(ops)
        self._disk.commit(ops, then)

    def not_arrived(self, envelopes: Iterable[QueuedEnvelope]) -> None:
        """Release envelopes that did not reach the disk."""
        for queued in envelopes:
            self._shelf.delete_released(queued.stored)

    def source(self, name: str, source: bytes, row: bytes) -> None:
        """Store `row`, the record of moves from the node `source`, with the next commit.

        An empty `row` deletes the record.
        """
        key = _mark(name) + source
        self._shelf.later(MOVED, key, Put(MOVED, key, row) if row else Delete(MOVED, key))

    @property
    def store(self) -> str:
        return self._shelf.store

    @property
    def is_own(self) -> bool:
        """True if this is the node's own store."""
        return not self._shelf.is_other

    @property
    def is_volatile(self) -> bool:
        """True if the store is lost when the process ends."""
        return self._shelf.is_volatile

    # --- marks ------------------------------------------------------------------------------------------

    def is_marked(self, name: str, priority: int, stamp: int) -> bool:
        """Return whether the mark on disk covers messages of this priority that were accepted at `stamp`."""
        return stamp <= self._marks.get(name, {}).get(priority, 0)

    def is_coming(self, name: str, priority: int, stamp: int) -> bool:
        """Return whether a mark covers the acceptance time `stamp`, or will after the writes in progress."""
        return stamp <= self._wanted.get(name, {}).get(priority, 0) or self.is_marked(name, priority, stamp)

    def forgets(self, name: str, stamp: int) -> None:
        """Record that deliveries of messages accepted up to `stamp` are unknown."""
        self.mark(name, {FORGOTTEN: stamp}, lambda error: None)

    def may_be_forgotten(self, name: str, stamp: int) -> bool:
        """Return whether deliveries of messages accepted at `stamp` are unknown."""
        marks = self._wanted.get(name) or self._marks.get(name)
        return marks is not None and stamp <= marks.get(FORGOTTEN, 0)

    def mark(self, name: str, higher: dict[int, int], then: Committed) -> None:
        """Raise the marks of a queue, and call `then` when they are on disk and in effect, or with the error.

        `higher` has the new marks by priority. If it is empty, `then` is called after the next commit.
        """
        if not higher:
            self._disk.commit((), then)
            return
        wanted = self._wanted.setdefault(name, dict(self._marks.get(name, {})))
        _raise_to(wanted, higher)

        def written(error: MeshError | None) -> None:
            if error is None and name in self._wanted:
                _raise_to(self._marks.setdefault(name, {}), higher)
            then(error)

        self._commit(Put(PART, _mark(name), pack(wanted)), written)

    def _commit(self, op: Put, then: Committed) -> None:
        """Write a row that replaces pending writes of the same row."""
        self._shelf.supersede((op,))
        self._disk.commit((op,), then)

    # --- consumers --------------------------------------------------------------------------------------

    def takes(self, name: str, taker: bytes, now: ConsumerRow, then: Committed) -> None:
        """Store the row of a consumer, and call `then` when it is on disk, or with the error.

        If the same row is on disk already, `then` is called immediately.
        """
        is_known = self.consumers.get(name, {}).get(taker) == now
        if is_known and (name, taker) in self._stored:
            then(None)
            return
        self.consumers.setdefault(name, {})[taker] = now

        def written(error: MeshError | None) -> None:
            if error is None and self.consumers.get(name, {}).get(taker) == now:
                self._stored.add((name, taker))
            then(error)

        self._commit(Put(CONSUMER, _consumer(name, taker), now.to_bytes()), written)

    def takes_no_more(self, name: str, taker: bytes) -> None:
        """Delete the row of a consumer, if there is one, with the next commit."""
        self._stored.discard((name, taker))
        if self.consumers.get(name, {}).pop(taker, None) is not None:
            self._disk.later(CONSUMER, _consumer(name, taker), Delete(CONSUMER, _consumer(name, taker)))
            if not self.consumers[name]:
                del self.consumers[name]

    def delete_queue(self, name: str) -> None:
        """Delete the consumers and marks of a removed queue with the next commit."""
        for taker in list(self.consumers.get(name, ())):
            self.takes_no_more(name, taker)
        marks = self._marks.pop(name, None), self._wanted.pop(name, None)
        if marks != (None, None):
            self._disk.later(PART, _mark(name), Delete(PART, _mark(name)))

    def forget_envelopes(self) -> None:
        """Delete the states of envelopes that were not restored."""
        for key in self._envelopes:
            self._delete(key)
        self._envelopes.clear()


class RowsOf:
    """The rows of the queues in each store of a node."""

    def __init__(self, context: NodeContext, disks: Disks) -> None:
        self._disks = disks
        self._all = {
            disk.shelf.store: Rows(disk, Spool(context, disks.own, disk) if disk.shelf.is_other else None)
            for disk in disks
        }

    def __iter__(self) -> Iterator[Rows]:
        return iter(self._all.values())

    def rows_of(self, name: str) -> Rows:
        """Return the rows in the store that keeps the queue."""
        return self._all[self._disks.of_queue(name).shelf.store]


def _raise_to(marks: dict[int, int], higher: dict[int, int]) -> None:
    marks.update({priority: max(stamp, marks.get(priority, 0)) for priority, stamp in higher.items()})


def _mark(name: str) -> bytes:
    return name.encode() + b"\0"


def _consumer(name: str, taker: bytes) -> bytes:
    return _mark(name) + taker
