"""Which messages leave a site, and what of them is written anew as they do?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from mesh.names import SessionName
from mesh.routing.log import stream_key
from mesh.sites.hops import in_site, is_foreign, leg_of
from mesh.values import Hop
from mesh.wire.envelope import ERASED, FORCE_QUEUING, INITIAL, LOCAL_ONLY, NO_RELAY, PERSISTENT, Envelope

GATEWAY = 1  # stratum of a gateway's hop: it only passes on
TRAVELS = PERSISTENT | FORCE_QUEUING  # flags that mean something in other sites

AT_HOME = ERASED | INITIAL | LOCAL_ONLY | NO_RELAY  # flags of what leaves no site


def may_leave(envelope: Envelope) -> bool:
    """Does it go to other sites, if they are to have it? What came from one does not."""
    return not (envelope.to or envelope.flags & AT_HOME or is_foreign(envelope.sender))


def leaving(envelope: Envelope, site: str, low: int, gateway: Hop | None = None) -> Envelope:
    """As it leaves this site, of which its master promises `low`. `gateway`: its hop there, unless that is
    the master itself.
    """
    hops = (*envelope.route, replace(gateway, stratum=GATEWAY)) if gateway is not None else envelope.route
    sender = envelope.sender if is_foreign(envelope.sender) else f"/site/{site}{envelope.sender}"
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


def turn_of(envelope: Envelope) -> bytes:
    """Whose turn it is with that: its stream in a domain, of the master who keeps it for other sites; of
    letters those to one node.
    """
    if not envelope.to:
        return leg_of(envelope.route) + b"/" + stream_key(envelope)
    node = SessionName.parse(envelope.to).node or ""
    return b"%s/%s/%s" % (leg_of(envelope.route, True), node.encode(), stream_key(envelope))


def passing(envelope: Envelope, site: str, gateway: Hop) -> Envelope:
    """As it goes on to a third site, through this one."""
    hop = replace(gateway, node=in_site(site, gateway.node), stratum=GATEWAY)
    return replace(envelope, route=(*envelope.route, hop))
