"""Incremental list of the keys of all topics, which may be millions."""

from __future__ import annotations

from typing import Protocol

PIECE = 20_000  # keys: less than a millisecond


class Topics(Protocol):
    """A table of topics in order of arrival, with the number of topics removed since the start."""

    gone: int

    @property
    def key_count(self) -> int: ...

    def some_keys(self, begin: int, end: int) -> list[str]: ...


class KeyList:
    """A list of keys that grows only at its end, read piece by piece.

    Each key that stays is returned at least once. A key may be returned twice if others are removed
    meanwhile, because the keys behind them move up.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._count, self._gone = topics.key_count, topics.gone
        self._piece: list[str] = []
        self._begin = 0  # index of its first key

    def __len__(self) -> int:
        return self._count + self._topics.gone - self._gone

    def __getitem__(self, wanted: slice) -> list[str]:
        """Return keys from `wanted.start` on, fewer than wanted at the end of a piece."""
        begin = wanted.start - self._begin
        if not 0 <= begin < len(self._piece):
            place = max(0, wanted.start - (self._topics.gone - self._gone))
            self._begin, begin = wanted.start, 0
            self._piece = self._topics.some_keys(place, min(place + PIECE, self._count))
        return self._piece[begin : begin + wanted.stop - wanted.start]
