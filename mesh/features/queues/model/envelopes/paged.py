"""A compact index of envelopes that wait on disk only: 18 bytes each, or 26 in a page where any expires."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from math import inf

ROWS = 3990  # per page, chosen to waste no array space
SPAN = 2**32  # positions that one page may span, aligned
PagedRow = tuple[int, int, int]  # position, messages, bytes


class EnvelopePage:
    """Consecutive envelopes as columns, with positions in one span of SPAN positions."""

    __slots__ = ("_at", "_base", "_places", "counts", "expires", "first_void", "sent", "sizes")

    def __init__(self, position: int) -> None:
        self._base = position - position % SPAN
        self._places, self.sent = array("I"), array("Q")  # positions, relative to its base
        self.counts, self.sizes = array("H"), array("I")
        self.expires: array[int] | None = None  # when the last message of each expires
        self.first_void: float = inf
        self._at = 0  # index of the first remaining envelope

    def __len__(self) -> int:
        return len(self._places) - self._at

    @property
    def last(self) -> int:
        return self._base + self._places[-1]

    def has_room(self, position: int) -> bool:
        return len(self._places) < ROWS and self.spans(position)

    def spans(self, position: int) -> bool:
        return 0 <= position - self._base < SPAN

    def add(self, position: int, sent: int, count: int, size: int, expires: int) -> None:
        self._places.append(position - self._base)
        self.sent.append(sent)
        self.counts.append(count)
        self.sizes.append(size)
        if expires and self.expires is None:
            self.expires = array("Q", bytes(8 * (len(self._places) - 1)))
        if self.expires is not None:
            self.expires.append(expires)
            self.first_void = min(self.first_void, expires or inf)

    def reinsert(self, position: int, sent: int, count: int, size: int, expires: int) -> None:
        """Insert a removed envelope at its place."""
        if expires and self.expires is None:
            self.expires = array("Q", bytes(8 * len(self._places)))
        place = position - self._base
        at = bisect_left(self._places, place, lo=self._at)
        for column, value in zip(self._columns(), (place, sent, count, size, expires), strict=False):
            column.insert(at, value)
        if expires:
            self.first_void = min(self.first_void, expires)

    def take_out(self, position: int) -> PagedRow | None:
        """Remove and return an envelope, or return `None` if it is not here."""
        at = bisect_left(self._places, position - self._base, lo=self._at)
        if at == len(self._places) or self._position(at) != position:
            return None
        row = position, self.counts[at], self.sizes[at]
        for column in self._columns():
            del column[at]
        return row

    def _columns(self) -> list[array[int]]:
        columns = [self._places, self.sent, self.counts, self.sizes]
        return [*columns, self.expires] if self.expires is not None else columns

    def after(self, position: int) -> Iterator[tuple[PagedRow, int]]:
        """Yield the envelopes behind `position`, each with its acceptance time."""
        for i in range(bisect_right(self._places, position - self._base, lo=self._at), len(self._places)):
            yield (self._position(i), self.counts[i], self.sizes[i]), self.sent[i]

    def _position(self, at: int) -> int:
        return self._base + self._places[at]

    def take_first(self) -> PagedRow:
        at, self._at = self._at, self._at + 1
        return self._position(at), self.counts[at], self.sizes[at]

    def take_void(self, wall: int) -> list[PagedRow]:
        """Remove and return the envelopes whose messages have all expired at `wall` (ns since 1970)."""
        if self.first_void > wall or self.expires is None:
            return []
        kept, void = EnvelopePage(self._base), list[PagedRow]()
        for i in range(self._at, len(self._places)):
            if 0 < self.expires[i] <= wall:
                void.append((self._position(i), self.counts[i], self.sizes[i]))
            else:
                kept.add(self._position(i), self.sent[i], self.counts[i], self.sizes[i], self.expires[i])
        for name in self.__slots__:
            setattr(self, name, getattr(kept, name))
        return void


class PagedEnvelopes:
    """Envelopes in the order of their positions, which is the order of acceptance."""

    def __init__(self) -> None:
        self._pages: deque[EnvelopePage] = deque()
        self.messages = self.bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._pages))

    def __bool__(self) -> bool:
        return bool(self._pages)

    @property
    def oldest(self) -> int:
        """The time (ns since 1970) when the oldest envelope was accepted, or 0 if there is none."""
        return self._pages[0].sent[self._pages[0]._at] if self._pages else 0

    def last(self, n: int) -> int:
        """Return the acceptance time of the envelope `n` places behind the first, or of the last one.

        Return 0 if there is none.
        """
        for page in self._pages:
            if n < len(page):
                return page.sent[page._at + n]
            n -= len(page)
        return self._pages[-1].sent[-1] if self._pages else 0

    def add(self, position: int, sent: int, count: int, size: int, expires: int) -> None:
        """Append an envelope; `expires` is when its last message expires, or 0 for never."""
        if not self._pages or not self._pages[-1].has_room(position):
            self._pages.append(EnvelopePage(position))
        self._pages[-1].add(position, sent, count, size, expires)
        self.messages += count
        self.bytes += size

    def reinsert(self, position: int, sent: int, count: int, size: int, expires: int) -> None:
        """Insert a removed envelope at its place."""
        if not self._pages:
            self.add(position, sent, count, size, expires)
            return
        at = min(self._place(position), len(self._pages) - 1)
        if not self._pages[at].spans(position):
            at += self._pages[at].last < position
            self._pages.insert(at, EnvelopePage(position))
        self._pages[at].reinsert(position, sent, count, size, expires)
        self.messages += count
        self.bytes += size

    def take_out(self, position: int) -> bool:
        """Remove an envelope, and return whether it was here."""
        at = self._place(position)
        row = self._pages[at].take_out(position) if at < len(self._pages) else None
        if row is None:
            return False
        self._uncount(row)
        if not self._pages[at]:
            del self._pages[at]
        return True

    def after(self, position: int) -> Iterator[tuple[PagedRow, int]]:
        """Yield the envelopes behind `position`, each with its acceptance time."""
        for at in range(self._place(position + 1), len(self._pages)):
            yield from self._pages[at].after(position)

    def _place(self, position: int) -> int:
        return bisect_left(self._pages, position, key=lambda page: page.last)

    def take_positions(self, envelopes: int, size: int) -> tuple[int, ...]:
        """Remove the next envelopes up to `envelopes` envelopes or `size` bytes, and return their positions.

        The last envelope may exceed the limit of `size` bytes.
        """
        taken: list[int] = []
        while self._pages and len(taken) < envelopes and size > 0:
            row = self._pages[0].take_first()
            taken.append(self._uncount(row))
            size -= row[2]
            self._tidy()
        return tuple(taken)

    def take_void(self, wall: int, most: int) -> list[int]:
        """Remove expired envelopes, and return their positions.

        Whole pages are searched until at least `most` are found.
        """
        void: list[int] = []
        for page in self._pages:
            if len(void) < most:
                void += map(self._uncount, page.take_void(wall))
        self._pages = deque(page for page in self._pages if page)
        return void

    def _uncount(self, row: PagedRow) -> int:
        position, messages, size = row
        self.messages -= messages
        self.bytes -= size
        return position

    def _tidy(self) -> None:
        while self._pages and not self._pages[0]:
            self._pages.popleft()
