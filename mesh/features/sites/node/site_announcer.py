"""Announces the members of this site to gateways of other sites, and receives their announcements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.features.sites.model.views import SiteMember, SiteViews
from mesh.features.sites.node.site_connection import UUID, SiteConnection
from mesh.features.sites.wire import Site
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.names import node_name
from mesh.wire.limits import SITE_NODES


class SiteAnnouncer:
    """Announces this site to the connected gateways of other sites, and accepts their announcements.

    `alive` returns the names of the other live nodes of this site. `gates` are the connections with other
    sites, and `views` the known members of these sites.
    """

    def __init__(
        self,
        context: NodeContext,
        alive: Callable[[], Sequence[str]],
        gates: Mapping[str, SiteConnection],
        views: SiteViews,
    ) -> None:
        self._context = context
        self._alive = alive
        self._gates = gates
        self._views = views
        self._told: Site | None = None

    def on_opened(self, conn: Conn) -> None:
        """Announce this site on a new connection, and on all if its members have changed."""
        if (own := self._own()) == self._told:
            self._context.out.send(conn, own)
        else:  # send to all, so that no gateway misses a change that is soon reverted
            self._announce_site(own)

    def announce_change(self) -> None:
        """Announce this site if its members have changed."""
        if (now := self._own()) != self._told:
            self._announce_site(now)

    def announce_leaving(self) -> None:
        """Announce that this site stops, if this node is the last live node of the site."""
        if not self._alive():
            self._announce_site(replace(self._own(), leaving=True))

    def _own(self) -> Site:
        others = tuple((name, b"") for name in sorted(set(self._alive()))[: SITE_NODES - 1])
        return Site(
            self._context.settings.site.name, ((self._context.me.name, self._context.me.uuid), *others)
        )

    def _announce_site(self, site: Site) -> None:
        self._told = site
        for gate in self._gates.values():
            for conn in gate.conns():
                self._context.out.send(conn, site)

    def on_site(self, conn: Conn, gate: SiteConnection, said: Site, _: object) -> None:
        """Record the members that a gateway of another site reports. Raises: RemoteError."""
        if said.name != gate.name:
            what = f"a gateway of the site {gate.name} claims to be of {said.name[:64]!r}"
            raise RemoteError(what, code="SITE")
        members = [SiteMember(node_name(name), uuid) for name, uuid in said.nodes]
        if any(len(member.gateway) not in (0, UUID) for member in members):
            raise RemoteError(f"a gateway of the site {gate.name} sends an invalid uuid", code="MALFORMED")
        self._views.record_report(
            gate.uuid_of(conn), gate.name, members, self._context.clock.now, said.leaving
        )
        self._context.clock.wake(self._views.deadline())
