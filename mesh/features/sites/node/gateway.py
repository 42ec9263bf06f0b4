"""Links with other sites: admission of their gateways, keepalive, and reports of their state.

Nodes of other sites do not become members of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mesh.features.sites.model.views import SiteViews
from mesh.features.sites.node.facts import SITE, GateChanged
from mesh.features.sites.node.site_announcer import SiteAnnouncer
from mesh.features.sites.node.site_connection import PING, UUID, Gateway, SiteConnection
from mesh.features.sites.node.site_connections import NO_KEYS, SiteConnections
from mesh.features.sites.wire import Site
from mesh.kernel.access.authenticator import hello_of
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import ConnEnded, Hearing, SettingsRead, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import ConnectionRole
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.presence.presence import Presence
from mesh.links.duel import keep_mine
from mesh.wire import commands as c
from mesh.wire.commands import RELAY, Hello, Introduction, Ping, Refuse, Welcome
from mesh.wire.limits import CHAINS, SITES
from mesh.wire.replies import SiteLink

DUEL = 0.5  # s in which simultaneous dials count as a duel
MOST = 16  # connected gateways of one site
WORDS = {"up": "can be reached", "down": "went down", "unreachable": "cannot be reached"}

# Rule 1: a gateway of another site is neither a peer nor a client. It may send only the commands listed in
# `from_gateways`.
# Rule 2: a gateway speaks for the site whose secret it proved, or whose socket was dialed.
# Rule 3: any message from a gateway is a sign of life, so a PING needs no reply.


class Gateways(Component):
    """The links of this node, as a gateway, with other sites.

    `alive` returns the names of the other live nodes of this site.
    """

    def __init__(
        self, context: NodeContext, dialler: Dialler, alive: Callable[[], list[str]], presence: Presence
    ) -> None:
        self._context = context
        self._presence = presence
        self.views = SiteViews((), 0.0)
        self._connections = SiteConnections(context, dialler, self.views)
        self._gates: Mapping[str, SiteConnection] = self._connections.by_name
        self._announcer = SiteAnnouncer(context, alive, self._gates, self.views)

    # --- the interface ------------------------------------------------------------------------------------

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return (
            on_command(Site, self._announcer.on_site),
            on_command(c.Bye, lambda conn, gate, command, _: self._on_disconnected(gate, conn)),
            on_command(c.Who, lambda conn, gate, command, _: self._on_disconnected(gate, conn)),
            on_command(
                c.Ping,
                lambda conn, gate, command, _: conn.clock.tells(command.wall, self._context.clock.believed),
            ),
        )

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(ConnEnded, self._on_conn_ended),
            on_fact(SettingsRead, lambda _: self._connections.apply_settings()),
        )

    def connection_roles(self) -> dict[str, ConnectionRole]:
        return {RELAY: self}

    def features(self) -> Sequence[str]:
        return (SITES, CHAINS) if self._context.settings.site.name else ()

    def link(self, site: str) -> SiteLink | None:
        """Return the state of the link with that site, or None if no link here leads to it."""
        return self._connections.link(site)

    def _is_reached(self, site: str) -> bool:
        """Return whether another gateway of this site is connected with that site."""
        return bool(self._presence.notes((SITE, site)))

    def figures(self) -> dict[str, int | float]:
        lost = [view.site for view in self.views.all() if view.state == "unreachable"] if self._gates else []
        away = [name for name in lost if not self._is_reached(name)]
        return {
            "site_links": sum(len(gate.gateways) for gate in self._gates.values()),
            "sites_away": len(away),
        }

    def start(self, beginning: Beginning) -> None:
        self._connections.apply_settings()
        if self._gates and self._context.settings.keyring is None:
            self._context.out.log_line("warning", f"no gateway: {NO_KEYS}")

    def tick(self) -> None:
        now = self._context.clock.now
        for gate in self._gates.values():
            for gateway in list(gate.gateways.values()):
                self._keep_alive(gate, gateway)
            self._connections.apply(gate, gate.link.tick(now))
            self._context.clock.wake(gate.deadline())
        for news in self.views.tick(now) if self._gates else ():
            word = WORDS[news.event.removeprefix("site-")]
            level = "warning" if news.event == "site-unreachable" else "info"
            self._context.event(news.event, f"site {news.site} {word}", level=level)
        if self._gates:
            self._context.clock.wake(self.views.deadline())

    def on_second(self) -> None:
        """Update which sites are reached, and announce this site to others if its members have changed.

        Several changes within a second make one announcement.
        """
        if not self._gates:
            return
        self.views.reached(self._is_reached, self._context.clock.now)
        self._context.clock.wake(self.views.deadline())
        self._announcer.announce_change()

    def before_goodbye(self) -> None:
        if self._gates:
            self._announcer.announce_leaving()

    # --- handshakes ---------------------------------------------------------------------------------------

    def sender_of(self, conn: Conn) -> SiteConnection | None:
        """Return the site connection to which `conn` belongs, or None if `conn` is no longer in use."""
        gate = self._gates.get(conn.site)
        return gate if gate is not None and gate.has(conn) else None

    def describe_sender(self, conn: Conn) -> str:
        gate = self.sender_of(conn)
        return f"a gateway of the site {gate.name}" if gate is not None else ""

    def all(self) -> Iterable[SiteConnection]:
        """Return the connections with the configured neighbor sites; none if this node is no gateway."""
        return self._gates.values()

    def clocks(self) -> Iterator[tuple[bytes, str, int]]:
        """Yield the uuid and name of each connected gateway, and by how many ns its clock is ahead."""
        for gate in self._gates.values():
            for uuid, gateway in gate.gateways.items():
                yield uuid, f"{gateway.node.name} of the site {gate.name}", gateway.conn.clock.ahead

    def gate(self, site: str) -> SiteConnection | None:
        """Return the connection with that neighbor site, or None if this node is no gateway to it."""
        return self._gates.get(site)

    def greet(self, conn: Conn) -> Hello:
        """Return our HELLO for a dialed connection."""
        return replace(
            hello_of(self._context, conn, RELAY),
            cluster=self._connections.keys[conn.site].cluster,
            node=self._me(),
            site=self._context.settings.site.name,
        )

    def admit(self, conn: Conn, h: Hello) -> Welcome | Refuse:
        """Return WELCOME or a refusal for the HELLO of a gateway that has proved its site.

        `conn` is assigned to the site if the gateway is welcome.
        """
        assert h.node is not None  # checked by the handshake
        gate, uuid = self._gates[h.site], h.node.uuid
        both_dial = (
            gate.dial is not None and self._context.clock.now - gate.dial.opened < DUEL and not gate.gateways
        )
        if both_dial and keep_mine(self._context.me.uuid, uuid, True):
            return Refuse("DUEL", "both nodes dialed, so only the connection from the lower uuid stays")
        if uuid not in gate.gateways and len(gate.gateways) >= MOST:
            return Refuse("GATEWAYS", f"{MOST} gateways of {h.site} are already connected here")
        conn.site = h.site
        s = self._context.settings
        return Welcome(conn.version, self._me(), s.cluster, speaks=self._context.face.features)

    def on_opened(self, conn: Conn, node: Introduction) -> None:
        """Register a connection after the handshake, on either side.

        An older connection with the same gateway is closed.
        """
        gate, now = self._gates[conn.site], self._context.clock.now
        if conn is gate.dial:
            gate.dial = None
        old = gate.gateways.get(node.uuid)
        if old is not None:
            self._connections.close_replaced(old.conn)
        gate.gateways[node.uuid] = Gateway(node, conn, now)
        self._context.facts.publish_fact(GateChanged(gate.name, old is not None))
        if gate.link.by:  # the other side allows us again
            self._connections.apply(gate, gate.link.allowed(now))
        self._connections.apply(gate, gate.link.hello(now))
        self._announcer.on_opened(conn)
        self._context.clock.wake(now + PING)

    def on_welcomed(self, conn: Conn, w: Welcome) -> None:
        """Handle the WELCOME that answers our HELLO."""
        gate, mine = self._gates[conn.site], self._context.me.uuid
        if len(w.node.uuid) != UUID or w.node.uuid == mine:
            self._context.out.hang_up(conn)
            is_mine = w.node.uuid == mine
            why = "the gateway has the uuid of this node" if is_mine else "the gateway sent an invalid uuid"
            self.on_refused(conn, Refuse("MALFORMED", why, final=True))
        elif conn is not gate.dial or (
            w.node.uuid in gate.gateways and not keep_mine(mine, w.node.uuid, True)
        ):
            self._connections.close_replaced(conn)
            gate.remove_connection(conn)
        else:
            self.on_opened(conn, w.node)

    def on_refused(self, conn: Conn, r: Refuse) -> None:
        """Handle a refusal, by the other side or by us."""
        gate, now = self._gates.get(conn.site), self._context.clock.now
        if gate is not None and self._connections.remove_connection(gate, conn):
            is_lasting = r.code != "DUEL"
            self._connections.apply(
                gate,
                gate.link.on_refused(now, r.code, r.reason) if is_lasting else gate.link.disconnected(now),
            )

    # --- liveness -----------------------------------------------------------------------------------------

    def _keep_alive(self, gate: SiteConnection, gateway: Gateway) -> None:
        now = self._context.clock.now
        if now >= gateway.silent_at:
            self._context.out.log_line("info", f"{gateway.node.name} of the site {gate.name} does not answer")
            self._on_disconnected(gate, gateway.conn)
        elif now >= gateway.said + PING:
            gateway.said = now
            self._context.out.send(gateway.conn, Ping(0, self._context.clock.believed))

    def _on_conn_ended(self, fact: ConnEnded) -> None:
        gate = self._gates.get(fact.conn.site)
        if gate is not None:
            self._on_disconnected(gate, fact.conn)

    def _on_disconnected(self, gate: SiteConnection, conn: Conn) -> None:
        self._context.out.hang_up(conn)
        if self._connections.remove_connection(gate, conn):
            self._connections.apply(gate, gate.link.disconnected(self._context.clock.now))

    def _me(self) -> Introduction:
        """Return the facts about this node that other sites may know."""
        me = self._context.me
        return Introduction(me.uuid, me.name, me.boot, "", key=me.key)
