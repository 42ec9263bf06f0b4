"""The time left of messages to addresses, as in PUBLISH, SENDS and ITEMS: in ms, 0 for no end."""

# Law 1: a message without time left has 1 ms, as 0 means no end; 1 ms is therefore no time. Senders round up,
#        and receivers subtract 1 ms: rounding makes no message late.

from math import ceil, inf

LONGEST = 2**32 - 1  # ms, the largest value
OVER = 1  # ms


def ttl_of(until: float, now: float) -> int:
    """Return the time left in ms, 0 for no end."""
    if until == inf:
        return 0
    ms = ceil((until - now) * 1000)
    if ms < OVER:
        return OVER
    return ms if ms < LONGEST else LONGEST


def end_of(ttl: int, now: float) -> float:
    """Return when a message that arrives at `now` (s) runs out of time: infinity for a `ttl` of 0."""
    return now + (ttl - OVER) / 1000 if ttl else inf
