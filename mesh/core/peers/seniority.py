"""Decides which of two processes continues where only one can: the one that started first."""

# Law: both judge by the same bytes, which each has said of itself: so they come to the same end, whoever is
#      asked, and in whatever order. Two clocks that differ only change which of the two that is.

from __future__ import annotations

MARK = b"born"  # earlier releases draw all bytes of a process, and say nothing of its start
DRAWN = 4  # bytes, behind 8 of the start


def process_of(drawn: bytes, wall: int) -> bytes:
    """The bytes that stand for a process that starts at `wall`, in ns since 1970. `drawn`: random ones."""
    return MARK + wall.to_bytes(8) + drawn[:DRAWN]


def is_senior(one: bytes, other: bytes) -> bool | None:
    """Was the process `one` started before `other`? None: one of them does not say when it was."""
    if not (one.startswith(MARK) and other.startswith(MARK)) or len(one) != len(other):
        return None
    return one < other
