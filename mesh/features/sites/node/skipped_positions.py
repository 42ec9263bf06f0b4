"""Positions of a master's log that are no longer owed to a site, because messages for it were dropped.

The stored messages may still be owed to other sinks, and so be in the log after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable

from mesh.streams.ranges import Ranges

# Law: a run holds no position that is kept for the site, but it may hold positions that were never for it. So
# there are at most as many runs as waiting slices, and one more for each start.


class SkippedPositions:
    """The skipped positions of one site, in runs; positions are added in rising order."""

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._lasts = dict(sorted(runs))  # by first position
        self._first = 0  # of the open run; 0 means none

    def add(self, place: int) -> int:
        """Add a position, and return the first one of its run."""
        self._first = self._first or place
        self._lasts[self._first] = place
        return self._first

    def end_run(self) -> None:
        """End the open run, because the next position is kept."""
        self._first = 0

    def take_settled(self, position: float) -> list[int]:
        """Remove the runs that end at or before `position`, and return their first positions."""
        settled = []
        for first, last in self._lasts.items():
            if last > position:
                break
            settled.append(first)
        for first in settled:
            del self._lasts[first]
        if self._first not in self._lasts:
            self._first = 0
        return settled

    def places(self) -> Ranges:
        """Return all positions of all runs."""
        ranges = Ranges()
        for first, last in self._lasts.items():
            ranges.add(first, last)
        return ranges
