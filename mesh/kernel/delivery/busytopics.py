"""Counts the messages and bytes of the topics for which this node is the master."""

from collections import Counter
from collections.abc import Sequence

from mesh.wire.envelope import Envelope
from mesh.wire.header import u32

COUNTED = 1024  # busiest topics kept when there are too many
MOST = 2 * COUNTED


class BusyTopics:
    """The counts of messages and bytes since the start, by domain and topic; the bytes include properties.

    Beyond MOST topics the least busy ones are forgotten, and start from 0 when they return.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], list[int]] = {}
        self._is_full = False
        self._alike = "", 0  # domain and message size of `_messages`
        self._messages: Counter[str] = Counter()  # recent counts, by topic

    def count_messages(self, envelope: Envelope) -> None:
        if self._is_full:
            self._trim()
        if len(envelope.keys) == 1:
            self._add(envelope.domain, envelope.keys[0], envelope.count, len(envelope.body))
            return
        if isinstance(envelope.sizes, int):
            self._count_alike(envelope, envelope.sizes)
            return
        sizes, messages = [0] * len(envelope.keys), Counter(envelope.rows())
        for row, length in zip(envelope.rows(), u32(envelope.sizes), strict=True):
            sizes[row] += length
        for row, count in messages.items():
            self._add(envelope.domain, envelope.keys[row], count, sizes[row])

    def _count_alike(self, envelope: Envelope, size: int) -> None:
        """Count messages of equal size, with little work for each: 100,000 or more may arrive per second."""
        alike = envelope.domain, size
        if alike != self._alike or len(self._messages) > COUNTED:
            self._settle()
            self._alike = alike
        self._messages.update(map(envelope.keys.__getitem__, envelope.rows()))

    def _settle(self) -> None:
        domain, size = self._alike
        for topic, messages in self._messages.items():
            self._add(domain, topic, messages, messages * size)
        self._messages.clear()

    def _trim(self) -> None:
        self.counts = {(d, t): [m, s] for d, t, m, s in self.busiest(COUNTED)}
        self._is_full = False

    def busiest(self, n: int) -> Sequence[tuple[str, str, int, int]]:
        """Return (domain, topic, messages, bytes) of the `n` topics with the most messages, in that order."""
        self._settle()
        ordered = sorted(self.counts.items(), key=lambda item: item[1][0], reverse=True)[:n]
        return [(domain, topic, messages, size) for (domain, topic), (messages, size) in ordered]

    def _add(self, domain: str, topic: str, messages: int, size: int) -> None:
        count = self.counts.get((domain, topic))
        if count is None:
            count = self.counts[domain, topic] = [0, 0]
            self._is_full = len(self.counts) >= MOST
        count[0] += messages
        count[1] += size
