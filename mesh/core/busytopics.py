"""Which topics does this node take the most messages of, as their master?"""

from collections import Counter
from collections.abc import Sequence

from mesh.wire.envelope import Envelope
from mesh.wire.header import u32

COUNTED = 1024  # topics that are kept when there are too many: the busiest
MOST = 2 * COUNTED


class BusyTopics:
    """Messages and bytes of each (domain, topic) since the start: [messages, bytes with own properties].

    With more than MOST topics the least busy ones are forgotten, and begin again from 0 when they come back.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], list[int]] = {}

    def count(self, envelope: Envelope) -> None:
        """It was taken."""
        if len(envelope.keys) == 1:
            self._add(envelope.domain, envelope.keys[0], envelope.count, len(envelope.body))
            return
        # Of each message only what must be: there are hundreds of thousands a second.
        rows, domain = envelope.rows(), envelope.domain
        messages = Counter(rows)
        if isinstance(envelope.sizes, int):
            sizes = [envelope.sizes * messages[row] for row in range(len(envelope.keys))]
        else:
            sizes = [0] * len(envelope.keys)
            for row, length in zip(rows, u32(envelope.sizes), strict=True):
                sizes[row] += length
        for row, key in enumerate(envelope.keys):
            count = self.counts.get((domain, key))
            if count is None:
                self._add(domain, key, messages[row], sizes[row])
            else:
                count[0] += messages[row]
                count[1] += sizes[row]

    def busiest(self, n: int) -> Sequence[tuple[str, str, int, int]]:
        """(domain, topic, messages, bytes) of so many, those with most messages first."""
        ordered = sorted(self.counts.items(), key=lambda item: item[1][0], reverse=True)[:n]
        return [(domain, topic, messages, size) for (domain, topic), (messages, size) in ordered]

    def _add(self, domain: str, topic: str, messages: int, size: int) -> None:
        count = self.counts.get((domain, topic))
        if count is None:
            if len(self.counts) >= MOST:
                self.counts = {(d, t): [m, s] for d, t, m, s in self.busiest(COUNTED)}
            count = self.counts[domain, topic] = [0, 0]
        count[0] += messages
        count[1] += size
