"""The rows of one kind, and the summaries by which two nodes find differences."""

# Law 1: deletions do not count against the limit of rows. They are kept for KEPT ns, but at most the newest
# DELETIONS of them.
# Law 2: nodes with the same rows and the same newest timestamp have the same summary, whatever deletions they
# still keep: forgetting one makes no difference.

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from hashlib import blake2b

from mesh.discovery.state import Summary
from mesh.shared.row import DIGEST, SharedRow

ROWS = 20_000  # of one kind, without deletions
BYTES = 16 << 20  # of values and names
DELETIONS = 5_000  # of one kind
KEPT = 30 * 24 * 3600 * 10**9  # ns from a deletion's stamp until it is forgotten
SUMS = 1 << (8 * DIGEST)  # a digest is a sum modulo this

Place = tuple[int, str]


class RowTable:
    """The rows of one kind by name. See the laws of row.py."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._rows: dict[str, SharedRow] = {}  # including deletions
        self._places: list[Place] = []  # of all rows, sorted
        self._deleted: list[Place] = []  # of deletions, sorted
        self._bytes = 0  # of rows that are not deletions
        self._sum = 0  # of the hashes of these rows
        self._newest = 0  # highest timestamp ever

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[SharedRow]:
        """Iterate over all rows, in the order of their positions."""
        return (self._rows[name] for _, name in self._places)

    def get_row(self, name: str) -> SharedRow | None:
        """Return the row of that name, which may be a deletion, or None."""
        return self._rows.get(name)

    def is_news(self, row: SharedRow) -> bool:
        known = self._rows.get(row.name)
        return known is None or row.rank > known.rank

    def is_over(self, row: SharedRow, wall: int) -> bool:
        """Return whether `row` deletes an unknown row and is too old to be kept."""
        if row.value or row.name in self._rows:
            return False
        is_full = len(self._deleted) >= DELETIONS
        return row.stamp + KEPT <= wall or (is_full and row.place <= self._deleted[-DELETIONS])

    def has_room(self, row: SharedRow) -> bool:
        """Return whether the row fits into the limits; a deletion always does."""
        known = self._rows.get(row.name)
        is_more = bool(row.value) and (known is None or not known.value)
        if not row.value:
            return True
        size = self._bytes + _size(row) - (_size(known) if known is not None else 0)
        return size <= BYTES and (not is_more or len(self._rows) - len(self._deleted) < ROWS)

    def insert(self, row: SharedRow) -> None:
        known = self._rows.get(row.name)
        if known is not None:
            self._drop(known)
        self._rows[row.name] = row
        insort(self._places, row.place)
        if row.value:
            self._bytes += _size(row)
            self._sum = (self._sum + _hash(row)) % SUMS
        else:
            insort(self._deleted, row.place)
        self._newest = max(self._newest, row.stamp)

    def drop_deletions(self, wall: int) -> list[str]:
        """Forget the deletions that are no longer kept (Law 1), and return their names."""
        surplus = max(0, len(self._deleted) - DELETIONS)
        expired = bisect_right(self._deleted, wall - KEPT, key=lambda place: place[0])
        over = [name for _, name in self._deleted[: max(surplus, expired)]]
        for name in over:
            self._drop(self._rows[name])
        return over

    def _drop(self, row: SharedRow) -> None:
        del self._rows[row.name]
        del self._places[bisect_left(self._places, row.place)]
        if row.value:
            self._bytes -= _size(row)
            self._sum = (self._sum - _hash(row)) % SUMS
        else:
            del self._deleted[bisect_left(self._deleted, row.place)]

    @property
    def summary(self) -> Summary:
        """The summary that is sent to other nodes (Law 2)."""
        digest = self._sum.to_bytes(DIGEST) if self._newest or self._rows else b""
        return Summary(self.kind, self._newest, digest)

    def behind(self, stamp: int, name: str) -> Iterator[SharedRow]:
        """Yield the rows behind the position (`stamp`, `name`), in order."""
        first = bisect_right(self._places, (stamp, name))
        return (self._rows[name] for _, name in self._places[first:])


def _size(row: SharedRow) -> int:
    return len(row.value) + len(row.name) if row.value else 0


def _hash(row: SharedRow) -> int:
    stamp, author, value = row.rank
    text = b"%d %d " % (len(row.name), stamp) + row.name.encode() + author + value
    return int.from_bytes(blake2b(text, digest_size=DIGEST).digest())
