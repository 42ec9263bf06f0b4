"""The codes that a peer can send, with their meanings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from mesh.features.services.node.sending import OPEN
from mesh.kernel.client_room import VISITS
from mesh.kernel.context.settings import Settings
from mesh.kernel.presence.presence import MOST, NAMES
from mesh.wire.limits import HOPS, MIB

DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Settings)}
SESSIONS, SUBSCRIPTIONS = DEFAULTS["max_sessions"], DEFAULTS["max_subscriptions"]
BACKLOG = DEFAULTS["backlog_bytes"] // MIB

# Commands that carry the codes, and for each code its meaning.
REFUSE = {
    "VERSION": "No wire version that both ends know, or a proof that is not 32 bytes long.",
    "ROLE": "The role is unknown, or this node accepts no gateways.",
    "CLUSTER": "The node belongs to another mesh.",
    "SITE": "The site of the gateway is unknown, or it claims another site.",
    "GATEWAYS": "16 gateways of that site are connected already.",
    "BAD_COOKIE": "The proof is wrong. A proof without a CHALLENGE gets a CHALLENGE instead.",
    "WRONG_SECRET": "The proof is wrong, in a mesh with keys.",
    "WRONG_SIGNATURE": "The signature of the node, or of a row, is missing or wrong.",
    "FORGED_STREAM": "The stream is not derived from the client's key, or its signature is missing or wrong.",
    "PASSWORD": "The password is missing or wrong, or there were too many wrong ones lately.",
    "BAD_NAME": "A name, session number or destination is invalid.",
    "BAD_TOKEN": "The client has no valid token for the session.",
    "SESSION_IN_USE": "Another client that is connected has this well-known session.",
    "TOO_MANY_SESSIONS": f"The node ({SESSIONS:,} by default) or the key has reached its limit of sessions.",
    "NODE_DRAINING": "The node is being drained with its clients, and accepts no new clients and services: "
    "a client repeats CONSUME each second, and at its next node.",
    "NODE_FULL": "The node, or its dialed address, has reached its limit of connections of clients.",
    "NODE_BUSY": f"More than {VISITS} new clients arrived within a second.",
    "TOO_MANY_CONNECTIONS": "The key has reached its limit of connections.",
    "MALFORMED": "A message does not match this specification.",
    "FRAME_TOO_LARGE": "A frame exceeds its limit.",
    "TOO_LARGE": "A content exceeds `max_content`, or an envelope its limit. Also in Answer and REPLY.",
    "FORGED_SENDER": "An envelope has another stream, a field that only nodes write, or an unproven route.",
    "OUT_OF_ORDER": "A number is not above the previous one on this connection, or numbers have a gap.",
    "FORGED_ACK": "More is acknowledged or settled than was sent.",
    "UNEXPECTED": "This end must not send this command now.",
    "NO_ROOM": "Too many bytes of unfinished messages in pieces.",
    "STOPPED": "The next piece of a message did not come.",
    "POISONED": "The node failed on this message before. Never send it again.",
    "PROTOCOL": "Another rule of this specification was broken.",
    "SLOW_CONSUMER": "A subscription made no progress while messages were dropped for it. Also in ENDED.",
    "TOO_MANY_NAMES": f"A client watches more than {SUBSCRIPTIONS:,} names, or a node {NAMES:,}.",
    "TOO_MANY_GROUPS": "More groups than allowed. Also in REPLY.",
    "NAME_IN_USE": "Between nodes: another node has this name.",
    "SAME_UUID": "Between nodes: another process has this id.",
    "OLD_BOOT": "Between nodes: the refused node has already connected with a later boot.",
    "CONFLICT": "Between nodes: two processes claim to be this node.",
    "WRONG_IDENTITY": "Between nodes: the node is not the one whose key is known.",
    "TOO_MANY_NODES": "Between nodes: the table of nodes is full.",
    "TOO_MANY_QUERIES": "Between nodes: INTEREST has too many queries.",
    "DUEL": "Between nodes: the connection in the other direction stays.",
    "GAP": "Between nodes: the sequence numbers of ITEMS have a gap.",
    "DENIED": "Between nodes: the rules of the mesh do not allow this link.",
}
ANSWER = {
    "BAD_KEY": "The key or domain is invalid. Also in REPLY.",
    "BAD_PROPERTIES": "The properties of a message cannot be read. Nothing of the envelope is accepted.",
    "BAD_XML": "The field `xml` is not XML.",
    "BAD_ARGUMENT": "The flags do not fit the destination, or an argument is invalid. Also in REPLY.",
    "CLOCK_AHEAD": "Between sites, and in shared rows: the clock of the sender is too far ahead.",
    "NO_RIGHT": "Between sites: the site may not write this topic or to this client.",
    "SITE_UNREACHABLE": "The site is unknown or unreachable, and flag 8 is not set.",
    "WAY_LOST": "Between sites: a direct message was lost in transit, or waits behind one that was.",
    "STALE_SEQUENCE": "The number is so old that the node cannot tell whether it was accepted.",
    "NOT_ALLOWED": "The role or key of the client does not permit this. Also in REPLY.",
    "RESERVED": "The key or domain is reserved for the mesh. Also in REPLY.",
    "TOO_MANY_DOMAINS": "Sessions with this key use 10,000 domains.",
    "STORE_FULL": "The disk or database is full.",
    "STORE": "The disk or database failed.",
    "LEASE_LOST": "The node has lost its store and stops.",
    "FENCED": "Another process has the store of the node, which stops.",
    "STORE_ROLLED_BACK": "The store of the node is older than the node's last state. The node stops.",
    "CIRCULAR_LOOP": "The route returns to a node. The text has the route.",
    "RULES_CHANGE": "Between nodes: the route returns to a node shortly after a change of rules. Not final.",
    "TOO_MANY_HOPS": f"{HOPS} nodes have forwarded the message.",
    "INBOX_FULL": "Too much waits in the inbox, or at the node for all clients that are not connected.",
    "UNKNOWN_NODE": "The node is unknown or unreachable, and flag 8 is not set. Also in REPLY.",
    "NOT_AVAILABLE": "A node on the route has an earlier release. In REPLY: this node cannot do it.",
    "NOT_CONNECTED": "The session is not connected, and flag 8 is not set.",
    "TAILBACK_FULL": "Too much waits for this master.",
    "PARTLY_REFUSED": "Some masters accepted the message, others refused it.",
    "EXPIRED": "The expiry or ttl of the message has passed, or it has waited longer than a node allows.",
    "NO_HANDLERS": "The address has no server.",
    "HANDLER_LOST": "The server, or its node, is lost. The message may have been processed.",
    "NO_QUEUE": "There is no such queue. Also in REPLY.",
    "QUEUE_FULL": "The queue is full.",
    "ADDRESS_FULL": f"Too much waits for the servers of this address: {BACKLOG} MiB by default.",
    "TOO_MANY_REQUESTS": f"{OPEN:,} requests of this client wait for replies. In REPLY: "
    "the node searches for too many names.",
    "REFUSED": "The message was refused for good shortly before the node restarted.",
    "REQUEST_FAILED": "Of a request: the server settled it without a reply.",
}
REPLY = {
    "MOVED": "The session has moved on to another node.",
    "FORGED_VISIT": "A certificate is not for this session and node, or its signature is wrong.",
    "UNKNOWN_PIN": "The pinned part of the log is no longer known: begin anew.",
    "UNDER_WAY": "A transaction holds deliveries of the consumer: claim again in a moment.",
    "UNKNOWN_CLAIM": "The claim of a consumer has ended: claim again.",
    "UNKNOWN_RUN": "The messages sent before are no longer known: begin anew.",
    "BAD_ADDRESS": "The TCP address is invalid, or the node keeps too many addresses.",
    "BAD_QUERY": "The query, or an argument of the verb, is invalid.",
    "BAD_RULES": "The rules are invalid.",
    "BAD_SELECTOR": "The selector is invalid.",
    "BAD_WEIGHTS": "The weights are invalid.",
    "INBOX_TAKEN": "The inbox belongs to another key. Also in ENDED.",
    "NAME_TAKEN": "Another prepared transaction of the user has the name.",
    "TOO_MANY_PREPARED": "Too many transactions are prepared at the node.",
    "NO_TRANSACTION": "No transaction of that name is prepared or was decided lately.",
    "OUTCOME_EXPIRED": "The client has confirmed the outcome of the transaction.",
    "NOT_DURABLE": "Another node keeps a message that a transaction settles.",
    "LEASE_OVER": "The delivery is no longer the client's: its lease or epoch has ended.",
    "MASTER_AWAY": "The master is unreachable.",
    "NODES_AWAY": "Nodes are disconnected, and `force` is not set.",
    "NODE_AWAY": "The other node is unreachable.",
    "NOTHING_READY": "The queue has no ready message.",
    "NOT_ADVERTISED": "The sender does not advertise the address that the node should dial.",
    "NOT_AVAILABLE": "This node cannot execute the request.",
    "NOT_LINKED": "This node is not linked to all masters of the durable subscription.",
    "NO_ADMIN": "The mesh has no admin key.",
    "NO_OTHER_NODE": "No other node accepts the messages.",
    "QUEUE_EXISTS": "The queue exists with other terms.",
    "QUEUE_IN_USE": "The queue has messages or consumers, or a node that may have some is unreachable.",
    "STALE": "The rules were changed meanwhile.",
    "TOO_MANY": f"More than {SUBSCRIPTIONS:,} subscriptions of a session, or too much work of another kind.",
    "TOO_MANY_ADDRESSES": f"The session serves {SUBSCRIPTIONS:,} addresses, or the node {MOST:,}.",
    "SPACE_EXISTS": "The map or group of counters exists with other terms.",
    "NOT_STOPPED": "A move by force lacks a statement that the home is stopped, or a node in it is running.",
    "NO_SPACE": "The map or group of counters does not exist.",
    "HOME_ALIVE": "The home of the map still acts, so it is not moved by force.",
    "NOT_HOME": "The map is being moved: try again in a moment.",
    "NO_LEASH": "The voters of the map do not confirm its home: try again in a moment.",
    "NO_VALUES": "The home does not have the values of the map.",
    "OTHER_VERSION": "Another version of the value is there. In the field `code` of a value.",
    "MAP_FULL": "The map has too many keys or bytes. In the field `code` of a value.",
    "STALE_WRITE": "The write is answered, or older than the last 64. In the field `code` of a value.",
    "LOCK_HELD": "Another client has the lock, and this one does not wait. In the field `code` of a value.",
    "TOO_MANY_LOCKS": "The home has too many locks, or clients that wait. In the field `code` of a value.",
    "LOCK_LOST": "The client no longer has the lock, or asks for it. In the field `code` of a value.",
    "OVERFLOW": "The counter or tally would leave the range of 64 bits. Also in the field `code` of a value.",
    "TOO_MANY_QUEUES": "10,000 queues are declared.",
    "TOO_MANY_SPACES": "1,000 maps and groups of counters exist.",
    "UNKNOWN_NAME": "No node has the name.",
    "UNKNOWN_SITE": "The node's configuration does not name the site.",
    "UNKNOWN_VERB": "The verb is unknown.",
    "BAD_ROW": "The shared row is invalid. Also in events.",
    "TOO_MANY_ROWS": "More than 20,000 shared rows of one kind, or 16 MiB. In events.",
    "UNKNOWN_AUTHOR": "The author of a shared row was never a member. In events.",
}
PLACES = {"REFUSE": REFUSE, "Answer": ANSWER, "REPLY": REPLY}


def table() -> Iterator[str]:
    yield "| code | in | meaning |"
    yield "| --- | --- | --- |"
    for place, codes in PLACES.items():
        for code, meaning in codes.items():
            yield f"| `{code}` | {place} | {meaning} |"
