"""What is put off while rules change, and for how long?"""

from __future__ import annotations

from collections.abc import Iterator

from mesh.core.desk.desk import Desk
from mesh.routing.entry import Entry
from mesh.routing.onward import Onward
from mesh.routing.rulings import Rulings
from mesh.wire.envelope import Envelope

LATELY = 60.0  # s after a change of rules in which a circle is no last word
AGAIN = 0.1  # s after which what came back from one is decided anew
EARLY = "what its publisher sent before is still under way"


class PutOff:
    """Entries that came back from a circle, and those that their publishers sent after them."""

    def __init__(self, desk: Desk, onward: Onward, rulings: Rulings) -> None:
        self._desk = desk
        self._onward = onward
        self._rulings = rulings
        self._until = 0.0  # rules have changed of late
        self._again: dict[int, float] = {}  # serial -> when it is decided anew

    def ruled(self) -> None:
        """Rules change."""
        self._until = self._desk.now + LATELY

    @property
    def is_lately(self) -> bool:
        """May some nodes have new rules, and others not yet?"""
        return self._desk.now < self._until

    def early_until(self, e: Envelope) -> float:
        """When to look again, where this node, which is its master since a moment ago, has something under
        way that its publisher sent before, and that comes back to be taken here; 0 where it has not.

        All that waits for one goes with it. Else what comes meanwhile would wait for what waits, for ever.
        """
        if e.to or not self.is_lately:
            return 0.0
        for entry in self._onward.before(e):
            if entry.serial in self._again:
                return self._again[entry.serial]
            if any(self._onward.is_under_way(entry, hop) for hop in entry.hops):
                return self._desk.now + AGAIN
        return 0.0

    def comes_back(self, entry: Entry, why: str) -> None:
        """Nobody has it: it waits a little."""
        entry.was_sent = False
        self.put(entry, why, self._desk.now + AGAIN)

    def put(self, entry: Entry, why: str, until: float) -> None:
        """It goes nowhere until then."""
        self._rulings.without(entry)
        self._onward.assign(entry, ("",), f"rules are changing: {why}")
        self._again[entry.serial] = until
        self._desk.wake(until)

    def due(self) -> Iterator[Entry]:
        """Those that are to be decided anew now, each as its turn comes."""
        now = self._desk.now
        for serial in [serial for serial, at in self._again.items() if at <= now]:
            del self._again[serial]
            entry = self._onward.entry(serial)
            if entry is not None:
                yield entry
        if self._again:
            self._desk.wake(min(self._again.values()))
