"""Which places in a master's log are owed to a site no more, as it had no room for them?

What stands there may be owed to others still, and so be there when the node begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from mesh.streams.ranges import Ranges

# Law: what is kept for the site stands in no run; what was never for it may. So there are no more runs than
#      portions that wait, and one more with each start.


class PassedOver:
    """The places of one site, in runs. They come as they rise."""

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._lasts = dict(sorted(runs))  # by the first of each
        self._first = 0  # of the run that goes on; 0: none does

    def add(self, place: int) -> int:
        """One more; returns the first of its run."""
        self._first = self._first or place
        self._lasts[self._first] = place
        return self._first

    def keep(self) -> None:
        """What comes in between is kept: the run is over."""
        self._first = 0

    def take_settled(self, position: float) -> list[int]:
        """The firsts of those runs of which nothing is behind this place; they are gone."""
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
        """All of them."""
        ranges = Ranges()
        for first, last in self._lasts.items():
            ranges.add(first, last)
        return ranges
