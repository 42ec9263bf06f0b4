"""Keys of simulated nodes, with which they sign and connect.

Each site has keys of its own, and gives each other site the credentials of its gateways.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from mesh.config.sites import RemoteSite
from mesh.discovery.state import Sample
from mesh.features.sites.model.ways import ways
from mesh.kernel.context.settings import Keyring, SiteKeys
from mesh.security.signing import public_key, sign, verify
from mesh.site_policy.accepting import Accepting
from mesh.site_policy.selection import Selection
from tools.simulator.places import secret_of

SECRETS = {"node": b"N" * 32, "client": b"C" * 32, "monitor": b"M" * 32}
ADMIN = "admin of the mesh"  # not a node
IDLE = Sample((100.0,), 8 << 30, 16 << 30)


def seed_of(name: str) -> bytes:
    return name.encode().ljust(32, b".")[:32]


def idle() -> Sample:
    """Return the same load for each machine.

    Without a load, a node publishes no node state.
    """
    return IDLE


def key_settings(name: str) -> dict[str, Any]:
    """Return the settings of a SimNode with keys."""
    ring = Keyring(
        server="server",
        mine=f"curve of {name}",
        secrets=SECRETS,
        admin=public_key(seed_of(ADMIN)),
        sign=lambda text: sign(seed_of(name), text),
        verify=verify,
    )
    return {"keyring": ring, "key": public_key(seed_of(name)), "secret": SECRETS["node"], "sample": idle}


def keys_for(site: str, other: str) -> SiteKeys:
    """Return the credentials with which the gateways of `site` connect to `other`."""
    return SiteKeys(f"mesh of {other}", secret_of(other, f"relay {site}"), f"server of {other}")


def member_settings(name: str, site: str, others: Collection[str] = ()) -> dict[str, Any]:
    """Return the settings of a SimNode of `site`, with the credentials of a gateway to the sites `others`."""
    own = key_settings(name)
    secrets = {role: secret_of(site, role) for role in SECRETS}
    ring = replace(
        own["keyring"],
        server=f"server of {site}",
        secrets=secrets,
        relays={other: secret_of(site, f"relay {other}") for other in others},
        sites={other: keys_for(site, other) for other in others},
    )
    return {**own, "keyring": ring, "cluster": f"mesh of {site}", "secret": secrets["node"], "site": site}


def tables_of(others: Iterable[RemoteSite]) -> dict[str, Any]:
    """Return the settings that a node's file has for the sites `others`."""
    tables = {other.name: other for other in others}
    return {
        "ways": ways({name: other.via for name, other in tables.items()}),
        "selection": Selection.of(tables.values()),
        "outboxes": {name: other.max_bytes for name, other in tables.items()},
        "rejecting": frozenset(name for name, other in tables.items() if other.when_full == "reject"),
        "accepting": {name: Accepting(other) for name, other in tables.items()},
    }


def gateway_settings(name: str, site: str, others: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the settings of a gateway.

    `others` has the addresses that it dials, by site.
    """
    return {**member_settings(name, site, others), "is_relay": True, "sites": others}
