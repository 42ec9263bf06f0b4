"""A set of positive integers, kept as ranges."""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import sub

from mesh.errors import RemoteError
from mesh.wire.limits import LARGEST_NUMBER

_ONE = struct.Struct(">2Q")
_END = (LARGEST_NUMBER + 1, LARGEST_NUMBER + 1)  # behind all ranges
MANY = 4  # ranges from which bulk operations pay off
MOST_PACKED = 1_000_000  # ranges that `unpack` admits: 16 MB

# Law: firsts[i] <= lasts[i], and lasts[i] + 1 < firsts[i + 1]. Adjacent ranges are merged.


class Ranges:
    """A set of positive integers as sorted, disjoint, inclusive ranges. `len()` counts ranges."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    @classmethod
    def of(cls, numbers: Iterable[int]) -> "Ranges":
        ranges = cls()
        for number in numbers:
            ranges.add(number, number)
        return ranges

    def add(self, first: int, last: int) -> None:
        """Add first..last, of which any part may be present. Raises: ValueError, for an invalid range."""
        if not 1 <= first <= last <= LARGEST_NUMBER:
            raise ValueError(f"{first}..{last} is not a range of numbers from 1 to {LARGEST_NUMBER}")
        firsts, lasts = self._firsts, self._lasts
        if not lasts:
            firsts.append(first)
            lasts.append(last)
            return
        beyond = first - lasts[-1]
        if beyond == 1:
            lasts[-1] = last
        elif beyond > 1:
            firsts.append(first)
            lasts.append(last)
        else:
            self._insert(first, last)

    def add_all(self, runs: Sequence[tuple[int, int]]) -> None:
        """Add ascending ranges; the cost stays low even for many."""
        if len(runs) >= MANY:
            firsts, lasts = zip(*runs, strict=True)
            # Usually they are behind all others and disjoint.
            if firsts[0] > self.top() + 1 and min(map(sub, firsts[1:], lasts)) > 1:
                self._firsts += firsts
                self._lasts += lasts
                return
        for first, last in runs:
            self.add(first, last)

    def _insert(self, first: int, last: int) -> None:
        # The ranges start..stop-1 overlap the new one or are adjacent. All become one.
        start = bisect_left(self._lasts, first - 1)
        stop = bisect_right(self._firsts, last + 1)
        if start < stop:
            first = min(first, self._firsts[start])
            last = max(last, self._lasts[stop - 1])
        self._firsts[start:stop] = [first]
        self._lasts[start:stop] = [last]

    def __contains__(self, number: int) -> bool:
        return self.overlaps(number, number)

    def covers(self, first: int, last: int) -> bool:
        """Return whether all of first..last is in the set."""
        place = bisect_left(self._lasts, last)
        return place < len(self._lasts) and self._firsts[place] <= first

    def overlaps(self, first: int, last: int) -> bool:
        """Return whether any of first..last is in the set."""
        place = bisect_left(self._lasts, first)
        return place < len(self._lasts) and self._firsts[place] <= last

    def missing(self, first: int, last: int) -> list[tuple[int, int]]:
        if not self._lasts or first > self._lasts[-1]:  # the usual case
            return [(first, last)] if first <= last else []
        gaps = []
        for place in range(bisect_left(self._lasts, first), len(self._lasts)):
            if self._firsts[place] > last:
                break
            if first < self._firsts[place]:
                gaps.append((first, self._firsts[place] - 1))
            first = self._lasts[place] + 1
        if first <= last:
            gaps.append((first, last))
        return gaps

    def common(self, first: int, last: int) -> list[tuple[int, int]]:
        if self._firsts and self._firsts[-1] <= first <= last <= self._lasts[-1]:  # the usual case
            return [(first, last)]
        parts = []
        for place in range(bisect_left(self._lasts, first), len(self._lasts)):
            if self._firsts[place] > last:
                break
            parts.append((max(first, self._firsts[place]), min(last, self._lasts[place])))
        return parts

    def common_all(self, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the parts of ascending ranges that are in the set, in order."""
        if runs and (self.covers(runs[0][0], runs[-1][1]) or runs == [*self]):  # the usual case
            return list(runs)
        return [part for first, last in runs for part in self.common(first, last)]

    def contiguous_end(self, start: int) -> int:
        """Return the last number of the range that contains `start`, or start - 1 without one."""
        place = bisect_left(self._lasts, start)
        if place < len(self._lasts) and self._firsts[place] <= start:
            return self._lasts[place]
        return start - 1

    def top(self) -> int:
        """Return the highest number; 0 if empty."""
        return self._lasts[-1] if self._lasts else 0

    def bottom(self) -> int:
        """Return the lowest number. Raises: IndexError, if empty."""
        return self._firsts[0]

    def lowest(self) -> int:
        """Return the end of the lowest range. Raises: IndexError, if empty."""
        return self._lasts[0]

    def remove(self, first: int, last: int) -> list[tuple[int, int]]:
        """Remove first..last, and return the parts of it that were in the set, in order."""
        firsts, lasts = self._firsts, self._lasts
        if firsts and first <= firsts[0] and lasts[-1] <= last:  # the usual case: all
            taken = list(zip(firsts, lasts, strict=True))
            self._firsts, self._lasts = [], []
            return taken
        start, stop = bisect_left(lasts, first), bisect_right(firsts, last)
        if start >= stop:
            return []
        low, high = firsts[start], lasts[stop - 1]
        before, after = low < first, high > last
        is_within = stop - start == 1 and low <= first and last <= high
        taken = [(first, last)] if is_within else self.common(first, last)
        firsts[start:stop] = [low] * before + [last + 1] * after
        lasts[start:stop] = [first - 1] * before + [high] * after
        return taken

    def remove_all(self, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Remove ascending ranges, and return the parts of them that were in the set, in order."""
        if len(runs) < MANY:
            return [part for first, last in runs for part in self.remove(first, last)]
        if runs == [*self]:
            self._firsts, self._lasts = [], []
            return list(runs)
        if len(self) == 1 and self.covers(runs[0][0], runs[-1][1]):
            return self._pierce(runs)
        mine, left, taken = iter([*self, _END]), [], []
        a, b = next(mine)
        for first, last in runs:
            while b < first:
                left.append((a, b))
                a, b = next(mine)
            while a <= last:
                if a < first:
                    left.append((a, first - 1))
                taken.append((max(a, first), min(b, last)))
                if b > last:
                    a = last + 1
                    break
                a, b = next(mine)
        left += [each for each in ((a, b), *mine) if each != _END]
        self._firsts, self._lasts = [a for a, _ in left], [b for _, b in left]
        return taken

    def _pierce(self, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Remove ascending ranges that all lie within the single range of this set."""
        before = [first - 1 for first, _ in runs]
        behind = [last + 1 for _, last in runs]
        behind.insert(0, self._firsts[0])
        before.append(self._lasts[0])
        left = [(a, b) for a, b in zip(behind, before, strict=True) if a <= b]
        self._firsts, self._lasts = [a for a, _ in left], [b for _, b in left]
        return list(runs)

    def copy(self) -> "Ranges":
        twin = Ranges()
        twin._firsts, twin._lasts = self._firsts.copy(), self._lasts.copy()
        return twin

    def drop_below(self, number: int) -> None:
        if not self._firsts or number <= self._firsts[0]:
            return
        place = bisect_left(self._lasts, number)
        del self._firsts[:place], self._lasts[:place]
        if self._firsts and self._firsts[0] < number:
            self._firsts[0] = number

    def drop_lowest(self) -> int:
        """Remove the lowest range and return its end. Raises: IndexError, if empty."""
        del self._firsts[0]
        return self._lasts.pop(0)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Iterate over (first, last), in order."""
        return zip(self._firsts, self._lasts, strict=True)

    def __len__(self) -> int:
        return len(self._firsts)

    def count(self) -> int:
        """Return how many numbers are in the set."""
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def __repr__(self) -> str:
        shown = [f"{first}..{last}" for first, last in zip(self._firsts[:8], self._lasts, strict=False)]
        more = ["..."] if len(self) > 8 else []
        return f"Ranges({', '.join(shown + more)})"

    def pack(self) -> bytes:
        """Return first and last of each range as unsigned 64-bit big-endian integers; b"" if empty."""
        n = len(self._firsts)
        if n <= 1:  # the usual case
            return _ONE.pack(self._firsts[0], self._lasts[0]) if n else b""
        flat = [0] * (2 * n)
        flat[::2], flat[1::2] = self._firsts, self._lasts
        return struct.pack(f">{2 * n}Q", *flat)

    @classmethod
    def unpack(cls, packed: bytes) -> "Ranges":
        """Return the set that `pack` wrote. Raises: RemoteError, if the bytes are invalid."""
        count, rest = divmod(len(packed), 16)
        if rest:
            raise RemoteError(f"packed ranges have {len(packed)} bytes, which is not a multiple of 16")
        if count > MOST_PACKED:
            raise RemoteError(f"a set has {count} packed ranges; at most {MOST_PACKED} are allowed")
        flat = struct.unpack(f">{2 * count}Q", packed)
        ranges = cls()
        ranges._firsts, ranges._lasts = list(flat[::2]), list(flat[1::2])
        ranges._check()
        return ranges

    def _check(self) -> None:
        ends = [0, *self._lasts]
        # The first range may begin at 1, adjacent to the 0. All others are separate from the one before.
        for place, (first, last) in enumerate(self):
            if not (ends[place] + (place > 0) < first <= last <= LARGEST_NUMBER):
                raise RemoteError(
                    f"packed range {place}, {first}..{last} after {ends[place]}, is out of order or too large"
                )


def numbers_within(numbers: Collection[int], first: int, last: int) -> list[int]:
    """Return the elements from `first` to `last`, in any order.

    The cost grows with the smaller of the two: the collection, and the range.
    """
    if last - first < len(numbers):
        return [n for n in range(first, last + 1) if n in numbers]
    return [n for n in numbers if first <= n <= last]
