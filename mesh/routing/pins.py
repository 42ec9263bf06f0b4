"""Pins: ranges of positions whose envelopes stay in the store although no sink is owed them."""

# Law 1: while a position is pinned, its envelope is neither dropped nor cut.
# Law 2: a position that was to be dropped meanwhile is dropped when its last pin ends.

from __future__ import annotations

from collections.abc import Hashable

from mesh.streams.ranges import Ranges


class Pins:
    """The pinned ranges of one store, by owner, and the positions whose drop they delay."""

    def __init__(self) -> None:
        self._pins: dict[Hashable, tuple[int, int]] = {}
        self._delayed = Ranges()

    def __bool__(self) -> bool:
        return bool(self._pins)

    def __len__(self) -> int:
        return len(self._pins)

    @property
    def delayed(self) -> int:
        """The number of positions that are kept by pins alone."""
        return self._delayed.count()

    def holds(self, position: int) -> bool:
        """Return whether the position is pinned."""
        return any(first <= position <= last for first, last in self._pins.values())

    def delays(self, position: int) -> bool:
        """Delay the drop of a pinned position, and return whether it is pinned."""
        if not self.holds(position):
            return False
        self._delayed.add(position, position)
        return True

    def pin(self, owner: Hashable, first: int, last: int) -> list[int]:
        """Set the pinned range of an owner. Return the positions to drop, which its earlier range pinned.

        A range with `first` above `last` ends the pin.
        """
        before = self._pins.pop(owner, None)
        if first <= last:
            self._pins[owner] = (first, last)
        if before is None:
            return []
        freed = [
            position
            for a, b in self._delayed.common(*before)
            for position in range(a, b + 1)
            if not self.holds(position)
        ]
        for position in freed:
            self._delayed.remove(position, position)
        return freed
