"""Decides which messages leave this site, and rewrites envelopes for other sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from mesh.hops import in_site, is_foreign, leg_of
from mesh.names import SessionName
from mesh.routing.log import stream_key
from mesh.values import Hop
from mesh.wire.envelope import ERASED, FORCE_QUEUING, INITIAL, LOCAL_ONLY, NO_RELAY, PERSISTENT, Envelope
from mesh.wire.limits import DIRECT, LETTERS

GATEWAY = 1  # stratum of a gateway's hop, which only forwards
TRAVELS = PERSISTENT | FORCE_QUEUING  # flags that other sites understand

AT_HOME = ERASED | INITIAL | LOCAL_ONLY | NO_RELAY  # flags of messages that stay here


def may_leave(envelope: Envelope) -> bool:
    """Return whether a published envelope may leave this site.

    Direct messages leave by other means. Messages of other sites, or with a flag in `AT_HOME`, stay.
    """
    return not (envelope.to or envelope.flags & AT_HOME or is_foreign(envelope.sender))


def leaving(envelope: Envelope, site: str, low: int, gateway: Hop | None = None) -> Envelope:
    """Return the envelope as it leaves this site.

    `low` is the number below which no further message of the stream is sent. `gateway` is a hop to append to
    the route, if any.
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
    """Split the envelope into envelopes without holes, one for each range of its numbers."""
    if not envelope.numbers:
        return [envelope]
    runs, done = [], 0
    for first, last in envelope.ranges():
        count = last - first + 1
        piece = envelope.cut(range(done, done + count))
        runs.append(replace(piece, first=first, last=last, numbers=()))
        done += count
    return runs


def feature_of(to: str) -> str:
    """Return the feature that the gateways on the route of a direct message need."""
    return LETTERS if SessionName.parse(to).node is not None else DIRECT


def turn_of(envelope: Envelope) -> bytes:
    """Return the key of the ordered sequence to which an entering envelope belongs.

    The key of a published envelope has its stream, domain and keeping master; the key of a direct message has
    its stream, domain and node.
    """
    if not envelope.to:
        return leg_of(envelope.route) + b"/" + stream_key(envelope)
    node = SessionName.parse(envelope.to).node or ""
    return b"%s/%s/%s" % (leg_of(envelope.route, True), node.encode(), stream_key(envelope))


def passing(envelope: Envelope, site: str, gateway: Hop) -> Envelope:
    """Return the envelope as it passes through this site to a third one."""
    hop = replace(gateway, node=in_site(site, gateway.node), stratum=GATEWAY)
    return replace(envelope, route=(*envelope.route, hop))
