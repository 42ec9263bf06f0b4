"""Sets of small numbers as bits of an integer: positions in a log, sequence numbers, nodes, masters.

Positions and sequence numbers start at 1, so 0 is "none" and bit 0 of such a set is never used.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def bit(number: int) -> int:
    return 1 << number


def lowest(numbers: int) -> int:
    """Return the lowest number of a set, or -1 if the set is empty."""
    return (numbers & -numbers).bit_length() - 1


def highest(numbers: int) -> int:
    """Return the highest number of a set, or 0 if the set is empty."""
    return numbers.bit_length() - 1 if numbers else 0


def up_to(last: int) -> int:
    """Return the set of the numbers from 1 to `last`."""
    return (1 << (last + 1)) - 2


def between(first: int, last: int) -> int:
    """Return the set of the numbers from `first`, which is at least 1, to `last`."""
    return up_to(last) & ~up_to(first - 1)


def replaced(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    """Return the tuple with another value at `index`."""
    return (*values[:index], value, *values[index + 1 :])
