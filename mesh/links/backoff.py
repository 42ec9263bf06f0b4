"""Delays before the next dial. The caller passes the random numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The waiting times of a link, in seconds."""

    low: float = 0.1  # shortest wait between two dials
    high: float = 30.0  # longest wait between two dials
    rare: float = 60.0  # first wait after a refusal; doubles with each further one
    rarest: float = 3600.0  # longest wait after a refusal
    # A dial without an answer for this long counts as disconnected.
    connect_limit: float = 5.0
    # A login that lasted this long resets the backoff when it ends.
    settled: float = 10.0


# 2 ** 32 times any sensible wait is above any bound, and far from the overflow of a float.
_MOST_DOUBLINGS = 32


def delay(attempt: int, unit: float, *, low: float = 0.1, high: float = 30.0) -> float:
    """Return the seconds to wait after failed dial number `attempt` (from 1).

    This is exponential backoff with full jitter: `unit`, a random number in [0, 1), picks a value between
    `low` and a bound that doubles from 2 * low up to `high`. Peers that lost the same node do not return in
    step.
    """
    bound = min(high, low * 2.0 ** min(attempt, _MOST_DOUBLINGS))
    return low + unit * max(0.0, bound - low)


def rare_delay(attempt: int, *, rare: float = 60.0, rarest: float = 3600.0) -> float:
    """Return the seconds to wait after refusal number `attempt` (from 1).

    The first wait is `rare`. Each further one is twice as long, up to `rarest`.
    """
    return min(rarest, rare * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS))
