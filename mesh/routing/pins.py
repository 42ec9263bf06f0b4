"""Pins: ranges of positions whose envelopes stay in the store although no sink is owed them."""

# Law 1: while a position is pinned, its envelope is neither dropped nor cut.
# Law 2: a position that was to be dropped meanwhile is returned by `take_free` after its last pin has ended.

from __future__ import annotations

from collections.abc import Hashable

from mesh.streams.ranges import Ranges


class Pins:
    """The pinned ranges of one store, by owner, and the positions whose drop they delay."""

    def __init__(self) -> None:
        self._pins: dict[Hashable, tuple[int, int]] = {}
        self._union = Ranges()  # of all pins, and of some that have ended
        self._delayed = Ranges()
        self._has_ended = False  # whether a pin has ended or shrunk since `take_free`

    def __bool__(self) -> bool:
        return bool(self._pins) or self._has_ended

    def __len__(self) -> int:
        return len(self._pins)

    @property
    def delayed(self) -> int:
        """The number of positions that are kept by pins alone."""
        return self._delayed.count()

    def holds(self, position: int) -> bool:
        """Return whether the position is pinned, or was pinned until the last `take_free`."""
        return position in self._union

    def delays(self, position: int) -> bool:
        """Delay the drop of a pinned position, and return whether it is pinned."""
        if not self.holds(position):
            return False
        self._delayed.add(position, position)
        return True

    def pin(self, owner: Hashable, first: int, last: int) -> None:
        """Set the pinned range of an owner. A range with `first` above `last` ends the pin."""
        self._has_ended |= self._pins.pop(owner, None) is not None
        if first <= last:
            self._pins[owner] = (first, last)
            self._union.add(first, last)

    def take_free(self) -> list[int]:
        """Remove and return the positions to drop, which are no longer pinned."""
        if not self._has_ended:
            return []
        self._has_ended = False
        self._union = Ranges()
        for first, last in self._pins.values():
            self._union.add(first, last)
        free = [
            position
            for first, last in self._delayed
            for a, b in self._union.missing(first, last)
            for position in range(a, b + 1)
        ]
        for position in free:
            self._delayed.remove(position, position)
        return free
