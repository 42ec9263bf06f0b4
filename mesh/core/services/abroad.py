"""Addresses of other sites: by which gateway does something go there, and whose is what comes from there?

It is asked of parts that are above this room.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope


class RequestWays(Protocol):
    """The one who knows the ways to other sites."""

    def ask(self, site: str, then: Callable[[], None]) -> None:
        """Call it when it is known who is a gateway to that site."""

    def why_no_way(self, site: str) -> str:
        """Why no gateway can bring anything there, in words."""

    def way(self, site: str, stream: bytes, in_vain: Collection[bytes]) -> bytes | None:
        """The uuid of the gateway by which what a stream sends there goes, but for these; None: there is
        none.
        """

    def why_none(self, site: str) -> str:
        """Why nothing goes to that site, whoever is a gateway to it; "": it does."""

    def take(self, source: bytes, envelope: Envelope, ttl: int) -> None:
        """This node is that gateway. `source`: the uuid of the node that has brought it; b"": a client here
        has sent it.
        """


@dataclass(frozen=True, slots=True)
class SiteGuest:
    """A session of another site that sends to addresses here. What it is told goes back there."""

    stream: bytes  # as it is called here
    text: str  # its name
    answer: Callable[[Answer], None]
    reply: Callable[[Envelope], None]
