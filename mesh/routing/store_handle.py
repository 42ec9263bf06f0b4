"""Bookkeeping of one store: positions, releases, and changes that wait for a commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.operations import Append, Delete, Drop, Op, Put, Rewrite
from mesh.routing.pins import Pins
from mesh.routing.shares import OwedShares
from mesh.routing.stored_envelope import StoredEnvelope

CHANGES = (Put, Delete)  # row operations; a tuple is faster than a union here


class StoreHandle:
    """The bookkeeping of one store.

    `store` is its name; "" is the store of the node itself.
    """

    def __init__(self, store: str = "", is_volatile: bool = False) -> None:
        self.store = store
        self.is_volatile = is_volatile  # lost with the process
        self.is_other = bool(store)  # its positions are not those of the log
        self.next_position = 1
        self.live = 0  # stored envelopes with sinks or pins
        self.pins = Pins()
        # By table and key: changes of side tables that wait for the next commit.
        self._later: dict[tuple[str, bytes], Op] = {}
        self._newest: dict[tuple[str, bytes], Op] = {}  # newest of each row that is not on disk yet
        self._drops: list[int] = []
        self._rewrites: dict[int, Rewrite] = {}

    def append_envelope(self, stored: StoredEnvelope, owed: OwedShares = ()) -> Append:
        """Assign the next position to the envelope, set its sinks, and return the operation to store it."""
        stored.position = self.next_position
        stored.is_late = self.is_other
        self.next_position += 1
        self.live += 1
        stored.owe(owed)
        return Append(stored.position, stored.envelope.header(), stored.envelope.body)

    def restore_envelope(self, stored: StoredEnvelope, owed: OwedShares) -> None:
        """Register a stored envelope from before the start.

        Without sinks it is deleted with the next commit.
        """
        self.live += 1
        stored.is_late = self.is_other
        stored.owe(owed)
        if not owed:
            self.delete_released(stored)

    def delete_released(self, stored: StoredEnvelope) -> None:
        """With the next commit, delete a stored envelope that has no sinks left, unless it is pinned.

        Pins are for subscribers. A kept message of a queue would be delivered again after a restart.
        """
        if self.pins and not stored.envelope.to and self.pins.delays(stored.position):
            return
        self.drop_position(stored.position)

    def drop_position(self, position: int) -> None:
        """With the next commit, delete the envelope at this position."""
        self.live -= 1
        self._rewrites.pop(position, None)
        self._drops.append(position)

    def shrink(self, stored: StoredEnvelope) -> None:
        """With the next commit, cut the envelope on disk, if few of its messages are still owed."""
        left = stored.shares.remaining(stored.envelope) if stored.shares is not None else ()
        if left:
            self.keep_only(stored, left)

    def keep_only(self, stored: StoredEnvelope, left: Sequence[int]) -> None:
        """With the next commit, delete all messages of the envelope on disk except those in `left`."""
        if self.pins and self.pins.holds(stored.position):
            return
        piece = stored.envelope.cut(left)
        self._rewrites[stored.position] = Rewrite(stored.position, piece.header(), piece.body)

    def drop_unpinned(self) -> None:
        """With the next commit, delete the envelopes that only pins have kept so far."""
        for position in self.pins.take_free():
            self.drop_position(position)

    def later(self, table: str, key: bytes, op: Op) -> None:
        """Queue a change for the next commit, in place of an earlier one of the same row."""
        self._later[table, key] = self._newest[table, key] = op

    def supersede(self, ops: Iterable[Op]) -> None:
        """Discard earlier changes of the same rows, which must not be written after `ops`."""
        for op in ops:
            if isinstance(op, CHANGES):
                row = op.table, op.key
                self._later.pop(row, None)
                self._newest.pop(row, None)

    @property
    def has_later(self) -> bool:
        return bool(self._later or self._drops or self._rewrites)

    def take_later(self) -> list[Op]:
        ops: list[Op] = [*self._later.values(), *self._rewrites.values()]
        if self._drops:
            ops.append(Drop(tuple(self._drops)))
        self._later, self._drops, self._rewrites = {}, [], {}
        return ops

    def not_written(self, ops: Iterable[Op]) -> None:
        """Queue operations from `take_later` again after a failed commit, unless there are newer ones."""
        for op in ops:
            if isinstance(op, Drop):
                self._drops += op.positions
            elif isinstance(op, Rewrite):
                self._rewrites.setdefault(op.position, op)
            elif isinstance(op, CHANGES) and self._newest.get((op.table, op.key)) is op:
                self._later[op.table, op.key] = op

    def written(self, ops: Iterable[Op]) -> None:
        """Record that a commit with these operations is on disk."""
        for op in ops:
            if isinstance(op, CHANGES) and self._newest.get((op.table, op.key)) is op:
                del self._newest[op.table, op.key]
