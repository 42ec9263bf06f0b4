"""The time left for messages to addresses, as in PUBLISH, SENDS and ITEMS: in ms, 0 for no limit."""

# Law 1: the value 1 means that no time is left, as 0 means no limit. Senders round up, and receivers subtract
#        1 ms, so rounding never extends the time of a message.

from math import ceil, inf

LONGEST = 2**32 - 1  # ms, the largest value
OVER = 1  # ms


def ttl_of(until: float, now: float) -> int:
    """Return the time left in ms: at least 1, or 0 for no limit."""
    if until == inf:
        return 0
    ms = ceil((until - now) * 1000)
    if ms < OVER:
        return OVER
    return ms if ms < LONGEST else LONGEST


def end_of(ttl: int, now: float) -> float:
    """Return the deadline of a message that arrives at `now` (s) with `ttl` ms; infinity for a `ttl` of 0."""
    return now + (ttl - OVER) / 1000 if ttl else inf
