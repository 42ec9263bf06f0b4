"""Limits how often a notice is given, such as an event about the mistakes of one peer."""

from __future__ import annotations


class Seldom:
    """A limit of `most` notices in each period of `every` seconds; a period begins with its first notice."""

    __slots__ = ("_every", "_given", "_most", "_since")

    def __init__(self, every: float, most: int = 1) -> None:
        self._every, self._most = every, most
        self._since, self._given = float("-inf"), 0

    def allows(self, now: float) -> bool:
        """Return whether a further notice may be given at `now` (s), and count it."""
        if now - self._since >= self._every:
            self._since, self._given = now, 0
        self._given += 1
        return self._given <= self._most
