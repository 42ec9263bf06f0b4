"""How much can each take? What nodes say of their load, and what was learnt of them, as far as is safe."""

from collections.abc import Sequence
from math import inf
from statistics import median_low

from balancers.base import Candidate, Candidates

BELIEVED = 4.0  # a figure makes a node at most this many times better, or worse, than the typical one
FULL = 0.01  # even a node that is wholly busy gets something done
MISSED = 3  # states in a row; what is older than that tells nothing of now


def capacities(candidates: Candidates, interval: float) -> list[float]:
    """For each candidate, more than 0; only their ratios mean anything. `interval` is s between two states.

    A node of which nothing is known, or nothing new, counts as the typical one. Its weight multiplies that.
    """
    said = [_said(candidate, MISSED * interval) for candidate in candidates]
    rooms = tempered([capacity for capacity in said if capacity is not None], said)
    return [room * weight for room, weight in zip(rooms, weights(candidates), strict=True)]


def weights(candidates: Candidates) -> list[float]:
    """The weight of each candidate against the typical one's, which counts 1; never 0, whatever it was."""
    typical = median_low([c.weight for c in candidates if 0 < c.weight < inf] or [1.0])
    # In this order of the arguments what is not a number counts as the least.
    return [min(max(1 / BELIEVED, c.weight / typical), BELIEVED) for c in candidates]


def tempered(known: Sequence[float], said: Sequence[float | None]) -> list[float]:
    """Figures that were said, brought within BELIEVED of the median of the known ones; None becomes that."""
    # The low median: of two nodes the one that boasts must not be its own yardstick.
    typical = median_low(known) if known else 1.0
    low, high = typical / BELIEVED, typical * BELIEVED
    return [typical if value is None else min(max(value, low), high) for value in said]


def load_of(candidate: Candidate, fresh: float) -> float | None:
    """The load, if it was said within `fresh` s."""
    if candidate.age is None or candidate.age > fresh:
        return None
    return candidate.load


def _said(candidate: Candidate, fresh: float) -> float | None:
    load = load_of(candidate, fresh)
    return None if load is None else max(1.0 - load, FULL)
