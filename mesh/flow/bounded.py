"""A dictionary with a bound: beyond it, the oldest entries are dropped."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Law: there are never more than `most` entries: those that `keep` has set last.


class Bounded(OrderedDict[K, V]):
    """A dictionary of at most `most` entries, oldest first. `keep` makes an entry the newest."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def keep(self, key: K, value: V) -> tuple[K, V] | None:
        """Set an entry as the newest one. Return the entry that was dropped for it, or `None`."""
        self[key] = value
        self.move_to_end(key)
        return self.popitem(last=False) if len(self) > self.most else None
