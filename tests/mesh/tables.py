"""Tables of states for tests: drawn as text, for comparison with those of the code, and traversed."""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


def drawn(text: str, events: type[E], letters: Mapping[str, S]) -> list[tuple[E, S, S | None]]:
    """Return the cells of a drawn table: event, state and next state. `None` means that it cannot happen."""
    return [
        (events[line.split()[0]], start, {**letters, "-": None}[letter])
        for line in text.strip().splitlines()[1:]
        for start, letter in zip(letters.values(), line.split()[1:], strict=True)
    ]


def reached(table: Mapping[S, Mapping[E, tuple[S, object]]], start: S) -> set[S]:
    """Return all states that can be reached from `start`."""
    found, new = {start}, {start}
    while new:
        new = {cell[0] for state in new for cell in table[state].values()} - found
        found |= new
    return found
