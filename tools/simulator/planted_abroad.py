"""Planted bugs in direct messages and requests between sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.features.sites.node.requests import SiteRequests
from mesh.features.sites.node.site_direct_messages import SiteDirectMessages
from mesh.site_policy.accepting import Accepting
from mesh.wire.commands import Answer

Patch = tuple[Any, str, Any]


def written_to_anybody() -> list[Patch]:
    """Let other sites send to any client."""
    return [(Accepting, "may_write_to", lambda self, client: True)]


def asked_for_anything() -> list[Patch]:
    """Let other sites request any address."""
    return [(Accepting, "may_ask", lambda self, address: True)]


def done_when_it_left() -> list[Patch]:
    """Settle a direct message as soon as it has left for a site."""
    ship = SiteDirectMessages.ship

    def ships(self: Any, hop: str) -> None:
        ship(self, hop)
        for line in self._forwarder.onward.lines(hop):
            for entry in list(line.flight):
                e = entry.envelope
                self._forwarder.on_site_answer(entry, hop, Answer(e.domain, e.first, e.last))

    return [(SiteDirectMessages, "ship", ships)]


def lost_unsaid() -> list[Patch]:
    """Do not notify clients of requests that were lost with a connection."""
    return [
        (SiteRequests, "_on_gate_changed", lambda self, site: None),
        (SiteRequests, "on_second", lambda self: None),
    ]


# Seed, broken law and patches by the name of the bug.
ABROAD: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "another site writes to anybody": (1, "S-leave", written_to_anybody),
    "another site asks for anything": (0, "S-leave", asked_for_anything),
    "a letter that has left for a site is done": (0, "S-letters", done_when_it_left),
    "what is lost on its way to an address is told to nobody": (2, "S-asked", lost_unsaid),
}
