"""Texts and hints of all reasons, by code."""

# Rule 1: a text states a fact and its place, in one clause; a hint says what to type next.
# Rule 2: the caller gives the names in { }; nothing else is put into a text.

from typing import NamedTuple

CAUSE, PERHAPS, STATE = "cause", "perhaps", "state"  # ranks: a cause, a possible cause, a state
RANKS = (CAUSE, PERHAPS, STATE)


class Text(NamedTuple):
    """The text of a reason, with its rank and hint."""

    rank: str
    says: str
    hint: str = ""


AGAIN = "Start the node again: `mesh up --id {node}`, or the program that embeds it."
TEXTS: dict[str, Text] = {
    # --- nodes
    "NODE_SELF": Text(STATE, "this is the node that was asked"),
    "NODE_ALIVE": Text(STATE, "{node} is alive; the link to it: {link}"),
    "NODE_UNKNOWN": Text(
        CAUSE,
        "no node {node} is known here",
        "See `mesh ls`, or add the address of the node: `mesh peer add`.",
    ),
    "NODE_SEEN": Text(CAUSE, "others report {node}, but it has not answered here", "See `mesh peer ls`."),
    "NODE_SUSPECT": Text(CAUSE, "{node} is suspect: it has not answered for {age}", "See `mesh ls`."),
    "NODE_DEAD": Text(CAUSE, "{node} is dead: last contact {age} ago", AGAIN),
    "NODE_LEFT": Text(CAUSE, "{node} has left on purpose, {age} ago", AGAIN),
    "NODE_CONFLICT": Text(
        CAUSE, "two processes answer for {node}", "Stop one of them, or give it another --id."
    ),
    "LINK_REFUSED": Text(
        CAUSE,
        "{node} and this node are not linked: {by} refuses ({no}: {why})",
        "See `mesh why node {node}`.",
    ),
    "NOT_LINKABLE": Text(
        CAUSE,
        "{node} is alive, but no file names it, and only configured nodes are linked",
        'Add [nodes.{node}] to mesh.toml, or links = "any".',
    ),
    "OTHER_MESH": Text(
        CAUSE,
        "a node {node} at {address} has other keys: it belongs to another mesh",
        "If it belongs to this mesh: `mesh join` there, with a token.",
    ),
    "DIAL_FAILED": Text(CAUSE, "the dial of {address} failed: {why}", "See `mesh peer ls`."),
    "UNREACHABLE": Text(PERHAPS, "address of this node: {why}", "{hint}."),
    "NEAR_NODE": Text(CAUSE, "a node with a similar name is known: {near}", "Did you mean {near}?"),
    "NOT_ASKED": Text(PERHAPS, "{node} did not answer; its reasons are missing"),
    # --- topics: route of a message
    "ACCEPTED_HERE": Text(STATE, "the message would be accepted here ({why})"),
    "GOES_ON": Text(STATE, "the message would be forwarded to {next} ({why})"),
    "MASTER_AWAY": Text(
        CAUSE, "the message would wait here for {next} ({why}): {state}", "See `mesh why node {next}`."
    ),
    "NO_MASTER": Text(
        CAUSE,
        "the message would wait here: the topic has no master ({why})",
        "Name a master in mesh.toml; `mesh route` tests the rules.",
    ),
    "CIRCULAR_LOOP": Text(
        CAUSE, "the message would be refused: {why}", "Compare `mesh route` at each of these nodes."
    ),
    "ROUTE_REFUSED": Text(CAUSE, "the message would be refused: {why}", "See `mesh route`."),
    "ROUTE_UNKNOWN": Text(PERHAPS, "the outcome there is unknown: {why}", "See `mesh why node {node}`."),
    "CANDIDATE": Text(STATE, "{node} has a claim, by {by}, at stratum {stratum}: {state}"),
    "STRATUM": Text(STATE, "hops from here to the master: {stratum} ({way}), {latency} ms"),
    "NO_WAY": Text(
        PERHAPS, "no route to a master of {domain} can be found from here: {says}", "See `mesh ls --tree`."
    ),
    "ADOPTED_PARENT": Text(
        STATE,
        "{node} is the parent in place of {parent}, until {parent} has had a route for {seconds} s",
        "See `mesh ls --tree`.",
    ),
    "WAY_BROKEN": Text(PERHAPS, "{next}, a next hop in the rules, {says}", "See `mesh ls --tree`."),
    # --- topics: subscribers
    "SUBSCRIBED": Text(STATE, "the topic is subscribed to here by {who}"),
    "ASKS": Text(STATE, "this node requests messages of the topic from {nodes}"),
    "ASKED_BY": Text(STATE, "these nodes have requested messages of the topic: {nodes}"),
    "SUBSCRIBER_AWAY": Text(
        CAUSE,
        "{who} is subscribed, but has been disconnected for {age}; waiting: {n}",
        "See `mesh why client {who}`.",
    ),
    "SUBSCRIBER_SLOW": Text(
        CAUSE,
        "{who} is subscribed, but reads nothing; waiting: {n}",
        "See `mesh top`, or overflow= of subscribe().",
    ),
    "NO_SUBSCRIBER": Text(CAUSE, "{key} has no subscriber at any node that answered"),
    "NEAR_KEY": Text(CAUSE, "{near} is subscribed to here", "Did you mean {near}?"),
    "OTHER_DOMAIN": Text(
        CAUSE, "the key is subscribed to here in {near}, but not in {domain}", "--domain is part of a topic."
    ),
    "RULES_DIFFER": Text(
        CAUSE,
        "the message would be accepted at {masters}, but {node} asks {nodes}: their rules differ",
        "Compare `mesh route` at both nodes.",
    ),
    "GROUP_TAKES": Text(
        PERHAPS,
        "one member of the group {group} receives each message",
        "To receive all: subscribe without a group.",
    ),
    "DURABLE_TAKES": Text(STATE, "the durable subscriptions {names} keep a copy"),
    "SITES_TAKE": Text(STATE, "the message goes to the sites {names}"),
    # --- topics: retained values
    "LAST_VALUE": Text(STATE, "the retained value is here: {id}, from {sender}, {age} old"),
    "LOCAL_ONLY": Text(
        CAUSE,
        "the retained value, {id}, was published only for clients of this node",
        "Publish it without local_only.",
    ),
    "VALUE_EXPIRED": Text(
        CAUSE, "the retained value, {id}, expired {age} ago", "Publish with a longer expiry."
    ),
    "ERASED": Text(CAUSE, "the topic was erased here by {who}", "Publish it again."),
    "EMPTIED": Text(
        CAUSE,
        "the values of the topic were deleted here by {who}; its subscribers were not notified",
        "Publish it again.",
    ),
    "UNDELIVERED": Text(CAUSE, "{n} of {topic} did not reach {who}: {why}", "See `mesh top`."),
    # --- messages
    "PUBLISHED_HERE": Text(STATE, "{who} published the message here, and {answer}"),
    "ACCEPTED": Text(STATE, "the message was accepted here"),
    "ACCEPTED_BEFORE": Text(
        STATE, "the message is older than the remembered ones: the publisher has the final answer"
    ),
    "WANTED_HERE": Text(STATE, "subscriptions at this node that match the topic: {n}"),
    "UNWANTED": Text(
        CAUSE,
        "the topic {key} has no subscriber, here or at another known node",
        "See `mesh why topic {key}`.",
    ),
    "STORING": Text(PERHAPS, "the message is being stored here", "See `mesh info`."),
    "WAITS_FOR": Text(
        CAUSE, "the message waits here for {next} ({why}): {state}", "See `mesh why node {next}`."
    ),
    "UNDER_WAY": Text(
        PERHAPS,
        "the message was forwarded to {next}, which has not answered yet",
        "See `mesh why node {next}`.",
    ),
    "REFUSED": Text(CAUSE, "the message was refused here: {why}", "See docs/errors.md."),
    "DEAD": Text(
        CAUSE,
        "the message is a dead letter here: {why}",
        "See `mesh dlq ls`; `mesh dlq replay` sends it again.",
    ),
    "HELD_FOR": Text(PERHAPS, "{who} has not received or acknowledged the message yet"),
    "MESSAGE_UNKNOWN": Text(
        CAUSE,
        "no node that answered knows the message",
        "A node forgets a message 24 h after the publisher has left.",
    ),
    # --- clients
    "CLIENT_HERE": Text(STATE, "{who} is connected here, with {n}"),
    "CLIENT_AWAY": Text(
        CAUSE,
        "{who} has been disconnected for {age}; waiting: {n}",
        "Start the client again; the session ends after limits.linger.",
    ),
    "CLIENT_REFUSED": Text(
        CAUSE, "{who} was refused here {age} ago: {why}", "See the code in docs/errors.md, and `mesh events`."
    ),
    "STRANGER_REFUSED": Text(
        PERHAPS,
        "a connection was refused {age} ago, before the client gave a name: {why}",
        "If the client was {who}: join its user to the mesh, or raise the limit (limits.connections).",
    ),
    "CLIENT_UNKNOWN": Text(
        CAUSE, "no session of {who} is at any node that answered", "Is the client running, under that name?"
    ),
    "NEAR_CLIENT": Text(CAUSE, "a client with a similar name is here: {near}", "Did you mean {near}?"),
    "CLIENT_SLOW": Text(
        CAUSE, "{who} reads nothing of {what}; waiting: {n}", "See `mesh top`, or overflow= of subscribe()."
    ),
    "INBOX_WAITS": Text(PERHAPS, "the inbox of {who} holds {n}", "The client must read its inbox()."),
    "INBOX_FULL": Text(
        CAUSE, "the inbox of {who} is full: {bytes} bytes wait", "The client must read its inbox()."
    ),
    # --- addresses
    "SERVED": Text(STATE, "{n} at {node}: weight {weight}, {outstanding} outstanding, {latency} s"),
    "CHOSEN": Text(STATE, "{strategy} would select {node} next"),
    "NOBODY_SERVES": Text(
        CAUSE, "no reachable client serves {address}", "Is the service running? See `mesh ls --addresses`."
    ),
    "NEAR_ADDRESS": Text(CAUSE, "a similar address is served: {near}", "Did you mean {near}?"),
    "ADDRESS_BUSY": Text(CAUSE, "all servers here ({n}) are busy; {bytes} bytes wait", "Start more servers."),
    "WEIGHT_LOW": Text(
        PERHAPS, "{node} has the weight {weight}, so others are selected first", "See `mesh weights show`."
    ),
    "WEIGHTS_EXPIRED": Text(
        PERHAPS, "the weights have expired: all nodes count equally", "See `mesh weights show`."
    ),
    # --- queues
    "QUEUE_WAITS": Text(PERHAPS, "{n}: {why}", "See `mesh queue info`."),
    "QUEUE_EMPTY": Text(STATE, "the queue is empty here"),
    "QUEUE_FULL": Text(CAUSE, "the queue is full here: {n}, {bytes} bytes", "Start more consumers."),
    "QUEUE_DROPS": Text(
        CAUSE,
        "the queue was full here and lost its oldest messages, {n} in total; {bytes} bytes wait",
        "Start a consumer, or `mesh unsub` an unused subscription.",
    ),
    "NOBODY_TAKES": Text(CAUSE, "{n}: {why}", "Start a consumer, or change its selector."),
    "QUEUE_UNKNOWN": Text(
        CAUSE, "no node that answered has a queue {name}", "Declare it: `mesh queue create`."
    ),
    "NEAR_QUEUE": Text(CAUSE, "a queue with a similar name is here: {near}", "Did you mean {near}?"),
    # --- locks
    "LOCK_HELD": Text(
        STATE, "{client} holds the lock with token {token}; the lease ends in {left} s, and {n} wait"
    ),
    "LOCK_FREE": Text(STATE, "the lock is free; this node is its home"),
    "LOCK_STOPPED": Text(
        CAUSE, "this node is the home of the lock, but grants nothing: {why}", "See `mesh ls --all`."
    ),
    "LOCK_UNKNOWN": Text(
        CAUSE, "no node that answered is the home of the lock {name}", "See `mesh ls --all`."
    ),
    # --- maps and counters
    "SPACE_HOME": Text(
        STATE, "this node is the home, in generation {generation}: {keys} keys, {bytes} bytes; leash: {left}"
    ),
    "SPACE_KNOWN": Text(STATE, "its home is {home}, in generation {generation}; its voters: {voters}"),
    "SPACE_VOTER": Text(STATE, "this voter received the last heartbeat of the home {age} ago"),
    "SPACE_SILENT": Text(
        CAUSE, "this voter received no heartbeat of the home {home}", "See `mesh why node {home}`."
    ),
    "SPACE_HOME_AWAY": Text(
        CAUSE, "its home {home} is unreachable", "Start it, or if its disk is lost: `mesh map move --force`."
    ),
    "SPACE_STOPPED": Text(CAUSE, "its home does not act: {why}", "Most of its voters must be reachable."),
    "SPACE_UNKNOWN": Text(CAUSE, "no node that answered knows {name}", "See `mesh map ls`."),
    # --- prepared transactions
    "TX_PREPARED": Text(
        PERHAPS,
        "{name} was prepared here {age} ago and is not decided: {n}",
        "`mesh tx commit {name}`, or `mesh tx rollback {name}`.",
    ),
    "TX_FINISHING": Text(CAUSE, "{name} is decided, but a store here has no space", "Free disk space."),
    "TX_DECIDED": Text(STATE, "{name} was {outcome} here"),
    "TX_UNKNOWN": Text(CAUSE, "no node that answered has this transaction", "See `mesh tx ls`."),
    # --- other sites
    "SITE_LINKED": Text(STATE, "{site} is reached from here through {gateways}; live nodes there: {n}"),
    "SITE_OWN": Text(STATE, "{site} is the site of this node"),
    "SITE_WAITS": Text(STATE, "waiting here for {site}: {n}, {bytes} bytes, the oldest for {age}"),
    "IN_SITE": Text(
        STATE,
        "{who} is in {site}; the state of the route follows",
        "Ask a node of {site} for more: `mesh why` there.",
    ),
    "SITE_STOPPED": Text(CAUSE, "{site} stopped on purpose, {age} ago", "Start one of its gateways."),
    "SITE_NOT_LINKED": Text(
        CAUSE, "this node is a gateway to {site}, but not connected: {state}", "See `mesh ls --sites`."
    ),
    "SITE_UNREACHED": Text(
        CAUSE, "no node that answered is connected with {name}", "See LINK in `mesh ls --sites`."
    ),
    "SITE_PAUSED": Text(CAUSE, "{site} is paused; messages for it wait", "Run `mesh relay resume {site}`."),
    "SITE_LACKS": Text(
        PERHAPS, "{site} lacks {n}, because {node} had no space", "Raise max_bytes in [sites.{site}]."
    ),
    "SITE_UNKNOWN": Text(CAUSE, "site {site} is not in the file of this node", "Add [sites.{site}]."),
    "NEAR_SITE": Text(CAUSE, "a site with a similar name is known: {near}", "Did you mean {near}?"),
}

# Reasons by which undelivered messages are counted.
LOSSES = {
    "OVERRUN": "messages came faster than the receiver read them",
    "EXPIRED": "expired before the receiver read them",
    "CUT_OFF": "the receiver read nothing, and was disconnected",
    "LOST": "the connection or process of the receiver ended during delivery",
    "INBOX_FULL": "the inbox of the receiver was full",
}
