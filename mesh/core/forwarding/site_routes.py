"""The interface to the routes to other sites, which a component above this package implements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mesh.mapping.decision import Decision
from mesh.sites.letters import WAY


class SiteRoutes(Protocol):
    """The routes of direct messages to other sites.

    Each route is a hop, used wherever a node's name is used.
    """

    def decide(self, site: str, waits: bool) -> Decision:
        """Return the decision on a direct message to that site.

        If `waits` is true, the message waits until there is a route.
        """

    def when_known(self, site: str, then: Callable[[], None]) -> None:
        """Call `then` once the gateways to that site are known."""

    def has_way(self, hop: str) -> bool:
        """Return whether messages may leave by that hop now."""

    def ship(self, hop: str) -> None:
        """Send waiting messages by that hop."""

    def describe_hop(self, hop: str) -> str:
        """Return a text about the state of that hop."""


def is_site(hop: str) -> bool:
    """Return whether that hop is a route to another site."""
    return hop.startswith(WAY)
