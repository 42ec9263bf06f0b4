"""Where has a message been, in which sites?

Within a site a hop names a node. For other sites it names both: `site:LON/heron`, so that two nodes of one
name, here and there, are never taken for a circle. No node can be called that.
"""

from __future__ import annotations

from functools import lru_cache

from mesh.names import OTHERS, node_name
from mesh.values import Route

SITE = "site:"


def in_site(site: str, node: str) -> str:
    """That node, as a hop of other sites names it."""
    return f"{SITE}{site}/{node}"


@lru_cache(maxsize=1024)  # asked for each hop of what comes; what is no name is not kept
def parse_hop(node: str) -> tuple[str, str]:
    """(site, node) of such a hop; the site is "" in one of this site. BadName for anything else."""
    if not node.startswith(SITE) or "/" not in node:
        return "", node_name(node)
    site, _, name = node.removeprefix(SITE).partition("/")
    return node_name(site), node_name(name)


def visited(route: Route) -> list[str]:
    """The other sites where it has been, in order, each once for each time that it came there. BadName."""
    sites: list[str] = []
    for hop in route:
        site = parse_hop(hop.node)[0]
        if site and sites[-1:] != [site]:
            sites.append(site)
    return sites


def leg_of(route: Route, is_letter: bool = False) -> bytes:
    """The leg (see `mesh.streams.legs`) of what comes from other sites: the last master there, which keeps it
    until it is answered. Empty when none has it, so that nobody would send it again. BadName.

    Letters are kept otherwise than what is published, with another `low`: they have a leg of their own.
    """
    for hop in reversed(route):
        if hop.stratum == 0 and all(names := parse_hop(hop.node)):
            return "/".join((*names, "letters") if is_letter else names).encode()
    return b""


def inside(route: Route) -> Route:
    """The part of it that is within this site. What comes from another one began there."""
    if not route or "/" not in route[0].node:  # as a rule
        return route
    return tuple([hop for hop in route if "/" not in hop.node])


def is_of(site: str, sender: str) -> bool:
    """Is that a session of that site, as other sites call it?"""
    return sender.startswith(f"{OTHERS}{site}/")


def is_foreign(sender: str) -> bool:
    """Is that a session of another site?"""
    return sender.startswith(OTHERS)


def site_of(name: str, here: str = "") -> str:
    """The site of a session or an address, of which those of this one, `here`, say nothing."""
    return name.removeprefix(OTHERS).partition("/")[0] if is_foreign(name) else here
