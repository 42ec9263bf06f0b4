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
)  # addresses of nodes, in the order they are made


class Reader(SimClient):
    """A reader where two nodes may take a message, one after the other."""

    def check_places(self, command: object, envelopes: object) -> None:
        """It has no one place."""


def secret(site: str, role: str) -> bytes:
    return f"{site} {role}".encode().ljust(32, b".")


def member(net: SimNetwork, name: str, here: str, *seeds: str, **settings: Any) -> SimNode:
    """A node of that site; with more settings a gateway. `tables`: other sites, as its file has them."""
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
    """A gateway of a site to another. `wrong`: of what it has for that, "secret", "cluster" or "server"; and
    "called", the name by which it goes there.
    """
    called = wrong.pop("called", here)
    return gateway_to(net, name, here, {there: dials}, *seeds, called=called, **wrong)


def gateway_to(
    net: SimNetwork, name: str, here: str, dials: dict[str, str], *seeds: str, called: str = "", **wrong: Any
) -> SimNode:
    """A gateway to several sites: the address that it dials for each, or none."""
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
    """What a gateway says that does as it likes."""
    for conn in node.core.parts[SiteParts].gateways._gates[site].conns():
        node._send(conn.key, write(command, envelopes))


def links(node: SimNode) -> int:
    """How many gateways of other sites are connected to it."""
    return node.metric("site_links")


def events(node: SimNode, kind: str) -> list[str]:
    """What it told of that kind."""
    return [note for note in node.notes if f": {kind}: " in note]
