"""Simulated meshes with keys of their own, which are sites to each other."""

from dataclasses import replace
from typing import Any

from mesh.config.sites import RemoteSite
from mesh.features.sites.model.ways import ways
from mesh.features.sites.node.parts import SiteParts
from mesh.kernel.context.settings import SiteKeys
from mesh.site_policy.accepting import Accepting
from mesh.site_policy.selection import Selection
from mesh.wire.commands import Command
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import key_settings

FIRST, SECOND = (
    "tcp://127.0.0.1:5001",
    "tcp://127.0.0.1:5002",
)  # addresses of nodes, in order of their creation


class Reader(SimClient):
    """A client of a mesh where two nodes may accept a message, one after the other."""

    def check_places(self, command: object, envelopes: object) -> None:
        """Check nothing, because a message has no single position here."""


def secret(site: str, role: str) -> bytes:
    return f"{site} {role}".encode().ljust(32, b".")


def member(net: SimNetwork, name: str, here: str, *seeds: str, **settings: Any) -> SimNode:
    """Create a node of a site; further settings make it a gateway.

    `tables` has the other sites, as in its configuration.
    """
    own = key_settings(name)
    tables = settings.pop("tables", {})
    settings.setdefault("sites", {name: () for name, table in tables.items() if not table.via})
    settings.update(
        ways=ways({**dict.fromkeys(settings["sites"], ""), **{t.name: t.via for t in tables.values()}}),
        selection=Selection.of(tables.values()),
        outboxes={site: table.max_bytes for site, table in tables.items() if table.domains or table.topics},
        accepting={site: Accepting(table) for site, table in tables.items()},
    )
    secrets = {role: secret(here, role) for role in ("node", "client", "monitor")}
    keys: dict[str, Any] = {"server": f"server of {here}", "secrets": secrets, **settings.pop("keys", {})}
    mesh = {"cluster": f"mesh of {here}", "secret": secrets["node"], "site": here}
    return net.node(name, *seeds, **{**own, **mesh, "keyring": replace(own["keyring"], **keys), **settings})


def gateway(
    net: SimNetwork, name: str, here: str, there: str, dials: str = "", *seeds: str, **wrong: Any
) -> SimNode:
    """Create a gateway of a site to another one.

    `wrong` replaces the "secret", "cluster" or "server" that it has for that site. "called" is the name that
    it uses there.
    """
    called = wrong.pop("called", here)
    return gateway_to(net, name, here, {there: dials}, *seeds, called=called, **wrong)


def gateway_to(
    net: SimNetwork, name: str, here: str, dials: dict[str, str], *seeds: str, called: str = "", **wrong: Any
) -> SimNode:
    """Create a gateway to several sites. `dials` has an address for each site, or an empty text."""
    more = {key: wrong.pop(key) for key in ("rules",) if key in wrong}
    tables = wrong.pop("tables", {there: RemoteSite(there) for there in dials})
    given = {
        there: replace(
            SiteKeys(f"mesh of {there}", secret(there, f"relay {here}"), f"server of {there}"), **wrong
        )
        for there in dials
    }
    ring = {"relays": {there: secret(here, f"relay {there}") for there in dials}, "sites": given}
    sites = {there: (address,) if address else () for there, address in dials.items()}
    return member(
        net,
        name,
        here,
        *seeds,
        keys=ring,
        site=called or here,
        is_relay=True,
        sites=sites,
        tables=tables,
        **more,
    )


def say(node: SimNode, site: str, command: Command, *envelopes: Envelope) -> None:
    """Send a command to a site, as a gateway that obeys no rules."""
    for conn in node.core.parts[SiteParts].gateways._gates[site].conns():
        node._send(conn.key, write(command, envelopes))


def links(node: SimNode) -> int:
    """Return how many gateways of other sites are connected to the node."""
    return node.metric("site_links")


def events(node: SimNode, kind: str) -> list[str]:
    """Return the node's reports of that kind."""
    return [note for note in node.notes if f": {kind}: " in note]
