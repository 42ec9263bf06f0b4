"""Tracks which requesters wait for answers to which sequence numbers, and the bytes in transit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from mesh.core.sites.custody import WAITS
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer

W = TypeVar("W")


class AnsweredPart(NamedTuple, Generic[W]):
    """The part of an answer that is for one requester.

    `freed` is the number of bytes that are no longer in transit after this part.
    """

    who: W
    answer: Answer
    freed: int


class AskedNumbers(Generic[W]):
    """The unanswered sequence numbers of one stream in a domain, by requester.

    Numbers that wait for a remote master stay unanswered, but their bytes are no longer in transit.
    """

    __slots__ = ("_numbers", "_sizes")

    def __init__(self) -> None:
        self._numbers: dict[W, Ranges] = {}
        self._sizes: dict[W, int] = {}

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def has(self, who: W, first: int, last: int) -> bool:
        """Return whether `who` already waits for all numbers from `first` to `last`."""
        return who in self._numbers and self._numbers[who].covers(first, last)

    def add(self, who: W, first: int, last: int, size: int = 0) -> None:
        """Add the numbers from `first` to `last`, for which `who` waits.

        `size` is the number of bytes that their messages add to the bytes in transit.
        """
        self._numbers.setdefault(who, Ranges()).add(first, last)
        self._sizes[who] = self._sizes.get(who, 0) + size

    def answered(self, answer: Answer) -> Iterator[AnsweredPart[W]]:
        """Yield the parts of an answer, one for each requester and range, and remove their numbers.

        Numbers for which no requester waits are ignored. Numbers that only wait for a remote master are not
        removed.
        """
        if not 1 <= answer.first <= answer.last:
            return
        for who, numbers in list(self._numbers.items()):
            count = numbers.count() if self._sizes[who] else 0
            parts = (numbers.common if answer.state == WAITS else numbers.remove)(answer.first, answer.last)
            for first, last in parts:
                freed = self._sizes[who] * (last - first + 1) // count if count else 0
                self._sizes[who] -= freed
                count -= last - first + 1
                yield AnsweredPart(who, replace(answer, first=first, last=last), freed)
            if not numbers:
                self.drop(who)

    def drop(self, who: W) -> tuple[Ranges, int]:
        """Remove `who`, which must wait, and return its unanswered numbers and its bytes in transit."""
        return self._numbers.pop(who), self._sizes.pop(who)

    def all(self) -> list[W]:
        return list(self._numbers)
