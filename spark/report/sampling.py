"""Statistics of lists with unknown values."""

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the `share` quantile, interpolated between neighbors; None for an empty list."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Sequence[float | None]) -> float | None:
    """Return the median of the known values, or None."""
    return quantile([value for value in values if value is not None], 0.5)


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the known values, or None."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def most(values: Sequence[float | None]) -> float | None:
    """Return the maximum of the known values, or None."""
    return max((value for value in values if value is not None), default=None)
