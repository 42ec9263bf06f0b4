"""Which figure of a node is which metric? One row for each figure that any part of it has.

Names are those of Prometheus: base units, `_total` behind what only grows. Of a label each value stands here,
so no stranger makes more of them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from mesh.metrics.family import COUNTER, GAUGE


class MetricRow(NamedTuple):
    """The place of a figure. Of rows with one name the first one's kind and help count."""

    name: str
    kind: str
    help: str = ""
    labels: Mapping[str, str] = {}


def _counter(name: str, help: str = "", **labels: str) -> MetricRow:
    return MetricRow(f"mesh_{name}", COUNTER, help, labels)


def _gauge(name: str, help: str = "", **labels: str) -> MetricRow:
    return MetricRow(f"mesh_{name}", GAUGE, help, labels)


TABLE: Mapping[str, MetricRow] = {
    # what clients of this node publish
    "client_published": _counter("client_published", "Messages published by clients of this node"),
    "client_routed": _counter(
        "client_answered",
        "Messages published by clients of this node that have a last word, by what it is",
        outcome="routed",
    ),
    "client_unrouted": _counter("client_answered", outcome="unrouted"),
    "client_refused": _counter("client_answered", outcome="refused"),
    "client_held": _gauge(
        "client_unanswered", "Messages published by clients of this node, without a last word now"
    ),
    # what it takes as a master
    "published": _counter("taken", "Messages taken here, as their master"),
    "unrouted": _counter("taken_unwanted", "Messages taken here as their master, wanted by nobody"),
    "refused": _counter("refused", "Messages refused, here or by their master"),
    "repeated": _counter("repeated", "Messages that came again, and were dropped"),
    "expired": _counter("expired", "Messages given up since they waited too long"),
    "dead": _counter("dead_letters", "Messages published as dead letters"),
    # what subscribers are owed
    "matched": _counter("matched", "Messages for a subscription, an inbox or another node, once for each"),
    "delivered": _counter(
        "matched_done", "Messages matched that are done with, by what became of them", fate="delivered"
    ),
    "sent_to_peers": _counter("matched_done", fate="sent_to_peers"),
    "dropped": _counter("matched_done", fate="dropped"),
    "expired_waiting": _counter("matched_done", fate="expired"),
    "buried": _counter("matched_done", fate="buried"),
    "pending": _gauge("matched_waiting", "Messages matched that wait or are under way now"),
    "slow_consumers": _counter("slow_consumers", "Connections ended since a subscription stood still"),
    "group_dropped": _counter("group_dropped", "Messages for groups that nobody could be given"),
    "undelivered": _counter("undelivered", "Messages that did not reach somebody: dropped, expired or dead"),
    "durable_lost": _counter(
        "durable_unknown", "Messages of which nobody knows whether durable subscriptions have them"
    ),
    "durable_dropped": _counter(
        "durable_dropped", "Messages that full durable subscriptions have lost: the oldest of each"
    ),
    # what is on its way to other masters
    "forwarded": _counter("forwarded", "Messages sent on towards their master, again if sent again"),
    "forward_warnings": _counter(
        "forward_warnings", "Messages answered FORWARD_WARNING: their master is away"
    ),
    "relayed": _counter("relayed", "Messages of other masters, handed on to subscribers"),
    "confirmed": _counter(
        "confirmed", "Messages of clients here whose master sent them back without their contents"
    ),
    "confirmed_bytes": _counter("confirmed_bytes", "Bytes of contents that were not sent back so"),
    "tailed_back": _gauge("tailback_messages", "Messages that wait here for their masters"),
    "tailback_age": _gauge(
        "tailback_age_seconds", "Age of the oldest message that waits for a master that is away"
    ),
    "tailback_bytes": _gauge("tailback_bytes", "Bytes of messages that wait here for their masters"),
    "too_many_hops": _counter("too_many_hops", "Envelopes that 16 nodes had passed on"),
    # disk
    "stored_envelopes": _gauge("stored_envelopes", "Envelopes in the store"),
    "commits_under_way": _gauge("commits_under_way", "Commits that the disk has not answered"),
    "fetches_under_way": _gauge("fetches_under_way", "Reads that the disk has not answered"),
    "disk_free": _gauge("disk_free_bytes", "Free on the disk of the store, or on that with less room"),
    "disk_short": _gauge("disk_short", "1 while that is too little for persistent publishes"),
    "disk_refused": _counter("disk_refused", "Commits refused for want of room"),
    "snapshot_lines": _counter("snapshot_lines", "Lines written of what this node sees"),
    "snapshot_bytes": _counter("snapshot_bytes", "Bytes written of what this node sees"),
    "snapshot_segments": _counter("snapshot_segments", "Files written of what this node sees"),
    "snapshot_lost": _counter("snapshot_lines_lost", "Lines that were not written"),
    "snapshot_dropped": _counter("snapshot_segments_dropped", "Files deleted before anybody read them"),
    # who is there
    "nodes_alive": _gauge("nodes_alive", "Nodes that live, this one and suspects included"),
    "nodes_suspect": _gauge("nodes_suspect", "Nodes that live, and do not answer now"),
    "nodes_away": _gauge("nodes_away", "Nodes known that are dead, have left, or are two at once"),
    "clock_apart": _gauge(
        "clock_apart_seconds", "How far the clock of another node is from that of this one"
    ),
    "control_links": _gauge("links", "Connections with other nodes, by what they carry", carries="control"),
    "data_links": _gauge("links", carries="data"),
    "site_links": _gauge("site_links", "Connections with gateways of other sites"),
    "site_requests": _gauge(
        "site_requests", "Messages to addresses in other sites that wait here for an answer or a reply"
    ),
    "sites_away": _gauge(
        "sites_unreachable", "Sites to which this node is a gateway, and that nobody reaches"
    ),
    "site_pending": _gauge(
        "site_pending", "Messages kept here for other sites, on their way there or waiting"
    ),
    "site_bytes": _gauge("site_pending_bytes", "Bytes of these"),
    "sites_marked": _gauge("sites_marked", "Sites that lack messages for which there was no room here"),
    "site_transfers": _gauge("site_transfers", "Last values that are still to be sent to other sites"),
    "site_dropped": _gauge("site_dropped", "Messages that they lack"),
    "site_conflicts": _counter("site_conflicts", "Values that lost against those of another site"),
    "site_passing_bytes": _gauge(
        "site_passing_bytes", "Bytes that pass through this site to a third one, and are not answered"
    ),
    "sessions": _gauge("sessions", "Sessions of clients, vanished ones that are kept included"),
    "connected_sessions": _gauge("sessions_connected", "Sessions of clients that are connected now"),
    "subscriptions": _gauge("subscriptions", "Subscriptions of clients"),
    "inboxes_owed": _gauge("inboxes_waiting", "Inboxes in which something waits"),
    "inboxes_bytes": _gauge("inboxes_bytes", "Bytes in all inboxes, with what each of these takes"),
    "upstream_queries": _gauge("upstream_queries", "What other nodes want of this one"),
    "connections": _counter("connections", "Connections that others dialled"),
    # topics
    "topics": _gauge("topics", "Last values kept here as their master"),
    "cached_topics": _gauge("topics_cached", "Last values of other masters"),
    "topics_evicted": _counter("topics_evicted", "Last values that had to make room"),
    # choosing, services
    "balance_chosen": _counter("balancer_choices", "Times that one of several nodes was chosen"),
    "balance_asked": _counter("reads_asked", "Reads put to other nodes"),
    "balance_answered": _counter("reads_answered", "Reads put to other nodes and answered"),
    "addresses": _gauge("addresses_served", "Addresses served here for others too"),
    "servers": _gauge("servers", "Clients here, for each address that they serve"),
    "groups": _gauge("groups", "Groups of subscribers with members here"),
    "watched": _gauge(
        "addresses_watched", "Addresses of which this node wants to know who serves them elsewhere"
    ),
    "served": _counter("served", "Messages with which servers and members of groups here were done"),
    "address_waiting_bytes": _gauge(
        "address_waiting_bytes", "Bytes that wait for somebody who serves their address"
    ),
    "requests": _counter("requests", "Requests of clients of this node that somebody has, or that failed"),
    "replies": _counter("replies", "Replies to requests of clients of this node"),
    "request_failures": _counter("request_failures", "Requests of clients of this node that failed"),
    "requests_open": _gauge("requests_open", "Requests that somebody has, and has not replied to"),
    "request_p50": _gauge(
        "request_seconds", "Time in which so many of the last replies came, 0 without any", share="0.5"
    ),
    "request_p99": _gauge("request_seconds", share="0.99"),
    "late_replies": _counter("late_replies", "Replies that nobody here waits for"),
    # queues
    "queues": _gauge("queues", "Queues that this node knows"),
    "queues_declared": _gauge("queues_declared", "Definitions of queues, of the mesh and of this node"),
    "durable_subscriptions": _gauge("durable_subscriptions", "Durable subscriptions that this node knows"),
    "queue_messages": _gauge("queues_messages", "Messages in all queues here"),
    "queue_bytes": _gauge("queues_bytes", "Bytes of messages in all queues here"),
    "queue_out": _gauge("queues_messages_out", "Messages in queues here that somebody has"),
    "queue_consumers": _gauge("queues_consumers", "Consumers of queues here"),
    "queue_acked": _counter("queues_acked", "Messages of queues that were done here"),
    "queue_redelivered": _counter("queues_redelivered", "Messages of queues given out in vain"),
    "queue_moving": _gauge("queues_moving", "Messages on their way from queues here to other nodes"),
    "queue_moved_out": _counter("queues_moved_out", "Messages of queues that other nodes have taken"),
    "queue_moved_in": _counter("queues_moved_in", "Messages of queues that came from other nodes"),
    "queue_moves_refused": _counter(
        "queues_moves_refused", "Messages of queues that another node did not take"
    ),
    "queues_drained": _gauge(
        "queues_drained", "1 while queues of this node are drained into those of others, and when they are"
    ),
    "settled_late": _counter("settled_late", "Words on messages of queues that came too late"),
    # rows that all nodes share
    "shared_rows": _gauge("shared_rows", "Rows that all nodes share and this one has"),
    # what others should not have said
    "malformed": _counter(
        "protocol_errors", "What others said that is not taken, by what is wrong with it", kind="malformed"
    ),
    "not_open": _counter("protocol_errors", kind="before_hello"),
    "hello_refused": _counter("protocol_errors", kind="hello_refused"),
    "wrong_cookie": _counter("wrong_cookies", "HELLOs with a wrong proof, in a mesh without keys"),
    "forged": _counter("protocol_errors", kind="forged"),
    "unasked": _counter("protocol_errors", kind="unasked"),
    "unknown_commands": _counter("protocol_errors", kind="unknown_command"),
    "unknown_kinds": _counter("protocol_errors", kind="unknown_kind"),
    "not_understood": _counter("protocol_errors", kind="not_understood"),
    "malformed_gossip": _counter("protocol_errors", kind="malformed_gossip"),
    "adverts_rejected": _counter("protocol_errors", kind="advert_rejected"),
    "adverts": _counter("adverts", "Adverts of this mesh by multicast DNS that were proven"),
    "met_itself": _counter("met_itself", "Connections to other addresses at which this node found itself"),
    "old_news": _counter("old_news", "Words of a node's earlier boot"),
    "no_room": _counter("nodes_not_taken", "Nodes that were not taken into a full table"),
}
