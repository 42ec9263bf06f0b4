"""Reports to neighbor sites which third sites are reached through this one, and reads their reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from mesh.features.sites.model.views import SiteMember
from mesh.features.sites.node.facts import SITE, GateChanged, PauseChanged, ReachChanged
from mesh.features.sites.node.gateway import Gateways
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.site_connection import PAUSED, UP, Gateway, SiteConnection
from mesh.features.sites.wire import Behind
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, SettingsRead, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.presence.facts import ServersChanged
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.names import node_name
from mesh.wire.calls import AskSites
from mesh.wire.envelope import Envelope
from mesh.wire.limits import CHAINS, SITE_NODES
from mesh.wire.replies import SiteRows

DOWN = "down"
MOST = 64  # sites that one gateway may report
ASKED_AGAIN = 1.0  # s between two questions to other gateways of this site

# Rule 1: a neighbor is informed of the sites to which its messages may pass, and of no others; never of sites
# that are reached through the neighbor.
# Rule 2: changes of reachability are reported immediately. A site is reached if any gateway of this site is
# linked with it.


class IndirectSites(Component):
    """Component that reports reachable sites to neighbors, and reads their reports."""

    def __init__(
        self,
        context: NodeContext,
        gateways: Gateways,
        transit: GatewayRelay,
        neighbours: Neighbours,
        questions: PeerCalls,
        is_paused: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._is_paused = is_paused
        self._gateways = gateways
        self._transit = transit
        self._neighbours = neighbours
        self._questions = questions
        self._nodes: dict[str, tuple[str, ...]] = {}  # members of sites linked only elsewhere
        self._asked = float("-inf")
        self._shown: dict[str, list[str]] = {}  # sites reported to each neighbor

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return (on_command(Behind, self._on_report),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SettingsRead, lambda _: self._resettle()),
            on_fact(GateChanged, lambda _: self._is_due()),
            on_fact(ReachChanged, lambda _: self._is_due()),
            on_fact(PauseChanged, lambda _: self._is_due()),
            on_fact(ServersChanged, lambda fact: self._is_due() if fact.kind == SITE else None),
        )

    def on_second(self) -> None:
        """Look up the members of sites, and report to the neighbors which sites are reached."""
        if self._gateways.all():
            self._ask_gateways()
            self._announce_all()

    def _resettle(self) -> None:
        """Apply the known reports again, as the new settings may route sites through other neighbors."""
        self._shown.clear()
        for gate in self._gateways.all():
            for uuid, gateway in gate.gateways.items():
                for site in gateway.behind:
                    if self._via(site) == gate.name != site:
                        self._see(uuid, gateway, site)
                    elif site != gate.name:
                        self._gateways.views.drop_gateway(uuid, self._context.clock.now, site)
        self._is_due()

    def _via(self, site: str) -> str:
        return self._context.settings.site.ways.get(site, "")

    def _is_due(self) -> None:
        self._context.out.ending[self._announce_all] = None

    # --- reports to neighbors ---------------------------------------------------------------------------

    def _announce_all(self) -> None:
        for gate in self._gateways.all():
            for gateway in gate.gateways.values():
                if CHAINS in gateway.conn.speaks:
                    self._tell_one(gate, gateway)

    def _tell_one(self, gate: SiteConnection, gateway: Gateway) -> None:
        shown = self._shown_to(gate.name)
        for site in {**gateway.told, **dict.fromkeys(shown)}:
            said = self._state(site) if site in shown else Behind(site)
            if gateway.told.get(site, Behind(site)) != said:
                gateway.told[site] = said
                self._context.out.send(gateway.conn, said)

    def _shown_to(self, neighbour: str) -> list[str]:
        """Return the sites to which messages from this neighbor, or from behind it, may pass."""
        if neighbour not in self._shown:
            s = self._context.settings.site
            rights = [s.accepting[site] for site in s.accepting if s.ways.get(site) == neighbour]
            self._shown[neighbour] = [
                site for site, way in s.ways.items()
                if way != neighbour and any(accepting.may_pass(site) for accepting in rights)
            ]  # fmt: skip
        return self._shown[neighbour]

    def _state(self, site: str) -> Behind:
        view = self._gateways.views.view(site)
        if self._is_paused(site):
            return Behind(site, PAUSED)
        if self._transit.announced(site):
            is_seen = view is not None and view.state == UP
            return Behind(site, UP, view.members if view and is_seen else self._nodes.get(site, ()))
        return Behind(site, DOWN) if view is not None and view.state == DOWN else Behind(site)

    def _ask_gateways(self) -> None:
        if self._context.clock.now < self._asked + ASKED_AGAIN:
            return
        self._asked = self._context.clock.now
        unseen = [site for site in self._all_shown() if not self._gateways.views.is_reachable(site)]
        linked = [self._transit.announced(site).keys() - {self._context.me.uuid} for site in unseen]
        peers = [self._neighbours.peers.get(uuid) for uuid in {min(uuids) for uuids in linked if uuids}]
        if any(peers):
            self._questions.ask_all(filter(None, peers), AskSites(), SiteRows, self._on_rows)

    def _all_shown(self) -> set[str]:
        return {site for gate in self._gateways.all() for site in self._shown_to(gate.name)}

    def _on_rows(self, replies: Replies[SiteRows], missing: list[str]) -> None:
        shown = self._all_shown()
        rows = [row for one in replies.values() if not one.code for row in one.value.sites]
        self._nodes.update({row.site: tuple(row.nodes) for row in rows if row.site in shown and row.nodes})
        self._is_due()

    # --- reports of neighbors ---------------------------------------------------------------------------

    def _on_report(self, conn: Conn, gate: SiteConnection, said: Behind, _: list[Envelope]) -> None:
        """Store a report, for at most MOST sites per gateway.

        Unknown sites are remembered too, because new settings may name them.
        """
        uuid = gate.uuid_of(conn)
        gateway, nodes = gate.gateways[uuid], tuple(map(node_name, said.nodes))
        was = gateway.reaches(said.name)
        room = SITE_NODES - sum(len(one.nodes) for one in gateway.behind.values() if one.name != said.name)
        if said.name in gateway.behind or len(gateway.behind) < MOST:
            gateway.behind[said.name] = replace(said, nodes=nodes[:room])
        if self._via(said.name) == gate.name != said.name:
            self._see(uuid, gateway, said.name)
            if was != gateway.reaches(said.name):
                self._context.facts.publish_fact(ReachChanged(said.name, was))

    def _see(self, uuid: bytes, gateway: Gateway, site: str) -> None:
        said, views, now = (
            gateway.behind.get(site) or Behind(site),
            self._gateways.views,
            self._context.clock.now,
        )
        if said.state in (UP, DOWN):
            views.record_report(uuid, site, map(SiteMember, said.nodes), now, leaving=said.state == DOWN)
        else:
            views.drop_gateway(uuid, now, site)
        self._context.clock.wake(views.deadline())
