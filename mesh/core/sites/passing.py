"""Where has a message been, in which sites, and what of it is written anew as it leaves one?

Within a site a hop names a node. For other sites it names both: `site:LON/heron`, so that two nodes of one
name, here and there, are never taken for a circle. No node can be called that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec.structs import replace

from mesh.names import node_name
from mesh.values import Hop, Route
from mesh.wire.envelope import FORCE_QUEUING, PERSISTENT, Envelope

SITE = "site:"
GATEWAY = 1  # stratum of a gateway's hop: it only passes on
TRAVELS = PERSISTENT | FORCE_QUEUING  # flags that mean something in other sites


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


def leg_of(route: Route) -> bytes:
    """The leg (see `mesh.streams.legs`) of what comes from other sites: the last master there, which keeps it
    until it is answered. Empty when none has it, so that nobody would send it again. BadName."""
    for hop in reversed(route):
        if hop.stratum == 0 and all(names := parse_hop(hop.node)):
            return "/".join(names).encode()
    return b""


def leaving(envelope: Envelope, site: str, low: int, gateway: Hop | None = None) -> Envelope:
    """As it leaves this site, of which its master promises `low`. `gateway`: its hop there, unless that is
    the master itself."""
    hops = (*envelope.route, replace(gateway, stratum=GATEWAY)) if gateway is not None else envelope.route
    sender = envelope.sender if envelope.sender.startswith("/site/") else f"/site/{site}{envelope.sender}"
    return replace(
        envelope,
        sender=sender,
        route=tuple(_away(hops, site)),
        flags=envelope.flags & TRAVELS,
        low=min(low, envelope.first),
    )


def _away(hops: Iterable[Hop], site: str) -> Iterator[Hop]:
    for hop in hops:
        yield hop if "/" in hop.node else replace(hop, node=in_site(site, hop.node))


def in_runs(envelope: Envelope) -> list[Envelope]:
    """It as envelopes without holes, as masters take them: one for each range of its numbers."""
    if not envelope.numbers:
        return [envelope]
    runs, done = [], 0
    for first, last in envelope.ranges():
        count = last - first + 1
        piece = envelope.cut(range(done, done + count))
        runs.append(replace(piece, first=first, last=last, numbers=()))
        done += count
    return runs
