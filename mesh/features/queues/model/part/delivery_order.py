"""The order in which a local queue delivers its ready messages, in memory and on disk."""

# Law 1: a message of a higher priority is next; within a priority, the message that was accepted first.
# Law 2: an envelope in memory is not next while an envelope on disk precedes it.
# Law 3: envelopes are read from disk only while fewer than AHEAD envelopes in memory precede them.

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mesh.features.queues.model.envelopes.disk_index import DiskIndex, Wish
from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope
from mesh.features.queues.model.envelopes.ready_index import FIRST, ReadyIndex

AHEAD = 1024  # envelopes per priority in memory before a disk read
NOWHERE: Mapping[int, EnvelopeKey] = {}


class DeliveryOrder:
    """The envelopes with ready messages, by priority: `lines` in memory, and `on_disk` on disk only."""

    def __init__(self) -> None:
        self.lines: dict[int, ReadyIndex] = {}
        self.on_disk = DiskIndex()

    def priorities(self) -> list[int]:
        """Return the priorities that may have envelopes, the highest first."""
        return sorted({*self.lines, *self.on_disk}, reverse=True)

    def line(self, priority: int) -> ReadyIndex:
        """Return the ready envelopes of a priority in memory; create the list if it is missing."""
        line = self.lines.get(priority)
        if line is None:
            line = self.lines[priority] = ReadyIndex(priority)
        return line

    @property
    def oldest(self) -> int:
        """The time in ns since 1970 when the oldest ready message was accepted, or 0 if none is ready."""
        firsts = [
            queued.envelope.sent for line in self.lines.values() if (queued := line.first()) is not None
        ]
        return min([*firsts, *filter(None, [self.on_disk.oldest])], default=0)

    def ready_envelopes(self, place: Mapping[int, EnvelopeKey] = NOWHERE) -> Iterator[QueuedEnvelope]:
        """Yield the envelopes with ready messages behind `place` in delivery order, by priority.

        Within a priority, envelopes behind the first one on disk are left out.
        """
        for priority in sorted(self.lines, reverse=True):
            end = self.on_disk.first_accepted(priority)
            for queued in self.lines[priority].after(place.get(priority, FIRST)):
                if queued.key[0] >= end:
                    break
                yield queued

    def stamp_ahead(self, priority: int, n: int) -> int:
        """Return the acceptance time of the envelope `n` places behind the first of a priority.

        If there are fewer envelopes, return the time of the last one, or 0 if there is none.
        """
        line = self.line(priority)
        here = line.before(self.on_disk.first_accepted(priority))
        queued = line.ahead(min(n, here - 1)) if here else None
        last = self.on_disk.last(priority, n - here) if here <= n else 0
        return max(queued.key[0] if queued is not None else 0, last)

    def to_load(self) -> Wish | None:
        """Start and return a disk read whose envelopes are next in delivery order; `None` if none is due."""
        if not self.on_disk:  # the usual case
            return None
        for priority in self.priorities():
            if self.on_disk.has(priority):
                here = self.line(priority).before(self.on_disk.first_accepted(priority))
                return self.on_disk.to_load(priority) if here < AHEAD else None
        return None

    def trim(self) -> None:
        """Drop the envelopes without ready messages at the front, which `to_load` would count."""
        for line in self.lines.values():
            line.first()
