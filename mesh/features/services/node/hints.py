"""The text for an address that no node serves, with a similar name if one is served."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.presence.presence import Presence
from mesh.names import ADDRESS

LOOKED_AT = 200  # names compared
REMEMBERED = 1000  # cached texts
FOR = 5.0  # s to cache: comparing takes ms


class Hints:
    """A cache of the texts for addresses that no node serves."""

    def __init__(self, context: NodeContext, presence: Presence) -> None:
        self._context = context
        self._presence = presence
        self._said: dict[str, tuple[float, str]] = {}

    def nobody(self, address: str) -> str:
        """Return the error text for an address that no node serves, with a hint; cached for 5 s."""
        until, text = self._said.get(address, (0.0, ""))
        if self._context.clock.now >= until:
            if len(self._said) >= REMEMBERED:
                self._said.clear()
            text = self._text(address)
            self._said[address] = self._context.clock.now + FOR, text
        return text

    def _text(self, address: str) -> str:
        known = (name for kind, name in self._presence.known_names() if kind == ADDRESS and name != address)
        near = get_close_matches(address, list(islice(known, LOOKED_AT)), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Is the service running? See `mesh ls --addresses`."
        return f"No client serves {address[:80]!r}. {hint}"
