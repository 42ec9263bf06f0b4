"""The nodes of this site that are gateways, or were, as far as each of them announces it."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Part
from mesh.core.peers.facts import LoggedIn, PeerForgotten
from mesh.core.peers.peer import Peer
from mesh.core.presence.facts import ServersChanged
from mesh.core.presence.presence import Presence
from mesh.core.sites.transit import SITE

# Rule 1: a node that was a gateway once stays one: what came in by it may still be owed.
# Rule 2: a node that has not answered yet whether it is one may be one. One of a release that knows no sites
#         is none.


class KnownGateways(Part):
    """Gateways of this site to the sites of the settings."""

    def __init__(self, desk: Desk, presence: Presence) -> None:
        self._desk = desk
        self._presence = presence
        self._known: set[bytes] = set()  # uuids of those that have said so in this process

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(LoggedIn, lambda _: self._watch()),
            hear(ServersChanged, self._servers_changed),
            hear(PeerForgotten, lambda fact: self._known.discard(fact.peer.node.uuid)),
        )

    def tidy(self) -> None:
        self._watch()  # so that gateways go on announcing themselves

    def may_bring(self, peer: Peer, site: str) -> bool:
        """Return whether the peer may bring messages that came from that site."""
        if site not in self._desk.settings.accepting:
            return False
        return peer.node.uuid in self._known or not self._presence.has_said(peer, (SITE, site))

    def _watch(self) -> None:
        for site in self._desk.settings.accepting:
            self._presence.notes((SITE, site))

    def _servers_changed(self, fact: ServersChanged) -> None:
        if fact.kind == SITE and fact.change > 0:
            self._known.add(fact.uuid)
