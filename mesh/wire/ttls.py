"""The time that messages to addresses have left, as PUBLISH, SENDS and ITEMS say it: ms, 0 for no end."""

# Law 1: a message whose time is over has 1 ms, since 0 means no end; so 1 ms is no time. Senders round up,
#        and receivers take 1 ms off: no message is begun late because of that.

from math import ceil, inf

LONGEST = 2**32 - 1  # ms that can be said
OVER = 1  # ms


def ttl_of(until: float, now: float) -> int:
    """Return the ms until then."""
    if until == inf:
        return 0
    ms = ceil((until - now) * 1000)
    if ms < OVER:
        return OVER
    return ms if ms < LONGEST else LONGEST


def end_of(ttl: int, now: float) -> float:
    """Return when the time of a message that has just come is over."""
    return now + (ttl - OVER) / 1000 if ttl else inf
