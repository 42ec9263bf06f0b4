"""Names of hops across sites, and the sites that a message has visited.

Within a site a hop names a node. For other sites a hop names site and node, as in `site:LON/heron`, so that
two nodes of the same name in two sites never look like a loop. No node can have such a name.
"""

from __future__ import annotations

from functools import lru_cache

from mesh.names import OTHERS, node_name
from mesh.values import Route

SITE = "site:"


def in_site(site: str, node: str) -> str:
    return f"{SITE}{site}/{node}"


@lru_cache(maxsize=1024)  # called for each inbound hop
def parse_hop(node: str) -> tuple[str, str]:
    """Return (site, node) of a hop; the site is "" for a hop of this site. Raises: BadName."""
    if not node.startswith(SITE) or "/" not in node:
        return "", node_name(node)
    site, _, name = node.removeprefix(SITE).partition("/")
    return node_name(site), node_name(name)


def visited(route: Route) -> list[str]:
    """Return the other sites on the route, in order, one entry per visit. Raises: BadName."""
    sites: list[str] = []
    for hop in route:
        site = parse_hop(hop.node)[0]
        if site and sites[-1:] != [site]:
            sites.append(site)
    return sites


def leg_of(route: Route, is_letter: bool = False) -> bytes:
    """Return the leg of an envelope from another site, or b"". Raises: BadName.

    `mesh.streams.multi_path_stream` describes legs. The leg names the last master in that site, which keeps
    the envelope until it is answered; without a master no node would resend it. Direct messages have a leg of
    their own, because their sender promises another `low`.
    """
    for hop in reversed(route):
        if hop.stratum == 0 and all(names := parse_hop(hop.node)):
            return "/".join((*names, "letters") if is_letter else names).encode()
    return b""


def inside(route: Route) -> Route:
    """Return the part of the route within this site. Earlier hops are those of other sites."""
    if not route or "/" not in route[0].node:  # usual case
        return route
    return tuple([hop for hop in route if "/" not in hop.node])


def is_of(site: str, sender: str) -> bool:
    """Return whether `sender` is a session of that site, in the form used by other sites."""
    return sender.startswith(f"{OTHERS}{site}/")


def is_foreign(sender: str) -> bool:
    return sender.startswith(OTHERS)


def within_site(name: str) -> str:
    """Return the name of a session in its own site, such as `/node/gull/client/ann/session/1`."""
    return f"/{name.removeprefix(OTHERS).partition('/')[2]}" if is_foreign(name) else name


def site_of(name: str, here: str = "") -> str:
    """Return the site of a session or address, which is `here` for a name without a site."""
    return name.removeprefix(OTHERS).partition("/")[0] if is_foreign(name) else here
