"""Who waits for the answer to which numbers of a stream, and how much of what he sent is under way?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from mesh.core.sites.custody import WAITS
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer

W = TypeVar("W")


class AnsweredPart(NamedTuple, Generic[W]):
    """What became of some that one waits for. `freed`: bytes that are under way no more."""

    who: W
    answer: Answer
    freed: int


class AskedNumbers(Generic[W]):
    """That of one stream in a domain. Numbers that wait for their master over there are asked for still."""

    __slots__ = ("_numbers", "_sizes")

    def __init__(self) -> None:
        self._numbers: dict[W, Ranges] = {}
        self._sizes: dict[W, int] = {}

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def has(self, who: W, first: int, last: int) -> bool:
        """Does he wait for all of these already?"""
        return who in self._numbers and self._numbers[who].covers(first, last)

    def add(self, who: W, first: int, last: int, size: int = 0) -> None:
        """`size`: what it takes on its way."""
        self._numbers.setdefault(who, Ranges()).add(first, last)
        self._sizes[who] = self._sizes.get(who, 0) + size

    def answered(self, answer: Answer) -> Iterator[AnsweredPart[W]]:
        """For each who waits for that his part of it. What nobody has asked for is for nobody."""
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
        """He waits for nothing any more. Returns for what he did, and the bytes that are freed by that."""
        return self._numbers.pop(who), self._sizes.pop(who)

    def all(self) -> list[W]:
        """Those who wait for anything."""
        return list(self._numbers)
