"""Counts of answers and arrivals as ranges, whose memory grows with the gaps, not with the messages."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from mesh.streams.ranges import Ranges

Pairs = list[list[int]]  # [first, last], …
END = 2**62


@dataclass(slots=True)
class Came:
    """The numbers that one subscriber received from one publisher, with the counts of errors."""

    numbers: Ranges = field(default_factory=Ranges)
    highest: int = 0
    doubled: int = 0
    disordered: int = 0

    def take(self, number: int) -> None:
        if number in self.numbers:
            self.doubled += 1
            return
        if number < self.highest:
            self.disordered += 1
        self.highest = max(self.highest, number)
        self.numbers.add(number, number)

    def described(self) -> dict[str, Any]:
        return {"numbers": pairs(self.numbers), "doubled": self.doubled, "disordered": self.disordered}


@dataclass(frozen=True, slots=True)
class Count:
    """The counts of one subscriber or of all."""

    owed: int = 0
    lost: int = 0
    doubled: int = 0
    disordered: int = 0

    def __add__(self, other: Self) -> "Count":
        return Count(
            self.owed + other.owed,
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.disordered + other.disordered,
        )

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.disordered)


def counted(answered: Pairs, came: dict[str, Any]) -> Count:
    """Return the number of messages of a publisher that a subscriber must receive, and the errors."""
    have = ranges(came["numbers"])
    gaps = [gap for first, last in answered for gap in have.missing(first, last)]
    return Count(size(answered), size(gaps), came["doubled"], came["disordered"])


def pairs(numbers: Ranges) -> Pairs:
    """Return the ranges of `numbers`."""
    found, first = [], 1
    for gap_first, gap_last in numbers.missing(1, END):
        if first < gap_first:
            found.append([first, gap_first - 1])
        first = gap_last + 1
    return found


def ranges(given: Iterable[Iterable[int]]) -> Ranges:
    made = Ranges()
    for first, last in given:
        made.add(first, last)
    return made


def size(given: Iterable[Iterable[int]]) -> int:
    return sum(last - first + 1 for first, last in given)


def write(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically, as readers may be active."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.replace(path)


def read(path: Path) -> Any:
    """Return the JSON value of a file, or None if the file does not exist."""
    return json.loads(path.read_text()) if path.exists() else None


class Rewritten:
    """Whether each of several files was written twice since now.

    The second time, its process has recorded everything that it had been sent before now, however busy the
    machine is.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._seen = {path: {_written_at(path)} for path in paths}

    def __call__(self) -> bool:
        for path, times in self._seen.items():
            times.add(_written_at(path))
        return all(len(times) > 2 for times in self._seen.values())


def _written_at(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
