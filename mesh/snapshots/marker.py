"""Segments that are stored safely elsewhere, as ranges of numbers for each boot of each node."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Annotated

import msgspec

from mesh.snapshots.segment import SegmentName

# Files beside the segments, written by ingest and by `mesh snapshots sync`.
INGESTED, SYNCED = "_ingested.json", "_synced.json"

SegmentNumber = Annotated[int, msgspec.Meta(ge=1)]
Range = tuple[SegmentNumber, SegmentNumber]  # first and last, both included
_decoder = msgspec.json.Decoder(dict[str, list[Range]])


class Marker(msgspec.Struct, frozen=True):
    """The contents of a marker file: sorted, disjoint ranges of segment numbers for each boot of a node."""

    ranges: dict[str, tuple[Range, ...]] = {}

    @classmethod
    def parse(cls, content: bytes) -> "Marker":
        """Parse `{"heron-1a2b3c4d-7": [[1, 340], [342, 350]]}`. Raises: ValueError."""
        found = _decoder.decode(content)
        for run, ranges in found.items():
            for first, last in ranges:
                if first > last:
                    raise ValueError(f"{run[:80]!r} has a range from {first} to {last}")
        return cls({run: _joined(ranges) for run, ranges in found.items()})

    def encode(self) -> bytes:
        return msgspec.json.encode(self.ranges, order="sorted")

    def covers(self, name: SegmentName) -> bool:
        """Return whether this segment is safe elsewhere."""
        ranges = self.ranges.get(name.run, ())
        after = bisect_right(ranges, (name.number + 1,))  # the first range after it
        return after > 0 and name.number <= ranges[after - 1][1]

    def add(self, names: Iterable[SegmentName]) -> "Marker":
        more: defaultdict[str, list[Range]] = defaultdict(list)
        for name in names:
            more[name.run].append((name.number, name.number))
        joined = {run: _joined([*self.ranges.get(run, ()), *ranges]) for run, ranges in more.items()}
        return Marker({**self.ranges, **joined})

    def only(self, runs: Collection[str]) -> "Marker":
        """Return a marker of the boots in `runs` only: otherwise old boots would accumulate forever."""
        return Marker({run: ranges for run, ranges in self.ranges.items() if run in runs})


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)
