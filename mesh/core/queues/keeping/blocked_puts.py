"""Messages for a full queue, held back while a consumer is connected."""

# Law: no message of a stream overtakes a held one. At most about twice a client's window is held per stream;
# beyond that all held messages of the stream are published, and accepted or refused at once.

from __future__ import annotations

from collections import Counter, deque

from mesh.wire.envelope import Envelope


class BlockedPuts:
    """The held envelopes of all producers of one queue, in order, with limits for each stream."""

    def __init__(self, most_bytes: int, most_count: int) -> None:
        self._row: deque[Envelope] = deque()
        self._bytes: Counter[bytes] = Counter()  # by stream
        self._count: Counter[bytes] = Counter()
        self._most_bytes, self._most_count = most_bytes, most_count

    def __bool__(self) -> bool:
        return bool(self._row)

    def add(self, envelope: Envelope) -> bool:
        """Hold an envelope unless its stream has reached a limit, and return whether it is held."""
        stream = envelope.stream
        if self._bytes[stream] >= self._most_bytes or self._count[stream] >= self._most_count:
            return False
        self._row.append(envelope)
        self._bytes[stream] += len(envelope.body)
        self._count[stream] += 1
        return True

    def pop(self) -> Envelope:
        """Remove and return the oldest envelope."""
        envelope = self._row.popleft()
        self._less(envelope)
        return envelope

    def take_stream(self, stream: bytes) -> list[Envelope]:
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
