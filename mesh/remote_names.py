"""Names of places in other sites: receivers of direct messages, addresses, and hops.

`/site/NYC/node/gull/client/ann` is a client or session there, `/site/NYC/client/ann` the same at the node to
which it is connected, and `/site/NYC/calc/add` an address that any node there serves.
"""

from __future__ import annotations

from functools import lru_cache

from mesh.errors import BadName
from mesh.names import OTHERS, node_name

WAY = "site/"  # prefix of a hop that names a site
UNREACHABLE = "SITE_UNREACHABLE"  # code when no gateway reaches a site
WAY_LOST = "WAY_LOST"  # code when a direct message is to be resent
UNKNOWN = "does not know the site"  # part of the text for an unknown site


def way_to(site: str) -> str:
    return WAY + site


def is_site(hop: str) -> bool:
    """Return whether a hop stands for another site."""
    return hop.startswith(WAY)


@lru_cache(maxsize=1024)  # called for each direct message
def split(to: str) -> tuple[str, str]:
    """Return (site, name in that site); the site is "" for a receiver here. Raises: BadName."""
    if not to.startswith(OTHERS):
        return "", to
    site, _, rest = to.removeprefix(OTHERS).partition("/")
    if not rest:
        there = f"{OTHERS}{site[:64] or 'SITE'}"
        hint = f"Write {there}/client/NAME, {there}/node/NODE/client/NAME, or {there}/ADDRESS."
        raise BadName(f"{to[:80]!r} names no receiver in that site.", hint=hint)
    return node_name(site), f"/{rest}" if rest.startswith("node/") else rest
