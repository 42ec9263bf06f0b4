"""Compact index of envelopes that wait on disk only, at 24 bytes each, or 32 if any of a page expires."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from math import inf

ROWS = 4096  # rows of one page
EntryRow = tuple[int, int, int, int, int]  # position, messages, bytes, stamp, expiry (0 = never)


class Page:
    """Consecutive envelopes, stored as columns."""

    __slots__ = ("_at", "counts", "expires", "first_void", "positions", "sizes", "stamps")

    def __init__(self) -> None:
        self.positions, self.stamps = array("Q"), array("Q")
        self.counts, self.sizes = array("I"), array("I")
        self.expires: array[int] | None = None  # ns of the last expiry of each, if any expires
        self.first_void: float = inf
        self._at = 0  # index of the first that is left

    def __len__(self) -> int:
        return len(self.positions) - self._at

    def add(self, position: int, stamp: int, count: int, size: int, expires: int) -> None:
        self.positions.append(position)
        self.stamps.append(stamp)
        self.counts.append(count)
        self.sizes.append(size)
        if expires and self.expires is None:
            self.expires = array("Q", bytes(8 * (len(self.positions) - 1)))
        if self.expires is not None:
            self.expires.append(expires)
            self.first_void = min(self.first_void, expires or inf)

    def take_first(self) -> EntryRow:
        self._at += 1
        return self._row(self._at - 1)

    def first_behind(self, stamp: int) -> int:
        """Return the lowest stamp above `stamp`, or 0. Stamps must be ascending."""
        at = bisect_right(self.stamps, stamp, self._at)
        return self.stamps[at] if at < len(self.stamps) else 0

    def messages_until(self, stamp: int) -> int:
        """Return the number of messages with stamps up to `stamp`. Stamps must be ascending."""
        return sum(self.counts[self._at : bisect_right(self.stamps, stamp, self._at)])

    def _row(self, at: int) -> EntryRow:
        expires = self.expires[at] if self.expires is not None else 0
        return self.positions[at], self.counts[at], self.sizes[at], self.stamps[at], expires

    def take_void(self, wall: int, size: float) -> list[EntryRow]:
        """Remove and return expired rows of about `size` bytes: the last one may exceed `size`."""
        if self.first_void > wall or self.expires is None:
            return []
        kept, void = Page(), list[EntryRow]()
        for i in range(self._at, len(self.positions)):
            if 0 < self.expires[i] <= wall and size > 0:
                void.append(self._row(i))
                size -= self.sizes[i]
            else:
                kept.add(self.positions[i], self.stamps[i], self.counts[i], self.sizes[i], self.expires[i])
        for name in self.__slots__:
            setattr(self, name, getattr(kept, name))
        return void


class Paged:
    """Envelopes that wait on disk only, in order.

    The stamp of an envelope is its place in the order: a time or a number.
    """

    def __init__(self) -> None:
        self._pages: deque[Page] = deque()
        self._count = self.messages = self.bytes = 0

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return bool(self._pages)

    @property
    def first(self) -> int:
        """The stamp of the first envelope, or 0."""
        return self._pages[0].stamps[self._pages[0]._at] if self._pages else 0

    def last(self, n: int) -> int:
        """Return the stamp of the envelope `n` places behind the first, or of the last one; 0 if empty."""
        for page in self._pages:
            if n < len(page):
                return page.stamps[page._at + n]
            n -= len(page)
        return self._pages[-1].stamps[-1] if self._pages else 0

    def add(self, position: int, stamp: int, count: int, size: int, expires: int = 0) -> None:
        """Append an envelope.

        `expires` is when its last message expires (ns since 1970), 0 = never.
        """
        page = self._pages[-1] if self._pages else None
        if page is None or len(page.positions) >= ROWS:
            page = Page()
            self._pages.append(page)
        page.add(position, stamp, count, size, expires)
        self._count += 1
        self.messages += count
        self.bytes += size

    def take_positions(self, envelopes: int, size: int) -> tuple[int, ...]:
        """Remove the next envelopes, at most `envelopes`, and return their positions.

        Once they have `size` bytes, no further envelope is removed; the last one may exceed `size`.
        """
        taken: list[int] = []
        while self._pages and len(taken) < envelopes and size > 0:
            row = self.pop()
            taken.append(row[0])
            size -= row[2]
        return tuple(taken)

    def pop(self) -> EntryRow:
        row = self._uncount(self._pages[0].take_first())
        self._tidy()
        return row

    def first_behind(self, stamp: int) -> int:
        """Return the lowest stamp above `stamp`, or 0. Stamps must be ascending."""
        return next(filter(None, (page.first_behind(stamp) for page in self._pages)), 0)

    def messages_until(self, stamp: int) -> int:
        """Return the number of messages with stamps up to `stamp`. Stamps must be ascending."""
        return sum(page.messages_until(stamp) for page in self._pages)

    def take_void(self, wall: int, most: int, size: float = inf) -> list[EntryRow]:
        """Remove and return rows that have expired at `wall`, limited by `most` and `size`.

        `most` may be exceeded by the rest of a page, and `size` by one row.
        """
        void: list[EntryRow] = []
        for page in self._pages:
            if len(void) < most and size > 0:
                rows = page.take_void(wall, size)
                size -= sum(row[2] for row in rows)
                void += map(self._uncount, rows)
        self._tidy()
        return void

    def _uncount(self, row: EntryRow) -> EntryRow:
        _, messages, size, *_ = row
        self._count -= 1
        self.messages -= messages
        self.bytes -= size
        return row

    def _tidy(self) -> None:
        while self._pages and not self._pages[0]:
            self._pages.popleft()
