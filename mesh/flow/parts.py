"""Cuts lists into parts, one for each message, so that no message grows with the list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
SIZE = 48 * 1024  # approximate bytes of a part


def cut(items: Sequence[T], most: int) -> Iterator[tuple[T, ...]]:
    """Yield the items in parts of at most `most`."""
    for at in range(0, len(items), most):
        yield tuple(items[at : at + most])


def cut_by_size(
    items: Iterable[T], size: Callable[[T], int], most: float = float("inf")
) -> Iterator[tuple[T, ...]]:
    """Yield the items in parts of at most `most`. A part also ends with the item that brings it to SIZE."""
    part: list[T] = []
    bytes_ = 0
    for item in items:
        part.append(item)
        bytes_ += size(item)
        if bytes_ >= SIZE or len(part) == most:
            yield tuple(part)
            part, bytes_ = [], 0
    if part:
        yield tuple(part)


def changes(
    removed: Iterable[tuple[T, ...]], added: Iterable[tuple[T, ...]]
) -> Iterator[tuple[tuple[T, ...], tuple[T, ...], bool]]:
    """Yield messages of one change as (added, removed, whether more follow), removed items first.

    An empty change yields one empty message.
    """
    none: tuple[T, ...] = ()
    cuts = [(none, part) for part in removed] + [(part, none) for part in added] or [(none, none)]
    for left, (add, remove) in zip(reversed(range(len(cuts))), cuts, strict=True):
        yield add, remove, left > 0
