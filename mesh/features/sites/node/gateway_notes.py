"""Tracks the notes by which gateways announce other sites, and reports gateways that may lose messages.

A gateway announces each site that it reaches with a note, which changes with each lost connection: see
`mesh/features/sites/model/stores.py`. The messages that the gateway had in transit must then be resent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mesh.features.sites.model.gateways import gateway
from mesh.features.sites.model.stores import broken
from mesh.features.sites.node.facts import SITE, ExitsChanged
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedOut
from mesh.kernel.presence.facts import ServersChanged

# Law: each change of a site's notes is reported once, with the gateways that may have lost messages.


class GatewayNotes(Component):
    """The notes of the gateways to each site, as last read, by uuid."""

    def __init__(self, context: NodeContext, transit: GatewayRelay) -> None:
        self._context = context
        self._transit = transit
        self._notes: dict[str, dict[bytes, bytes]] = {}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(ServersChanged, lambda fact: self.read_notes(fact.name) if fact.kind == SITE else None),
            on_fact(LoggedOut, lambda fact: self._logged_out(fact.peer.node.uuid)),
        )

    def notes_of(self, site: str) -> Mapping[bytes, bytes]:
        """Return the notes of the gateways that are linked with the site."""
        return self._notes.get(site, {})

    def choose_gateway(self, site: str, stream: bytes) -> bytes | None:
        """Return the uuid of the gateway that forwards `stream` to the site, or `None` if there is none."""
        return gateway(stream, site, self.notes_of(site), self._context.settings.site.relays)

    def read_notes(self, site: str) -> None:
        """Read the current notes, and report a change. Reading keeps the notes up to date for a while."""
        self._replace(site, self._transit.announced(site))

    def _replace(self, site: str, now: dict[bytes, bytes]) -> None:
        before = self._notes.pop(site, {})
        if now:
            self._notes[site] = now
        if now != before:
            self._context.facts.publish_fact(ExitsChanged(site, frozenset(broken(before, now))))

    def _logged_out(self, uuid: bytes) -> None:
        for site, notes in list(self._notes.items()):
            self._replace(site, {each: note for each, note in notes.items() if each != uuid})
