"""The queue of entries to one next hop, in order of arrival."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain

from mesh.routing.pending_forward import PendingForward


class LateEntries:
    """Entries that were inserted behind newer ones.

    A heap finds the oldest quickly, whatever the order of insertion.
    """

    def __init__(self) -> None:
        self._entries: dict[int, PendingForward] = {}
        self._heap: list[int] = []  # serials, including some that have left

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[PendingForward]:
        return iter(self._entries.values())

    def __contains__(self, entry: PendingForward) -> bool:
        return entry.serial in self._entries

    def add(self, entry: PendingForward) -> None:
        if entry.serial not in self._entries:
            heappush(self._heap, entry.serial)
        self._entries[entry.serial] = entry

    def oldest(self) -> PendingForward:
        """Return the oldest entry, which must exist."""
        while self._heap[0] not in self._entries:
            heappop(self._heap)
        return self._entries[self._heap[0]]

    def drop(self, entry: PendingForward) -> None:
        del self._entries[entry.serial]


@dataclass(slots=True)
class HopQueue:
    """The queue of entries to one next hop that have the same domain and the same addressed node, if any."""

    # Removing entries from the front of a dict becomes ever slower; an OrderedDict stays fast.
    waiting: OrderedDict[PendingForward, None] = field(default_factory=OrderedDict)
    late: LateEntries | None = None  # entries that arrived behind newer ones, if any
    # Value: the gateway by which the entry left, if the hop is another site.
    flight: dict[PendingForward, bytes | None] = field(default_factory=dict)
    flight_bytes: int = 0
    aside: dict[PendingForward, None] = field(default_factory=dict)  # deferred: others may pass them
    # Totals over all entries, kept so that they need not be added up.
    messages: int = 0  # without the next hop's final answer
    bytes: int = 0  # sizes of the entries
    progress: float = 0.0  # time of the next hop's last answer

    def __contains__(self, entry: PendingForward) -> bool:
        is_late = self.late is not None and entry in self.late
        return entry in self.waiting or entry in self.flight or entry in self.aside or is_late

    def entries(self) -> list[PendingForward]:
        """Return all entries in order of arrival."""
        return sorted(self, key=lambda entry: entry.serial)

    def __iter__(self) -> Iterator[PendingForward]:
        return chain(self.flight, self.aside, self.waiting, self.late or ())

    def insert(self, entry: PendingForward) -> None:
        if self.waiting and next(reversed(self.waiting)).serial > entry.serial:
            self.late = self.late or LateEntries()
            self.late.add(entry)
        else:
            self.waiting[entry] = None

    def oldest(self) -> PendingForward | None:
        """Return the oldest waiting entry, or None."""
        oldest = next(iter(self.waiting), None)
        if not self.late:
            return oldest
        late = self.late.oldest()
        return late if oldest is None or late.serial < oldest.serial else oldest

    def drop(self, entry: PendingForward) -> None:
        if entry in self.waiting:
            del self.waiting[entry]
        elif entry in self.aside:
            del self.aside[entry]
        elif self.late is not None:
            self.late.drop(entry)

    def remove_in_flight(self, entry: PendingForward) -> None:
        del self.flight[entry]
        self.flight_bytes -= entry.size

    def requeue(self, entry: PendingForward) -> None:
        del self.aside[entry]
        self.insert(entry)

    def requeue_in_flight(self) -> list[PendingForward]:
        """Requeue all entries in flight before later ones, and return them in order."""
        flight = sorted(self.flight, key=lambda entry: entry.serial)
        for entry in reversed(flight):
            if self.waiting and next(iter(self.waiting)).serial < entry.serial:
                self.insert(entry)
            else:
                self.waiting[entry] = None
                self.waiting.move_to_end(entry, last=False)
        self.flight, self.flight_bytes = {}, 0
        return flight
