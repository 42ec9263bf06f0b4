"""What does a node say of itself and of those around it? Read only: asking never connects anything."""

from __future__ import annotations

from typing import Any

from mesh.core.clients import Clients
from mesh.core.desk import Desk
from mesh.core.forwarder import Forwarder
from mesh.core.gossiping import Gossiping
from mesh.core.inboxes import INBOX, Inboxes
from mesh.core.neighbours import Neighbours
from mesh.core.router import Router


def nodes(desk: Desk, neighbours: Neighbours, gossiping: Gossiping) -> list[dict[str, Any]]:
    """One row a node, this one first. Ages and round trips in seconds."""
    me = desk.me
    rows = [
        {"name": me.name, "uuid": me.uuid.hex(), "boot": me.boot, "address": me.address, "via": "self",
         "state": "alive", "link": "this node", "data": False, "rtt": 0.0, "age": 0.0,
         **gossiping.described(me.uuid)}
    ]  # fmt: skip
    for member in neighbours.membership.all():
        peer = neighbours.peers.get(member.uuid)
        if peer is not None:
            rows.append(
                {"name": member.name, "uuid": member.uuid.hex(), "boot": member.boot,
                 "address": peer.reached or member.address, "via": member.via, "state": str(member.state),
                 "link": peer.link.describe(desk.now),
                 "data": peer.data is not None, "rtt": peer.rtt, "age": desk.now - member.heard,
                 **gossiping.described(member.uuid)}
            )  # fmt: skip
    return rows


def metrics(
    desk: Desk,
    neighbours: Neighbours,
    clients: Clients,
    router: Router,
    forwarder: Forwarder,
    inboxes: Inboxes,
) -> dict[str, int | float]:
    """Counters since the start, and sizes now."""
    feeds = [f for s in clients.sessions.values() for n, f in s.feeds.items() if n != INBOX]
    feeds_of_peers = [p.feed for p in neighbours.peers.values()]
    return {
        **{name: desk.counters.get(name, 0) for name in COUNTERS},
        **desk.accounts.figures((*feeds, *inboxes.feeds()), feeds_of_peers),
        "sessions": len(clients.sessions),
        "connected_sessions": sum(s.conn is not None for s in clients.sessions.values()),
        "subscriptions": len(feeds),
        "upstream_queries": sum(len(f.queries) for f in feeds_of_peers),
        "data_links": sum(p.data is not None for p in neighbours.peers.values()),
        "control_links": sum(p.control is not None for p in neighbours.peers.values()),
        "topics": len(router.log.retained),
        "topics_evicted": router.log.retained.evicted,
        "stored_envelopes": router.log.live,
        "commits_under_way": router.storing,
        "tailed_back": forwarder.onward.messages,
        "inboxes_owed": len(inboxes),
        "cached_topics": len(router.cache),
        "old_news": neighbours.membership.old_news,
        "no_room": neighbours.membership.no_room,
        **{f"balance_{what}": desk.tally.total(what) for what in ("chosen", "asked", "answered")},
        "nodes_alive": neighbours.membership.count,
    }


COUNTERS = (
    "published", "refused", "repeated", "unrouted", "relayed", "malformed", "not_open", "hello_refused",
    "wrong_cookie", "too_many_hops", "connections", "forwarded", "forward_warnings", "expired", "dead",
    "forged", "malformed_gossip", "adverts", "adverts_rejected", "slow_consumers",
)  # fmt: skip
