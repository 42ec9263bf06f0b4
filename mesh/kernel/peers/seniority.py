"""Decides which of two processes continues if only one can: the process that started first."""

# Law: both processes compare the same bytes, which each has sent, so they agree. A difference of their clocks
#      only changes which of the two continues.

from __future__ import annotations

MARK = b"born"  # absent in earlier releases, which omit the start
DRAWN = 4  # bytes, behind 8 of the start


def process_of(drawn: bytes, wall: int) -> bytes:
    """Return the process bytes for a start at `wall`, in ns since 1970, and the random bytes `drawn`."""
    return MARK + wall.to_bytes(8) + drawn[:DRAWN]


def is_senior(one: bytes, other: bytes) -> bool | None:
    """Return whether process `one` started before `other`; `None` if either start is unknown."""
    if not (one.startswith(MARK) and other.startswith(MARK)) or len(one) != len(other):
        return None
    return one < other
