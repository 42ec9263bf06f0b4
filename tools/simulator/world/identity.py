"""The addresses and settings of simulated nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mesh.site_policy.site_settings import SiteSettings

# Settings of other sites, by their names here, which a scenario sets one by one.
SITE = {"site": "name", "sites": "addresses"} | {
    name: name for name in ("is_relay", "relays", "ways", "selection", "outboxes", "rejecting", "accepting")
}


def combined(settings: Mapping[str, Any], before: SiteSettings | None = None) -> dict[str, Any]:
    """Return the settings with those of other sites as one, which has its other values from `before`."""
    site = {SITE[name]: value for name, value in settings.items() if name in SITE}
    others = {name: value for name, value in settings.items() if name not in SITE}
    return others | {"site": replace(before or SiteSettings(), **site)}


def local_address(name: str, number: int) -> str:
    """Return the local address of the n-th node of a network, from 1."""
    return f"ipc:///run/{name}.{number}"


def address(number: int) -> str:
    """Return the address of the n-th node of a network, from 1."""
    return f"tcp://127.0.0.1:{5000 + number}"
