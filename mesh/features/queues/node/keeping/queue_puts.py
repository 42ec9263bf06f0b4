"""Accepts puts of clients into queues; holds back puts into a full queue while a consumer is connected."""

# Law 1: no message of a stream overtakes a held one.
# Law 2: at most about twice a client's window is held per stream. Beyond that all held messages of the stream
#   are published, and accepted or refused immediately.
# Law 3: held messages of a producer that disconnects are not answered, so the producer resends them.

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping

from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.context.settings import Settings
from mesh.names import PUTS
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

    def has(self, stream: bytes) -> bool:
        return self._count[stream] > 0

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


class QueuePuts:
    """The puts of clients for the queues of this node.

    `publish(envelope)` is called with each message that is not held back, and with the others when they are
    released.
    """

    def __init__(
        self, settings: Settings, queues: Mapping[str, QueueSink], publish: Callable[[Envelope], None]
    ) -> None:
        self._limits = 2 * settings.window_bytes, 2 * settings.window_count
        self._queues = queues
        self._publish = publish
        self._blocked: dict[QueueSink, BlockedPuts] = {}  # without empty ones

    def put(self, envelope: Envelope) -> None:
        """Publish a client's message, or hold it back.

        A message is held if the queue is full and producers may wait, or if others are held already. At the
        limit of its stream, the message and the held messages of the stream are published instead.
        """
        queue = self._queues.get(envelope.to.removeprefix(PUTS))
        if queue is not None and (queue in self._blocked or (queue.is_full and queue.may_wait)):
            blocked = self._blocked.get(queue) or BlockedPuts(*self._limits)
            if blocked.add(envelope):
                self._blocked[queue] = blocked
                return
            others = blocked.take_stream(envelope.stream)
            self._drop_empty(queue, blocked)
            for each in others:
                self._publish(each)
        self._publish(envelope)

    def holds_back(self, queue: QueueSink, stream: bytes) -> bool:
        """Return whether messages of a stream are held back."""
        return queue in self._blocked and self._blocked[queue].has(stream)

    def publish_held(self, queue: QueueSink) -> None:
        """Publish held messages of a queue while it has room, or when producers may no longer wait."""
        blocked = self._blocked.get(queue)
        if blocked is None:
            return
        while blocked and (not queue.is_full or not queue.may_wait):
            self._publish(blocked.pop())
        self._drop_empty(queue, blocked)

    def drop(self, stream: bytes) -> None:
        """Drop the held messages of a disconnected producer."""
        for queue, blocked in list(self._blocked.items()):
            blocked.take_stream(stream)
            self._drop_empty(queue, blocked)

    def _drop_empty(self, queue: QueueSink, blocked: BlockedPuts) -> None:
        if not blocked:
            self._blocked.pop(queue, None)
