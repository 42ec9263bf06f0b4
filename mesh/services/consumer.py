"""Somebody who takes messages one by one, and says of each what became of it.

Of an address by now; a queue gives out what it holds in the same way.
"""

# Law 1: the k-th message that is given in an epoch has the count k, and is out until it is settled.
# Law 2: what is out is never more than the credit.
# Law 3: what is said of another epoch, or of a count that is not out, changes nothing.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from mesh.errors import RemoteError

T = TypeVar("T")  # a message, as its giver knows it


class AddressConsumer(Generic[T]):
    """A consumer, for as long as its connection stands. `key`: that of its subscription."""

    def __init__(self, key: bytes, epoch: int, credit: int, local_only: bool) -> None:
        self.key = key
        self.epoch = epoch
        self.credit = credit
        self.local_only = local_only
        self.given = 0  # the last count
        self.turn = 0  # when it was given something last, in turns of whoever gives
        self.out: dict[int, T] = {}

    @property
    def busy(self) -> int:
        """How many it has now."""
        return len(self.out)

    @property
    def room(self) -> int:
        """How many more it may be given now."""
        return max(0, self.credit - len(self.out))

    def give(self, message: T) -> None:
        """It is given that."""
        self.given += 1
        self.out[self.given] = message

    def settle(self, ranges: Sequence[int]) -> Iterator[T]:
        """What was out of these counts: first, last, ... RemoteError for what was never given."""
        if len(ranges) % 2:
            raise RemoteError(f"{len(ranges)} ends of ranges were settled", code="MALFORMED")
        for first, last in zip(ranges[::2], ranges[1::2], strict=True):
            if not 1 <= first <= last <= self.given:
                what = f"counts {first} to {last} were settled, {self.given} were given"
                raise RemoteError(what, code="FORGED_ACK")
            wide = last - first >= len(self.out)
            for count in [n for n in self.out if first <= n <= last] if wide else range(first, last + 1):
                message = self.out.pop(count, None)
                if message is not None:
                    yield message

    def take(self, count: int) -> T | None:
        """What was out with that count; None: nothing is any more. RemoteError as above."""
        if not 1 <= count <= self.given:
            raise RemoteError(f"count {count} was settled, {self.given} were given", code="FORGED_ACK")
        return self.out.pop(count, None)


class Sharing(Protocol):
    """One of several who are given messages."""

    turn: int

    @property
    def busy(self) -> int: ...

    @property
    def room(self) -> int: ...


C = TypeVar("C", bound=Sharing)


def shared_out(consumers: Sequence[C], n: int) -> list[tuple[C, int]]:
    """How many of n messages each is given: as many as it has room for, evenly by what is out; of those that
    are alike whoever has waited the longest comes first.
    """
    if n == 1:
        ready = [consumer for consumer in consumers if consumer.room]
        return [(min(ready, key=lambda c: (c.busy, c.turn)), 1)] if ready else []
    line = sorted((c for c in consumers if c.room), key=lambda c: (c.busy, c.turn))
    shares = dict.fromkeys(line, 0)
    while n > 0 and line:
        # As high as the next one, or as far as it goes; all below that level get the same.
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
