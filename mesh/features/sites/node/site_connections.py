"""Opens, replaces and removes the connections of a gateway with other sites."""

from __future__ import annotations

from collections.abc import Mapping

from mesh.features.sites.model.views import SiteViews
from mesh.features.sites.node.facts import GateChanged
from mesh.features.sites.node.site_connection import PAUSED, SiteConnection
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import SiteKeys
from mesh.kernel.peers.dialler import REPLACED, Dialler
from mesh.links.backoff import Timing
from mesh.links.table import LinkAction
from mesh.wire.commands import RELAY, Bye
from mesh.wire.replies import SiteLink

NO_TOKEN = "this node has no keys for {0}: run `mesh join --site {0}` and `mesh config reload` here"
NO_KEYS = "a mesh without keys cannot be a site: run `mesh init`"


class SiteConnections:
    """The connections with the configured neighbor sites; none if this node is no gateway.

    A connection that is removed is also removed from `views`, the views of the other sites.
    """

    def __init__(self, context: NodeContext, dialler: Dialler, views: SiteViews) -> None:
        self._context = context
        self._dialler = dialler
        self._views = views
        self.keys: Mapping[str, SiteKeys] = {}  # of sites that may be dialed
        self.by_name: dict[str, SiteConnection] = {}

    def apply_settings(self) -> None:
        """Apply the sites of the settings.

        Connections with sites that remain stay open. A site with other addresses or keys is dialed again.
        """
        keyring, before = self._context.settings.keyring, self.keys
        s = self._context.settings.site
        self.keys = keyring.sites if keyring is not None and s.is_relay else {}
        wanted = s.addresses if s.is_relay else {}
        for gate in [gate for name, gate in self.by_name.items() if name not in wanted]:
            self._drop(gate, *gate.conns())
            del self.by_name[gate.name]
        self._views.set_sites(s.ways, self._context.clock.now)
        for name, addresses in wanted.items():
            known = self.by_name.get(name)
            if known is None or (known.addresses, before.get(name)) != (addresses, self.keys.get(name)):
                self._dial_at(name, addresses)

    def _dial_at(self, name: str, addresses: tuple[str, ...]) -> None:
        s, now, old = self._context.settings, self._context.clock.now, self.by_name.get(name)
        timing = Timing(low=s.backoff_min, high=s.backoff_max)
        gate = self.by_name[name] = SiteConnection(name, addresses, now, self._context.jitter, timing)
        if old is not None:
            self._drop(old)
            gate.gateways = old.gateways
        if gate.gateways:
            self.apply(gate, gate.link.hello(now))
        if addresses and name in self.keys:
            self.apply(gate, gate.link.wanted(now))

    def _drop(self, gate: SiteConnection, *conns: Conn) -> None:
        """Close `conns`, and the dial in progress."""
        for conn in (gate.dial, *conns):
            if conn is not None:
                self._context.out.send(conn, Bye(REPLACED))
                self.remove_connection(gate, conn)
                self._context.out.hang_up(conn)

    def apply(self, gate: SiteConnection, actions: tuple[LinkAction, ...]) -> None:
        """Execute the actions that the state machine of a link returned."""
        for action in actions:
            if action is LinkAction.DIAL:
                gate.dial = self._dialler.dial(gate.next_address(), RELAY, b"", site=gate.name)
            elif action is LinkAction.HANG_UP:
                for conn in (gate.dial, *gate.conns()):
                    if conn is not None:
                        self.remove_connection(gate, conn)
                        self._context.out.hang_up(conn)
            elif action is LinkAction.NOTE:
                state = gate.link.describe(self._context.clock.now)
                self._context.event("site", f"{gate.name}: {state}: {gate.link.reason}", level="warning")
        self._context.clock.wake(gate.link.deadline())

    def remove_connection(self, gate: SiteConnection, conn: Conn) -> bool:
        """Remove a connection, and return whether the site has none left; False if it was removed before."""
        was_open = gate.has(conn)
        uuid = gate.uuid_of(conn) if was_open else b""
        is_last = gate.remove_connection(conn)
        if was_open:
            self._context.facts.publish_fact(GateChanged(gate.name, True))
            for site in (gate.name, *self._behind(gate)):
                self._views.drop_gateway(uuid, self._context.clock.now, site)
            self._context.clock.wake(self._views.deadline())
        return is_last

    def close_replaced(self, conn: Conn) -> None:
        """Close a connection in whose place another one is used; the caller removes it."""
        self._context.out.send(conn, Bye(REPLACED))
        self._context.out.hang_up(conn)

    def _behind(self, gate: SiteConnection) -> list[str]:
        return [site for site, way in self._context.settings.site.ways.items() if way == gate.name != site]

    def link(self, site: str) -> SiteLink | None:
        """Return the state of the link with that site, or None if no link here leads to it.

        A site behind a neighbor is reached by the link with the neighbor.
        """
        gate, now = self.by_name.get(self._context.settings.site.ways.get(site, "")), self._context.clock.now
        if gate is None:
            return None
        there = [each for each in gate.gateways.values() if site == gate.name or each.reaches(site)]
        names = sorted(gateway.node.name for gateway in there)
        if self._context.settings.keyring is None:
            state, why = "no keys", NO_KEYS
        elif gate.gateways and not names:
            state, why = f"{PAUSED if gate.has_paused(site) else 'not reached'} by {gate.name}", ""
        elif names or (gate.addresses and gate.name in self.keys):
            state, why = gate.link.describe(now), gate.link.reason
        elif gate.addresses:
            state, why = "no token", NO_TOKEN.format(gate.name)
        else:
            state, why = "waits for the other site to dial", ""
        return SiteLink(node=self._context.me.name, gateways=names, state=state, why=why)
