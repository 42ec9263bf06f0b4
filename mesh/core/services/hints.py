"""What does somebody hear whose address nobody serves? Perhaps that one of nearly that name is served."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice

from mesh.core.desk.desk import Desk
from mesh.core.presence.presence import Presence
from mesh.names import ADDRESS

LOOKED_AT = 200  # names that are compared
REMEMBERED = 1000  # answers, each for
FOR = 5.0  # s: comparing takes milliseconds, and a loop may ask for the same one all the time


class Hints:
    """The words for it."""

    def __init__(self, desk: Desk, presence: Presence) -> None:
        self._desk = desk
        self._presence = presence
        self._said: dict[str, tuple[float, str]] = {}

    def nobody(self, address: str) -> str:
        """In words: nobody serves it."""
        until, text = self._said.get(address, (0.0, ""))
        if self._desk.now >= until:
            if len(self._said) >= REMEMBERED:
                self._said.clear()
            text = self._text(address)
            self._said[address] = self._desk.now + FOR, text
        return text

    def _text(self, address: str) -> str:
        known = (name for kind, name in self._presence.known() if kind == ADDRESS and name != address)
        near = get_close_matches(address, list(islice(known, LOOKED_AT)), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Is its service running? See `mesh ls --addresses`."
        return f"nobody serves {address[:80]!r}. {hint}"
