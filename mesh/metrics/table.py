"""Table of metrics: one row for each figure of a node.

Names follow Prometheus: base units, and `_total` after counters. All label values are fixed here, so peers
cannot add any.
"""

from collections.abc import Mapping
from typing import NamedTuple

from mesh.metrics.family import COUNTER, GAUGE


class MetricRow(NamedTuple):
    """The metric of a figure.

    If several rows have the same name, the first one determines kind and help.
    """

    name: str
    kind: str
    help: str = ""
    labels: Mapping[str, str] = {}


def _counter(name: str, help: str = "", **labels: str) -> MetricRow:
    return MetricRow(f"mesh_{name}", COUNTER, help, labels)


def _gauge(name: str, help: str = "", **labels: str) -> MetricRow:
    return MetricRow(f"mesh_{name}", GAUGE, help, labels)


TABLE: Mapping[str, MetricRow] = {
    # publishing clients
    "client_published": _counter("client_published", "Messages published by clients of this node"),
    "client_routed": _counter(
        "client_answered",
        "Messages published by clients of this node with a final answer, by outcome",
        outcome="routed",
    ),
    "client_unrouted": _counter("client_answered", outcome="unrouted"),
    "client_refused": _counter("client_answered", outcome="refused"),
    "client_held": _gauge(
        "client_unanswered", "Messages published by clients of this node without a final answer yet"
    ),
    # messages accepted as master
    "published": _counter("taken", "Messages accepted here as their master"),
    "unrouted": _counter("taken_unwanted", "Messages accepted here as their master without a subscriber"),
    "refused": _counter("refused", "Messages refused, here or by their master"),
    "repeated": _counter("repeated", "Duplicate messages that were dropped"),
    "expired": _counter("expired", "Messages that expired while they waited"),
    "dead": _counter("dead_letters", "Messages published as dead letters"),
    # deliveries to subscribers
    "matched": _counter("matched", "Messages for a subscription, an inbox or another node, once for each"),
    "delivered": _counter("matched_done", "Matched messages that are settled, by outcome", fate="delivered"),
    "sent_to_peers": _counter("matched_done", fate="sent_to_peers"),
    "dropped": _counter("matched_done", fate="dropped"),
    "expired_waiting": _counter("matched_done", fate="expired"),
    "buried": _counter("matched_done", fate="buried"),
    "pending": _gauge("matched_waiting", "Matched messages that wait or are in flight"),
    "slow_consumers": _counter(
        "slow_consumers", "Connections closed because a subscription made no progress"
    ),
    "group_dropped": _counter("group_dropped", "Messages for groups that could not be delivered to a member"),
    "undelivered": _counter(
        "undelivered", "Messages that a receiver did not get: dropped, expired or dead-lettered"
    ),
    "durable_lost": _counter("durable_unknown", "Messages that durable subscriptions may or may not have"),
    "durable_dropped": _counter(
        "durable_dropped", "Messages that full durable subscriptions lost, oldest first"
    ),
    # messages in transit to other masters
    "forwarded": _counter("forwarded", "Messages forwarded towards their master, including resent ones"),
    "forward_warnings": _counter(
        "forward_warnings", "Messages answered FORWARD_WARNING: their master is unreachable"
    ),
    "relayed": _counter("relayed", "Messages of other masters, delivered to subscribers"),
    "confirmed": _counter(
        "confirmed", "Messages of local clients that their master returned without contents"
    ),
    "confirmed_bytes": _counter("confirmed_bytes", "Bytes of contents that were not returned"),
    "tailed_back": _gauge("tailback_messages", "Messages that wait here for their masters"),
    "tailback_age": _gauge(
        "tailback_age_seconds", "Age of the oldest message that waits for an unreachable master"
    ),
    "tailback_bytes": _gauge("tailback_bytes", "Bytes of messages that wait here for their masters"),
    "too_many_hops": _counter("too_many_hops", "Envelopes that had passed 16 nodes"),
    # disk
    "stored_envelopes": _gauge("stored_envelopes", "Envelopes in the store"),
    "commits_under_way": _gauge("commits_under_way", "Commits that the disk has not confirmed"),
    "fetches_under_way": _gauge("fetches_under_way", "Reads that the disk has not answered"),
    "disk_free": _gauge(
        "disk_free_bytes", "Free bytes on the disk of the store, or on the fuller one of several"
    ),
    "disk_short": _gauge("disk_short", "1 while the free bytes are too few for persistent publishes"),
    "disk_refused": _counter("disk_refused", "Commits refused because the disk was full"),
    "snapshot_lines": _counter("snapshot_lines", "Snapshot lines written"),
    "snapshot_bytes": _counter("snapshot_bytes", "Snapshot bytes written"),
    "snapshot_segments": _counter("snapshot_segments", "Snapshot files written"),
    "snapshot_lost": _counter("snapshot_lines_lost", "Snapshot lines that were not written"),
    "snapshot_dropped": _counter("snapshot_segments_dropped", "Snapshot files deleted before they were read"),
    # nodes, sites and sessions
    "nodes_alive": _gauge("nodes_alive", "Living nodes, including this one and suspects"),
    "nodes_suspect": _gauge("nodes_suspect", "Suspected nodes, which do not answer now"),
    "nodes_away": _gauge("nodes_away", "Known nodes that are dead, have left or are in conflict"),
    "clock_apart": _gauge(
        "clock_apart_seconds", "Largest difference between the clock of another node and the local one"
    ),
    "control_links": _gauge("links", "Connections with other nodes, by what they carry", carries="control"),
    "data_links": _gauge("links", carries="data"),
    "site_links": _gauge("site_links", "Connections with gateways of other sites"),
    "site_requests": _gauge(
        "site_requests", "Messages to addresses in other sites that wait here for an answer or reply"
    ),
    "sites_away": _gauge("sites_unreachable", "Unreachable sites to which this node is a gateway"),
    "site_pending": _gauge("site_pending", "Messages kept here for other sites, in flight or waiting"),
    "site_bytes": _gauge("site_pending_bytes", "Bytes of messages kept here for other sites"),
    "sites_marked": _gauge("sites_marked", "Sites that miss messages because the limits here were reached"),
    "site_transfers": _gauge("site_transfers", "Retained values that still have to be sent to other sites"),
    "site_dropped": _gauge("site_dropped", "Messages that other sites miss"),
    "site_conflicts": _counter("site_conflicts", "Values that lost a conflict against another site"),
    "site_passing_bytes": _gauge(
        "site_passing_bytes", "Unanswered bytes in transit through this site to a third one"
    ),
    "sessions": _gauge("sessions", "Sessions of clients, including disconnected ones that are kept"),
    "visits": _counter("session_visits", "Sessions that moved to this node"),
    "resumed_messages": _counter("session_resumed_messages", "Messages delivered from resumed logs"),
    "visiting_sessions": _gauge(
        "sessions_visiting", "Sessions that moved here and that their former nodes have not released yet"
    ),
    "sessions_held": _gauge(
        "sessions_held", "Sessions that moved away and that their new node has not released yet"
    ),
    "refilled_messages": _counter("refilled_messages", "Messages that a new parent sent for a former one"),
    "refilling": _gauge("refilling", "Domains whose missed messages come through a new parent"),
    "refill_pins": _gauge("refill_pins", "Slaves with a new parent for which this node's log is pinned"),
    "adopted_parents": _gauge("adopted_parents", "Domains with another parent than the configured one"),
    "resuming": _gauge("resuming", "Logs that subscriptions of visiting sessions are resuming"),
    "resume_pins": _gauge("resume_pins", "Subscriptions for which this node's log is pinned"),
    "pinned_envelopes": _gauge("pinned_envelopes", "Stored envelopes that are kept for pins alone"),
    "connected_sessions": _gauge("sessions_connected", "Connected sessions of clients"),
    "subscriptions": _gauge("subscriptions", "Subscriptions of clients"),
    "inboxes_owed": _gauge("inboxes_waiting", "Inboxes with waiting messages"),
    "inboxes_bytes": _gauge("inboxes_bytes", "Bytes in all inboxes, including their overhead"),
    "inboxes_remote": _gauge("inboxes_remote", "Inboxes here that sessions at other nodes read"),
    "inboxes_collected": _gauge("inboxes_collected", "Inboxes at other nodes that sessions here read"),
    "collected_messages": _counter("inbox_collected_messages", "Direct messages collected from other nodes"),
    "held_bytes": _gauge("held_bytes", "Bytes in memory that the node holds for others"),
    "upstream_queries": _gauge("upstream_queries", "Queries of other nodes at this one"),
    "connections": _counter("connections", "Inbound connections"),
    "client_connections": _gauge("client_connections", "Connections of clients"),
    "client_room": _gauge("client_room", "Connections of clients that the node still accepts"),
    "node_full": _counter("clients_refused", "Clients refused for now, by the reason", reason="full"),
    "node_busy": _counter("clients_refused", reason="busy"),
    # topics
    "topics": _gauge("topics", "Retained values kept here as their master"),
    "cached_topics": _gauge("topics_cached", "Cached retained values of other masters"),
    "history_messages": _gauge("history_messages", "Messages kept as the history of topics"),
    "history_evicted": _counter("history_evicted", "Messages of such histories dropped for lack of room"),
    "topics_evicted": _counter("topics_evicted", "Cached retained values that were evicted"),
    # balancing and services
    "balance_chosen": _counter("balancer_choices", "Choices among several nodes"),
    "balance_asked": _counter("reads_asked", "Reads sent to other nodes"),
    "balance_answered": _counter("reads_answered", "Reads sent to other nodes and answered"),
    "addresses": _gauge("addresses_served", "Addresses served here, without local-only ones"),
    "servers": _gauge("servers", "Local clients, counted for each address that they serve"),
    "groups": _gauge("groups", "Groups of subscribers with members here"),
    "names_followed": _gauge("names_followed", "Names of other nodes that a node with nameservice follows"),
    "watched": _gauge("addresses_watched", "Addresses whose remote consumers this node watches"),
    "served": _counter("served", "Messages settled by services and members of groups here"),
    "address_waiting_bytes": _gauge(
        "address_waiting_bytes", "Bytes that wait for a consumer of their address"
    ),
    "requests": _counter("requests", "Requests of clients of this node that were delivered or failed"),
    "replies": _counter("replies", "Replies to requests of clients of this node"),
    "request_failures": _counter("request_failures", "Requests of clients of this node that failed"),
    "requests_open": _gauge("requests_open", "Delivered requests without a reply"),
    "request_p50": _gauge(
        "request_seconds", "Reply time of this share of the last replies, 0 without any", share="0.5"
    ),
    "request_p99": _gauge("request_seconds", share="0.99"),
    "late_replies": _counter("late_replies", "Replies that arrived after the timeout"),
    # queues
    "queues": _gauge("queues", "Queues that this node knows"),
    "queues_declared": _gauge("queues_declared", "Definitions of queues, of the mesh and of this node"),
    "durable_subscriptions": _gauge("durable_subscriptions", "Durable subscriptions that this node knows"),
    "queue_messages": _gauge("queues_messages", "Messages in all queues here"),
    "queue_bytes": _gauge("queues_bytes", "Bytes of messages in all queues here"),
    "queue_out": _gauge("queues_messages_out", "Outstanding messages of queues here"),
    "queue_consumers": _gauge("queues_consumers", "Consumers of queues here"),
    "queue_acked": _counter("queues_acked", "Messages of queues acked here"),
    "queue_redelivered": _counter("queues_redelivered", "Failed deliveries of queue messages"),
    "queue_moving": _gauge("queues_moving", "Messages in transit from queues here to other nodes"),
    "queue_moved_out": _counter("queues_moved_out", "Messages of queues that other nodes accepted"),
    "queue_moved_in": _counter("queues_moved_in", "Messages of queues received from other nodes"),
    "queue_moves_refused": _counter("queues_moves_refused", "Messages of queues that another node refused"),
    "transactions": _counter("transactions", "Transactions of clients, by outcome", outcome="committed"),
    "transactions_refused": _counter("transactions", outcome="refused"),
    "transactions_prepared": _gauge("transactions_prepared", "Transactions without a decision"),
    "transactions_prepared_age": _gauge(
        "transactions_prepared_age_seconds", "Age of the oldest transaction without a decision"
    ),
    "transactions_finishing": _gauge(
        "transactions_finishing", "Decided transactions that wait for disk space"
    ),
    "drain_step": _gauge(
        "drain_step", "Step of a drain with clients: 0 none, 3 clients leave, 7 the node may be stopped"
    ),
    "queues_drained": _gauge(
        "queues_drained", "1 while the queues of this node are being drained or are drained"
    ),
    "settled_late": _counter("settled_late", "Acks and rejects of queue messages that came too late"),
    "spaces": _gauge("spaces", "Maps and groups of counters that this node knows"),
    "leash_left": _gauge("leash_left", "Shortest time left in which the voters let this node be a home (s)"),
    "space_keys": _gauge("space_keys", "Keys of maps and counters whose home is this node"),
    "space_bytes": _gauge("space_bytes", "Bytes of their keys and values"),
    "locks_held": _gauge("locks_held", "Held locks whose home is this node"),
    "lock_waiters": _gauge("lock_waiters", "Clients that wait for them"),
    "tallies": _gauge("tallies", "Tallies that this node knows"),
    # shared rows
    "shared_rows": _gauge("shared_rows", "Shared rows at this node"),
    # invalid input from others
    "malformed": _counter(
        "protocol_errors", "Invalid input from peers and clients, by kind", kind="malformed"
    ),
    "not_open": _counter("protocol_errors", kind="before_hello"),
    "hello_refused": _counter("protocol_errors", kind="hello_refused"),
    "wrong_cookie": _counter("wrong_cookies", "HELLOs with a wrong proof, in a mesh without keys"),
    "forged": _counter("protocol_errors", kind="forged"),
    "forged_visits": _counter("protocol_errors", kind="forged_visit"),
    "unasked": _counter("protocol_errors", kind="unasked"),
    "unknown_commands": _counter("protocol_errors", kind="unknown_command"),
    "unknown_kinds": _counter("protocol_errors", kind="unknown_kind"),
    "not_understood": _counter("protocol_errors", kind="not_understood"),
    "malformed_gossip": _counter("protocol_errors", kind="malformed_gossip"),
    "adverts_rejected": _counter("protocol_errors", kind="advert_rejected"),
    "adverts": _counter("adverts", "Verified multicast DNS advertisements of this mesh"),
    "met_itself": _counter("met_itself", "Connections to other addresses at which this node found itself"),
    "old_news": _counter("old_news", "Messages of an earlier boot of a node"),
    "no_room": _counter("nodes_not_taken", "Nodes that were ignored because a table was full"),
}
