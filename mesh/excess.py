"""Chooses the largest holders when a common limit is exceeded."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def largest(held: Iterable[tuple[T, int]], excess: int) -> Iterator[T]:
    """Yield the largest holders until their sizes add up to at least `excess`."""
    for one, size in sorted(held, key=lambda pair: pair[1], reverse=True):
        if excess <= 0:
            return
        excess -= size
        yield one
