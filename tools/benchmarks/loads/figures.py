"""Medians, percentiles, and whether every message arrived once and in order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def median(values: Iterable[float]) -> float:
    """Return the median; between two values, their mean. Raises ValueError without values."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values, no median")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of the values do not exceed.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("no values, no percentile")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Count:
    """Messages that did not arrive, arrived again, or arrived after a later one."""

    lost: int = 0
    doubled: int = 0
    disordered: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.disordered)

    def __str__(self) -> str:
        return (
            "clean"
            if self.is_clean
            else f"lost {self.lost}, doubled {self.doubled}, disordered {self.disordered}"
        )


def counted(wanted: int, arrived: Iterable[Sequence[int]]) -> Count:
    """Return the errors in numbers that arrived, given by subscription.

    Each number from 0 to `wanted` - 1 should arrive once, in growing order within each subscription.
    """
    seen = bytearray(wanted)
    doubled = disordered = 0
    for numbers in arrived:
        highest = -1
        for number in numbers:
            if seen[number]:
                doubled += 1
            elif number < highest:
                disordered += 1
            seen[number] = 1
            highest = max(highest, number)
    return Count(wanted - sum(seen), doubled, disordered)
