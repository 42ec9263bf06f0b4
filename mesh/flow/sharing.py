"""Distributes messages among consumers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Sharing(Protocol):
    """A consumer that shares messages with other consumers."""

    turn: int

    @property
    def busy(self) -> int: ...

    @property
    def room(self) -> int: ...


C = TypeVar("C", bound=Sharing)


def shared_out(consumers: Sequence[C], n: int) -> list[tuple[C, int]]:
    """Return how many of `n` messages, at least 1, each consumer gets, without consumers that get none.

    Messages are spread so that the outstanding counts become equal, within the credit. Among equals the
    consumer that has waited longest comes first.
    """
    ready = [consumer for consumer in consumers if consumer.room]
    if len(ready) == 1:  # as a rule
        return [(ready[0], min(ready[0].room, n))]
    if n == 1:
        return [(min(ready, key=lambda c: (c.busy, c.turn)), 1)] if ready else []
    line = sorted(ready, key=lambda c: (c.busy, c.turn))
    shares = dict.fromkeys(line, 0)
    while n > 0 and line:
        # Raise the lowest consumers to the next level, as far as credit and messages allow.
        level = min(c.busy + shares[c] for c in line)
        low = [c for c in line if c.busy + shares[c] == level]
        others = [c.busy + shares[c] for c in line if c.busy + shares[c] > level]
        step = min([*(c.room - shares[c] for c in low), *(height - level for height in others)])
        step = min(step, max(1, n // len(low)))
        for consumer in low[:n]:
            shares[consumer] += step
            n -= step
        line = [c for c in line if c.room > shares[c]]
    return [(consumer, share) for consumer, share in shares.items() if share]
