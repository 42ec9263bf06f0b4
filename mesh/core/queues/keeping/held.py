"""What is put into a full queue waits for room, as long as somebody takes from it."""

# Law: nothing of a stream goes past what waits. Of each stream little more waits than a client may have
#      unanswered; who puts more gets all of his refused, or taken, at once.

from __future__ import annotations

from collections import Counter, deque

from mesh.wire.envelope import Envelope


class HeldPuts:
    """Envelopes of all who put into one queue, as they came. The bounds are those of each stream."""

    def __init__(self, most_bytes: int, most_count: int) -> None:
        self._row: deque[Envelope] = deque()
        self._bytes: Counter[bytes] = Counter()  # by stream
        self._count: Counter[bytes] = Counter()
        self._most_bytes, self._most_count = most_bytes, most_count

    def __bool__(self) -> bool:
        return bool(self._row)

    def add(self, envelope: Envelope) -> bool:
        """It waits; False: its stream has too much here."""
        stream = envelope.stream
        if self._bytes[stream] >= self._most_bytes or self._count[stream] >= self._most_count:
            return False
        self._row.append(envelope)
        self._bytes[stream] += len(envelope.body)
        self._count[stream] += 1
        return True

    def pop(self) -> Envelope:
        """The one that has waited longest."""
        envelope = self._row.popleft()
        self._less(envelope)
        return envelope

    def take(self, stream: bytes) -> list[Envelope]:
        """All of a stream, which wait no more."""
        taken = [e for e in self._row if e.stream == stream] if self._count[stream] else []
        if taken:
            self._row = deque(e for e in self._row if e.stream != stream)
            for each in taken:
                self._less(each)
        return taken

    def _less(self, envelope: Envelope) -> None:
        stream = envelope.stream
        self._bytes[stream] -= len(envelope.body)
        self._count[stream] -= 1
        if not self._count[stream]:
            del self._bytes[stream], self._count[stream]
