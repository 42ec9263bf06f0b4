"""Runs of numbers, each given by its first and last: counting, slicing and joining."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Protocol

MANY = 4  # runs from which a batch check pays off
Runs = list[tuple[int, int]]  # first and last of each, in order


class SeveralRuns(Protocol):
    """Several runs with a known count: a list of runs, or `Ranges`."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[int, int]]: ...


def count(runs: Iterable[tuple[int, int]]) -> int:
    return sum([last - first + 1 for first, last in runs])


def numbers_of(runs: SeveralRuns) -> Iterator[int]:
    if len(runs) >= MANY:  # then most runs are single numbers
        firsts, lasts = zip(*runs, strict=True)
        if firsts == lasts:
            return iter(firsts)
    return chain.from_iterable([range(first, last + 1) for first, last in runs])


def first_of(runs: Runs, n: int) -> Runs:
    return slice_of(runs, 0, n)


def slice_of(runs: Runs, start: int, end: int) -> Runs:
    """Return the runs of the numbers at the indices from `start` up to, but excluding, `end`."""
    some: Runs = []
    for first, last in runs:
        if end <= max(0, start):
            break
        n = last - first + 1
        if start < n:
            some.append((first + max(0, start), min(last, first + end - 1)))
        start, end = start - n, end - n
    return some


def without(runs: Runs, first: int, last: int) -> Runs:
    left: Runs = []
    for a, b in runs:
        if b < first or a > last:
            left.append((a, b))
        else:
            left += [(x, y) for x, y in ((a, first - 1), (last + 1, b)) if x <= y]
    return left


def joined(numbers: Iterable[int]) -> Runs:
    """Return ascending numbers as runs."""
    runs: Runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs
