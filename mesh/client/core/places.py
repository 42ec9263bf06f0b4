"""The places that a client may dial, and those in other sites."""

# Law 1: a client leaves its site only if all places of the site have failed in a whole round, LEAVE s or more
#        after the loss.
# Law 2: only a node of the client's first site names other sites.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from mesh.dialable import is_dialable
from mesh.names import is_node_name

LEAVE = 5.0  # s
MOST = 16  # sites, and addresses of one site


class Source(Enum):
    """The way in which a client learned of a place."""

    OWN = "own"
    NAMED = "named"
    FORWARD = "forward"
    KNOWN = "known"
    SAVED = "saved"
    BROWSED = "browsed"
    SITE = "site"


class Place(NamedTuple):
    """A node to dial. `text` is an address or a name, and "" means the shell's default.

    `key` is the key that the node must have, or b"" if it is not known. `site` is another site than the
    client's first one, or "".
    """

    text: str
    source: Source
    key: bytes = b""
    site: str = ""


class Step(NamedTuple):
    """The next place, and the seconds to wait before it is dialed."""

    place: Place
    wait: float


class OtherSites:
    """The other sites to which a client may go. `site` is the one of its node, "" for the first one."""

    def __init__(self) -> None:
        self.site = ""
        self._places: list[Place] = []
        self._since = 0.0  # when the search began

    def begin_search(self, now: float) -> None:
        self._since = now

    def on_welcome(self, site: str, sites: Sequence[tuple[str, tuple[str, ...]]]) -> None:
        """Record the site of the client's node, and the sites that a node of the first one names."""
        self.site = site
        if not site:
            self._places = [
                Place(address, Source.SITE, site=name)
                for name, addresses in sites[:MOST]
                if is_node_name(name)
                for address in addresses[:MOST]
                if is_dialable(address)
            ]

    def places(self, now: float, rounds: int) -> Iterator[Place]:
        """Yield the places in other sites, if the client may leave its site in this round."""
        if now - self._since >= LEAVE and rounds > 1:
            yield from (place for place in self._places if place.site != self.site)
