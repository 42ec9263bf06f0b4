"""Capacity of nodes, from the load they report and from learned weights, within safe limits."""

from collections.abc import Sequence
from math import inf
from statistics import median_low

from mesh.balancers.base import Candidate, Candidates

# A figure can make a node at most this many times better or worse than the median.
BELIEVED = 4.0
FULL = 0.01  # minimum capacity of a fully busy node
MISSED = 3  # reports; older figures count as unknown


def capacities(candidates: Candidates, interval: float) -> list[float]:
    """Return a capacity above 0 for each candidate; only the ratios of capacities matter.

    `interval` is the number of seconds between two published states. A node without recent figures has the
    median capacity. The weight of a node multiplies its capacity.
    """
    said = [_said(candidate, MISSED * interval) for candidate in candidates]
    rooms = tempered([capacity for capacity in said if capacity is not None], said)
    return [room * weight for room, weight in zip(rooms, weights(candidates), strict=True)]


def weights(candidates: Candidates) -> list[float]:
    """Return the weight of each candidate relative to the median, from 1 / BELIEVED to BELIEVED."""
    typical = median_low([c.weight for c in candidates if 0 < c.weight < inf] or [1.0])
    # In this order of the arguments NaN counts as the minimum.
    return [min(max(1 / BELIEVED, c.weight / typical), BELIEVED) for c in candidates]


def tempered(known: Sequence[float], said: Sequence[float | None]) -> list[float]:
    """Return `said`, limited to a factor of BELIEVED around the low median of `known`.

    `None` becomes the median. The median of no figures is 1.
    """
    # The low median, so that of two nodes the one with the higher figure does not set the standard.
    typical = median_low(known) if known else 1.0
    low, high = typical / BELIEVED, typical * BELIEVED
    return [typical if value is None else min(max(value, low), high) for value in said]


def load_of(candidate: Candidate, fresh: float) -> float | None:
    """Return the load, or None if it was not reported within the last `fresh` s."""
    if candidate.age is None or candidate.age > fresh:
        return None
    return candidate.load


def _said(candidate: Candidate, fresh: float) -> float | None:
    load = load_of(candidate, fresh)
    return None if load is None else max(1.0 - load, FULL)
