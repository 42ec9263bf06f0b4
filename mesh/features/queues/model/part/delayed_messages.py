"""Messages that must not be delivered before their time."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf

from mesh.features.queues.model.consumers.groups import MessageGroups
from mesh.features.queues.model.envelopes.envelope_row import LateRun
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope

S = 10**9  # ns


class DelayedMessages:
    """Delayed messages, ordered by time.

    A message that a consumer nacked with a delay blocks its group; a message published with a delay does not.
    """

    def __init__(self, groups: MessageGroups) -> None:
        self.messages = 0
        self._groups = groups
        self._heap: list[tuple[float, int, QueuedEnvelope, int, int, bool]] = []
        self._next = count()

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def due(self) -> float:
        """The time when the first delay is over; infinity if nothing is delayed."""
        return self._heap[0][0] if self._heap else inf

    def delay_new(self, queued: QueuedEnvelope, now: float, wall: int, may_be_out: bool = False) -> None:
        """Delay the messages of an added envelope according to its row, or else to its published delay.

        With `may_be_out`, messages whose published delay is over are not delayed, as consumers may have them.
        """
        is_over = may_be_out and queued.envelope.sent + queued.delay * 10**6 <= wall
        if queued.delay and queued.row() == b"" and not is_over:
            for first, last in queued.open():
                queued.delay_messages(first, last, queued.envelope.sent, queued.delay * 10**6)
        for late in queued.late:
            self._push(queued, late, now, wall)

    def delay_returned(
        self, queued: QueuedEnvelope, first: int, last: int, delay: float, now: float, wall: int
    ) -> None:
        """Delay the messages `first` to `last`, which a consumer nacked, by `delay` seconds."""
        late = (first, last, wall, int(delay * S))
        queued.delay_messages(*late)
        self._push(queued, late, now, wall)

    def _push(self, queued: QueuedEnvelope, late: LateRun, now: float, wall: int) -> None:
        first, last, said, delay = late
        holds = said != queued.envelope.sent
        if holds:
            self._groups.add_delayed(queued.group, +1)
        else:
            self._groups.add_published_late(queued.group, last - first + 1)
        left = max(0, min(delay, said + delay - wall)) / S  # between 0 and `delay`, despite clock changes
        self.messages += last - first + 1
        heappush(self._heap, (now + left, next(self._next), queued, first, last, holds))

    def pop(self) -> tuple[QueuedEnvelope, int, int]:
        """Remove and return the first delayed messages. Raises: IndexError if there are none."""
        _, _, queued, first, last, holds = heappop(self._heap)
        self.messages -= last - first + 1
        queued.wait_no_more(first, last)
        if holds:
            self._groups.add_delayed(queued.group, -1)
        else:
            self._groups.add_published_late(queued.group, first - last - 1)
        return queued, first, last
