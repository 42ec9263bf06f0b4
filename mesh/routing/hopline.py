"""What goes to one node for one domain, in the order of its arrival: how much is it, and which is first?"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain

from mesh.routing.entry import Entry


class LateEntries:
    """Entries that came behind newer ones: the oldest is found soon, in whatever order they came."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._heap: list[int] = []  # their serials, and those of some that left

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __contains__(self, entry: Entry) -> bool:
        return entry.serial in self._entries

    def add(self, entry: Entry) -> None:
        if entry.serial not in self._entries:
            heappush(self._heap, entry.serial)
        self._entries[entry.serial] = entry

    def first(self) -> Entry:
        """The oldest one; there is one."""
        while self._heap[0] not in self._entries:
            heappop(self._heap)
        return self._entries[self._heap[0]]

    def drop(self, entry: Entry) -> None:
        del self._entries[entry.serial]


@dataclass(slots=True)
class HopLine:
    """The entries that go to one node for one domain, or for one node behind it."""

    # Taken from the front, which a dict would look for ever longer.
    waiting: OrderedDict[Entry, None] = field(default_factory=OrderedDict)
    late: LateEntries | None = None  # those that came behind newer ones, if there ever were any
    flight: dict[Entry, None] = field(default_factory=dict)
    flight_bytes: int = 0
    aside: dict[Entry, None] = field(default_factory=dict)  # they let others go before
    # Of all in it, so that nobody has to look at each of very many:
    messages: int = 0  # those without this node's last word,
    bytes: int = 0  # and the sizes of the entries
    progress: float = 0.0  # when it last answered something

    def __contains__(self, entry: Entry) -> bool:
        is_late = self.late is not None and entry in self.late
        return entry in self.waiting or entry in self.flight or entry in self.aside or is_late

    def entries(self) -> list[Entry]:
        """All of them, in the order of their arrival."""
        return sorted(self, key=lambda entry: entry.serial)

    def __iter__(self) -> Iterator[Entry]:
        return chain(self.flight, self.aside, self.waiting, self.late or ())

    def wait(self, entry: Entry) -> None:
        """Put an entry in its place: often that is behind all, else very many may come at once."""
        if self.waiting and next(reversed(self.waiting)).serial > entry.serial:
            self.late = self.late or LateEntries()
            self.late.add(entry)
        else:
            self.waiting[entry] = None

    def first(self) -> Entry | None:
        """The oldest that waits."""
        oldest = next(iter(self.waiting), None)
        if not self.late:
            return oldest
        late = self.late.first()
        return late if oldest is None or late.serial < oldest.serial else oldest

    def drop(self, entry: Entry) -> None:
        """Take out an entry that waits here no more."""
        if entry in self.waiting:
            del self.waiting[entry]
        elif entry in self.aside:
            del self.aside[entry]
        elif self.late is not None:
            self.late.drop(entry)

    def land(self, entry: Entry) -> None:
        """It is under way no more."""
        del self.flight[entry]
        self.flight_bytes -= entry.size

    def back(self, entry: Entry) -> None:
        """What stood aside waits again."""
        del self.aside[entry]
        self.wait(entry)

    def again(self) -> list[Entry]:
        """All that was under way waits again, in front of what followed it. Returns that."""
        flight = sorted(self.flight, key=lambda entry: entry.serial)
        for entry in reversed(flight):
            if self.waiting and next(iter(self.waiting)).serial < entry.serial:
                self.wait(entry)
            else:
                self.waiting[entry] = None
                self.waiting.move_to_end(entry, last=False)
        self.flight, self.flight_bytes = {}, 0
        return flight
