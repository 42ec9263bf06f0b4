"""Of many figures, which few stand for them?"""

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of them do not exceed, between two neighbours if need be; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Sequence[float | None]) -> float | None:
    """The median of those that are known."""
    return quantile([value for value in values if value is not None], 0.5)


def mean(values: Sequence[float | None]) -> float | None:
    """The same of the mean."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def most(values: Sequence[float | None]) -> float | None:
    """The same of the highest."""
    return max((value for value in values if value is not None), default=None)
