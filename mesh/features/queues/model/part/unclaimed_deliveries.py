"""Messages that consumers may have after a restart, held back until the consumers had time to return."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator

from mesh.features.queues.model.lots.counts import Runs
from mesh.features.queues.model.lots.queued_envelope import QueuedEnvelope
from mesh.streams.ranges import Ranges


class UnclaimedDeliveries:
    """Messages that may have been delivered before a restart.

    `expected` has the keys of consumers that have not returned. `most` bounds the number of messages that
    they can have and have not claimed.
    """

    def __init__(self, until: float, expected: set[bytes], most: int) -> None:
        self.until = until
        self.most = most
        self.expected = expected
        self._lots: dict[bytes, list[QueuedEnvelope]] = {}  # by stream, in order
        self._left: dict[QueuedEnvelope, Ranges] = {}
        self.messages = 0

    def add(self, lot: QueuedEnvelope, runs: Runs) -> None:
        insort(self._lots.setdefault(lot.envelope.stream, []), lot, key=_first)
        left = self._left[lot] = Ranges()
        for first, last in runs:
            left.add(first, last)
            self.messages += last - first + 1

    def claim(self, stream: bytes, number: int) -> QueuedEnvelope | None:
        """Claim a message and return its envelope, or `None` if the message is not held back here."""
        lots = self._lots.get(stream, [])
        at = bisect_right(lots, number, key=_first) - 1
        while at >= 0 and lots[at].envelope.last >= number:
            left = self._left[lots[at]]
            if number in left:
                left.remove(number, number)
                self.messages -= 1
                self.most -= 1
                return lots[at]
            at -= 1
        return None

    def rest(self) -> Iterator[tuple[QueuedEnvelope, Runs]]:
        """Yield the unclaimed messages in delivery order, recorded deliveries first."""
        for lot in sorted(self._left, key=lambda lot: (lot.given is None, -lot.priority, lot.key)):
            if left := self._left[lot]:
                yield lot, list(left)


def _first(lot: QueuedEnvelope) -> int:
    return lot.envelope.first
