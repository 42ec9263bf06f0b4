"""Interfaces to the package that forwards requests to other sites.

A higher layer implements these interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from mesh.services.requester import Requester
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope


class SiteRequestRoutes(Protocol):
    """The component that chooses routes to other sites, and sends requests over them."""

    def when_known(self, site: str, then: Callable[[], None]) -> None:
        """Call `then` when the gateways to that site are known, or at once if nothing may be sent to it."""

    def why_no_way(self, site: str) -> str:
        """Return why no gateway reaches the site, as text for a user."""

    def way(self, site: str, stream: bytes, in_vain: Collection[bytes]) -> bytes | None:
        """Return the uuid of the gateway for a stream to that site, or None.

        Gateways in `in_vain` are left out.
        """

    def why_none(self, site: str) -> str:
        """Return why nothing may be sent to that site, even with a gateway, or ""."""

    def accept(self, requester: Requester, envelope: Envelope, ttl: int) -> None:
        """Forward the envelope as the chosen gateway."""


@dataclass(frozen=True, slots=True)
class SiteGuest:
    """A session of another site that sends to addresses here.

    The callbacks return answers and replies to that site.
    """

    stream: bytes  # its alias here
    text: str  # its name
    answer: Callable[[Answer], None]
    reply: Callable[[Envelope], None]
