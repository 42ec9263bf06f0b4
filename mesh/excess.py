"""Who has to give way where all together hold too much?"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def largest(held: Iterable[tuple[T, int]], excess: int) -> Iterator[T]:
    """Yield those that hold most, until what these hold comes to `excess`."""
    for one, size in sorted(held, key=lambda pair: pair[1], reverse=True):
        if excess <= 0:
            return
        excess -= size
        yield one
