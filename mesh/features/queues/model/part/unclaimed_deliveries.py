"""Messages that consumers may have after a restart, held back until the consumers had time to return."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator

from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
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
        self._envelopes: dict[bytes, list[QueuedEnvelope]] = {}  # by stream, in order
        self._left: dict[QueuedEnvelope, Ranges] = {}
        self.messages = 0

    def add(self, queued: QueuedEnvelope, runs: Runs) -> None:
        insort(self._envelopes.setdefault(queued.envelope.stream, []), queued, key=_first)
        left = self._left[queued] = Ranges()
        for first, last in runs:
            left.add(first, last)
            self.messages += last - first + 1

    def claim(self, stream: bytes, number: int) -> QueuedEnvelope | None:
        """Claim a message and return its envelope, or `None` if the message is not held back here."""
        envelopes = self._envelopes.get(stream, [])
        at = bisect_right(envelopes, number, key=_first) - 1
        while at >= 0 and envelopes[at].envelope.last >= number:
            if self.claim_of(envelopes[at], number):
                self.most -= 1
                return envelopes[at]
            at -= 1
        return None

    def claim_of(self, queued: QueuedEnvelope, number: int) -> bool:
        """Claim a message of an envelope for a transaction, and return whether it is held back here."""
        left = self._left.get(queued)
        if left is None or number not in left:
            return False
        left.remove(number, number)
        self.messages -= 1
        return True

    def rest(self) -> Iterator[tuple[QueuedEnvelope, Runs]]:
        """Yield the unclaimed messages in delivery order, recorded deliveries first."""
        for queued in sorted(
            self._left, key=lambda queued: (queued.given is None, -queued.priority, queued.key)
        ):
            if left := self._left[queued]:
                yield queued, list(left)


def _first(queued: QueuedEnvelope) -> int:
    return queued.envelope.first
