"""The bookkeeping of one store: what gets which place in it, what leaves it, and what waits for a commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.operations import Append, Delete, Drop, Op, Put, Rewrite
from mesh.routing.parcel import Parcel
from mesh.routing.shares import OwedShares

CHANGES = (Put, Delete)  # of a row: a union would be made anew at each look


class Shelf:
    """One store as its node counts it. `store` is its name; "" is that of the node itself."""

    def __init__(self, store: str = "", is_volatile: bool = False) -> None:
        self.store = store
        self.is_volatile = is_volatile  # it is gone with the process
        self.is_other = bool(store)  # its places are not those of the log
        self.next_position = 1
        self.live = 0  # envelopes stored and owed to somebody
        # By table and key: side-table changes that may wait for the next commit,
        self._later: dict[tuple[str, bytes], Op] = {}
        self._newest: dict[
            tuple[str, bytes], Op
        ] = {}  # and the newest of each row among those not on disk yet
        self._drops: list[int] = []
        self._rewrites: dict[int, Rewrite] = {}

    def append(self, parcel: Parcel, owed: OwedShares = ()) -> Append:
        """Give it the next position; these are owed it."""
        parcel.position = self.next_position
        parcel.is_late = self.is_other
        self.next_position += 1
        self.live += 1
        parcel.owe(owed)
        return Append(parcel.position, parcel.envelope.header(), parcel.envelope.body)

    def restore(self, parcel: Parcel, owed: OwedShares) -> None:
        """A parcel that has stood there since before the start; perhaps nobody is owed it any more."""
        self.live += 1
        parcel.is_late = self.is_other
        parcel.owe(owed)
        if not owed:
            self.released(parcel)

    def released(self, parcel: Parcel) -> None:
        """A place that nobody needs any more: its envelope leaves with the next commit."""
        self.left(parcel.position)

    def left(self, position: int) -> None:
        """The same, of what is not in memory."""
        self.live -= 1
        self._rewrites.pop(position, None)
        self._drops.append(position)

    def thinned(self, parcel: Parcel) -> None:
        """Fewer of its messages may be owed than before: if they are few, the others leave the disk."""
        left = parcel.shares.left(parcel.envelope) if parcel.shares is not None else ()
        if left:
            self.keep_only(parcel, left)

    def keep_only(self, parcel: Parcel, left: Sequence[int]) -> None:
        """The others of its messages leave the disk with the next commit."""
        piece = parcel.envelope.cut(left)
        self._rewrites[parcel.position] = Rewrite(parcel.position, piece.header(), piece.body)

    def later(self, table: str, key: bytes, op: Op) -> None:
        """A change that may ride with the next commit; a newer one of the same row replaces it."""
        self._later[table, key] = self._newest[table, key] = op

    def supersede(self, ops: Iterable[Op]) -> None:
        """Earlier changes of their rows that wait, or are still to fail, must not come after these."""
        for op in ops:
            if isinstance(op, CHANGES):
                row = op.table, op.key
                self._later.pop(row, None)
                self._newest.pop(row, None)

    @property
    def has_later(self) -> bool:
        return bool(self._later or self._drops or self._rewrites)

    def take_later(self) -> list[Op]:
        """All that has gathered for the next commit."""
        ops: list[Op] = [*self._later.values(), *self._rewrites.values()]
        if self._drops:
            ops.append(Drop(tuple(self._drops)))
        self._later, self._drops, self._rewrites = {}, [], {}
        return ops

    def not_written(self, ops: Iterable[Op]) -> None:
        """A commit failed: what was taken for it rides with the next, unless there is newer."""
        for op in ops:
            if isinstance(op, Drop):
                self._drops += op.positions
            elif isinstance(op, Rewrite):
                self._rewrites.setdefault(op.position, op)
            elif isinstance(op, CHANGES) and self._newest.get((op.table, op.key)) is op:
                self._later[op.table, op.key] = op

    def written(self, ops: Iterable[Op]) -> None:
        """A commit is on disk, with what was taken for it."""
        for op in ops:
            if isinstance(op, CHANGES) and self._newest.get((op.table, op.key)) is op:
                del self._newest[op.table, op.key]
