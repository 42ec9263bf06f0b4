"""What is for somebody in another site: may it go there, and how? Asked of a part that is above this room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mesh.mapping.decision import Decision
from mesh.sites.letters import WAY


class LetterWays(Protocol):
    """The one who knows the ways to other sites. Each is a hop, and stands where else a node's name does."""

    def decide(self, site: str, waits: bool) -> Decision:
        """What becomes of a letter to that site. `waits`: until there is a way."""

    def ask(self, site: str, then: Callable[[], None]) -> None:
        """Call it when it is known who is a gateway to that site."""

    def has_way(self, hop: str) -> bool:
        """May something leave by that hop now?"""

    def ship(self, hop: str) -> None:
        """Something may leave by it."""

    def says(self, hop: str) -> str:
        """How it stands with it, in words."""


def is_site(hop: str) -> bool:
    """Is that another site, and no node?"""
    return hop.startswith(WAY)
