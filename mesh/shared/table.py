"""The rows of one kind, and how two nodes find out that they do not have the same."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from discovery.state import Summary
from mesh.shared.row import DIGEST, SharedRow

ROWS = 20_000  # of one kind
BYTES = 16 << 20  # of their values and names


class RowTable:
    """By name. See the laws of row.py."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._rows: dict[str, SharedRow] = {}
        self._bytes = 0
        self._summary: Summary | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[SharedRow]:
        """All of them, in the order of their places."""
        return iter(sorted(self._rows.values(), key=lambda row: row.place))

    def get(self, name: str) -> SharedRow | None:
        """The row of that name, which may be a deletion."""
        return self._rows.get(name)

    def is_news(self, row: SharedRow) -> bool:
        """Does it count, beside the one that is here?"""
        known = self._rows.get(row.name)
        return known is None or row.rank > known.rank

    def has_room(self, row: SharedRow) -> bool:
        """Can it be taken?"""
        known = self._rows.get(row.name)
        size = self._bytes + _size(row) - (_size(known) if known is not None else 0)
        return size <= BYTES and (known is not None or len(self._rows) < ROWS)

    def take(self, row: SharedRow) -> None:
        """Take a row that counts from now on."""
        known = self._rows.get(row.name)
        self._bytes += _size(row) - (_size(known) if known is not None else 0)
        self._rows[row.name] = row
        self._summary = None

    @property
    def summary(self) -> Summary:
        """The summary that others are told: two nodes with the same one have the same rows."""
        if self._summary is None:
            digest = blake2b(digest_size=DIGEST)
            for name, row in sorted(self._rows.items()):
                stamp, author, value = row.rank
                digest.update(b"%d %d " % (len(name), stamp) + name.encode() + author + value)
            stamp = max((row.stamp for row in self._rows.values()), default=0)
            self._summary = Summary(self.kind, stamp, digest.digest() if self._rows else b"")
        return self._summary

    def behind(self, stamp: int, name: str) -> Iterator[SharedRow]:
        """The rows whose place is a later one."""
        return (row for row in self if row.place > (stamp, name))


def _size(row: SharedRow) -> int:
    return len(row.value) + len(row.name)
