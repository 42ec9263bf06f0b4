"""A consumer that gets messages one by one and settles each. Consumers of queues work alike."""

# Law 1: the k-th message delivered in an epoch has the delivery tag k, and is outstanding until it is
# settled.
# Law 2: the outstanding messages never exceed the credit.
# Law 3: settlements of another epoch, or of a tag that is not outstanding, change nothing.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from mesh.errors import RemoteError

T = TypeVar("T")  # a message as its owner knows it


class AddressConsumer(Generic[T]):
    """A consumer for the time of its connection. `key` is the key of its subscription."""

    def __init__(self, key: bytes, epoch: int, credit: int, local_only: bool) -> None:
        self.key = key
        self.epoch = epoch
        self.credit = credit
        self.local_only = local_only
        self.given = 0  # last delivery tag
        self.turn = 0  # turn of the last assignment
        self.out: dict[int, T] = {}

    @property
    def busy(self) -> int:
        return len(self.out)

    @property
    def room(self) -> int:
        """The number of messages that the consumer may get now."""
        return max(0, self.credit - len(self.out))

    def add_message(self, message: T) -> None:
        self.given += 1
        self.out[self.given] = message

    def settle(self, ranges: Sequence[int]) -> Iterator[T]:
        """Yield the outstanding messages in tag ranges (first, last, …), and remove them.

        Raises: RemoteError, FORGED_ACK for tags never used, MALFORMED for a range without an end.
        """
        if len(ranges) % 2:
            raise RemoteError(
                f"the settled ranges have an odd number of ends, {len(ranges)}", code="MALFORMED"
            )
        for first, last in zip(ranges[::2], ranges[1::2], strict=True):
            if not 1 <= first <= last <= self.given:
                what = f"tags {first} to {last} were settled; the last one is {self.given}"
                raise RemoteError(what, code="FORGED_ACK")
            wide = last - first >= len(self.out)
            for count in [n for n in self.out if first <= n <= last] if wide else range(first, last + 1):
                message = self.out.pop(count, None)
                if message is not None:
                    yield message

    def take_message(self, count: int) -> T | None:
        """Remove and return the message with that tag, or None. Raises: RemoteError (FORGED_ACK)."""
        if not 1 <= count <= self.given:
            raise RemoteError(f"tag {count} was settled; the last one is {self.given}", code="FORGED_ACK")
        return self.out.pop(count, None)


class Sharing(Protocol):
    """A consumer that shares messages with others."""

    turn: int

    @property
    def busy(self) -> int: ...

    @property
    def room(self) -> int: ...


C = TypeVar("C", bound=Sharing)


def shared_out(consumers: Sequence[C], n: int) -> list[tuple[C, int]]:
    """Return how many of n messages each consumer gets.

    Messages are spread so that the outstanding counts become equal, within the credit. Among equals the
    consumer that has waited longest comes first.
    """
    if n == 1:
        ready = [consumer for consumer in consumers if consumer.room]
        return [(min(ready, key=lambda c: (c.busy, c.turn)), 1)] if ready else []
    line = sorted((c for c in consumers if c.room), key=lambda c: (c.busy, c.turn))
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
