"""Medians, percentiles, and whether every message arrived once and in order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def median(values: Iterable[float]) -> float:
    """Return the median; of an even number of values, the mean of the middle two.

    Raises ValueError without values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values, no median")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value at `share` (0 to 1) of the sorted values; 1 means the largest.

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
    """Count the errors in `arrived`, which has the numbers of each subscription in order of arrival.

    Each number from 0 to `wanted` - 1 should arrive once, in ascending order within each subscription. A
    number that arrives by two subscriptions is doubled.
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
