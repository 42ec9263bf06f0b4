"""The keys of all topics that there are now, piece by piece: of a million nobody makes a list at once."""

from __future__ import annotations

from typing import Protocol

PIECE = 20_000  # keys: less than a millisecond, and that once for so many


class Topics(Protocol):
    """Whoever has them: in the order in which they came, and how many have gone since the start."""

    gone: int

    @property
    def key_count(self) -> int: ...

    def some_keys(self, begin: int, end: int) -> list[str]: ...


class KeyList:
    """A list of them, which only grows at its end. Each key that was there, and is there still, is met at
    least once; one may be met twice when others go meanwhile, for those behind them move up."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._count, self._gone = topics.key_count, topics.gone
        self._piece: list[str] = []
        self._begin = 0  # its place in this list

    def __len__(self) -> int:
        return self._count + self._topics.gone - self._gone

    def __getitem__(self, wanted: slice) -> list[str]:
        """Some of them, from where it was looked at last; fewer than wanted where a piece ends."""
        begin = wanted.start - self._begin
        if not 0 <= begin < len(self._piece):
            place = max(0, wanted.start - (self._topics.gone - self._gone))
            self._begin, begin = wanted.start, 0
            self._piece = self._topics.some_keys(place, min(place + PIECE, self._count))
        return self._piece[begin : begin + wanted.stop - wanted.start]
