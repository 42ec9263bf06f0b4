"""Looks up the gateways of this site through which a named receiver in another site is reached."""

from __future__ import annotations

from collections.abc import Callable

from mesh.features.sites.node.facts import SITE
from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.presence.presence import Presence
from mesh.reasons.near import near
from mesh.remote_names import UNKNOWN
from mesh.wire.limits import LETTERS

FRESH = 30.0  # s after which the gateways are looked up again
NAMED = 8  # sites named in a hint

# Rule: gateways are looked up only for sites to which a client here sends something.


class GatewayRoutes(Component):
    """The gateways of this site to other sites, as far as they were looked up."""

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        presence: Presence,
        transit: GatewayRelay,
        notes: GatewayNotes,
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._presence = presence
        self._transit = transit
        self._used: dict[str, float] = {}  # time of the last use, by known site
        self._notes = notes

    def why_unknown(self, site: str) -> str:
        """Return why the site is unknown, with the sites that the settings name, or "" if it is known."""
        s = self._context.settings.site
        if site in s.ways:
            return ""
        what = f"{self._context.me.name} {UNKNOWN} {site[:64]}"
        if alike := near(site[:64], s.ways):
            return f"{what} (did you mean {' or '.join(alike)}?)"
        named = sorted(s.ways)[:NAMED]
        if not named:
            return f"{what}, and knows no other"
        more = f" and {len(s.ways) - len(named):,} more" if len(s.ways) > len(named) else ""
        return f"{what}; it knows {', '.join(named)}{more}"

    def why_no_way(self, site: str) -> str:
        """Return why no gateway reaches the site, as far as this node knows."""
        if paused_by := self._transit.paused_by(site):
            return f"{paused_by} has paused messages for {site}"
        return f"{self._context.me.name} has no route to the site {site}: see `mesh why site {site}`"

    def is_known(self, site: str) -> bool:
        """Return whether the gateways to `site` were looked up or used in the last 30 s.

        If so, the call counts as another use, which keeps the gateways up to date.
        """
        now = self._context.clock.now
        if now - self._used.get(site, -FRESH) >= FRESH:
            return False
        self._used[site] = now
        self._presence.servers((SITE, site))  # counts as a use, so updates continue
        return True

    def when_known(self, site: str, then: Callable[[], None]) -> None:
        """Call `then` when the gateways to `site` are known: usually immediately, at the latest after 2 s.

        If the settings do not name the site, `then` is called immediately.
        """

        def heard() -> None:
            self._used[site] = self._context.clock.now
            self._notes.read_notes(site)
            then()

        if site not in self._context.settings.site.ways or self.is_known(site):
            then()
        else:
            self._presence.when_known((SITE, site), heard)

    def able(self, site: str, feature: str = LETTERS) -> list[bytes]:
        """Return the uuids of the gateways to the site that can accept a direct message now.

        `feature` is the feature that the message needs.
        """
        return [uuid for uuid in self._notes.notes_of(site) if self._is_able(uuid, feature)]

    def has_gateway(self, site: str, uuid: bytes) -> bool:
        """Return whether that node is a gateway to the site, as of the last lookup."""
        return uuid in self._notes.notes_of(site)

    def _is_able(self, uuid: bytes, feature: str) -> bool:
        if uuid == self._context.me.uuid:
            return True
        peer = self._neighbours.peers.get(uuid)
        return peer is not None and peer.data is not None and feature in peer.data.speaks
