"""The texts and hints of all reasons, in TEXTS."""

# Rule 1: a text states one fact and its place, in one clause. A hint says what to type next.
# Rule 2: the caller of `reason` supplies the names in { }. Nothing else is inserted into a text.

from typing import NamedTuple

CAUSE, PERHAPS, STATE = "cause", "perhaps", "state"  # ranks: a cause, a possible cause, a state
RANKS = (CAUSE, PERHAPS, STATE)


class Text(NamedTuple):
    """The text of a reason, with its rank and hint."""

    rank: str
    says: str
    hint: str = ""


AGAIN = "Start it again: `mesh up --id {node}`; if it is part of a program, that program."
TEXTS: dict[str, Text] = {
    # --- nodes
    "NODE_SELF": Text(STATE, "this is the node that was asked"),
    "NODE_ALIVE": Text(STATE, "{node} is alive; its link: {link}"),
    "NODE_UNKNOWN": Text(CAUSE, "no node {node} is known here", "See `mesh ls`, or add it: `mesh peer add`."),
    "NODE_SEEN": Text(CAUSE, "others tell of {node}, and it has not answered here", "See `mesh peer ls`."),
    "NODE_SUSPECT": Text(
        CAUSE, "{node} has not answered for {age}, and is not given up yet", "See `mesh ls`."
    ),
    "NODE_DEAD": Text(CAUSE, "{node} is dead: it was heard of last {age} ago", AGAIN),
    "NODE_LEFT": Text(CAUSE, "{node} has left on purpose, {age} ago", AGAIN),
    "NODE_CONFLICT": Text(
        CAUSE, "two processes answer for {node}", "Stop one of them, or give it another --id."
    ),
    "LINK_REFUSED": Text(
        CAUSE,
        "{node} and this node are not linked: {by} says no ({no}: {why})",
        "See `mesh why node {node}`.",
    ),
    "NOT_LINKABLE": Text(
        CAUSE,
        "{node} lives, and no file names it, where only configured nodes are linked",
        'Add [nodes.{node}] to mesh.toml, or links = "any".',
    ),
    "OTHER_MESH": Text(
        CAUSE,
        "a node {node} at {address} has other keys: it is of another mesh",
        "If it is of this mesh: `mesh join` there, with a token.",
    ),
    "DIAL_FAILED": Text(CAUSE, "at {address}: {why}", "See `mesh peer ls`."),
    "NEAR_NODE": Text(CAUSE, "a node of nearly that name is known: {near}", "Did you mean {near}?"),
    "NOT_ASKED": Text(PERHAPS, "{node} did not answer, so that its reasons are lacking"),
    # --- topics: routes
    "ACCEPTED_HERE": Text(STATE, "it would be accepted here ({why})"),
    "GOES_ON": Text(STATE, "it would go on to {next} ({why})"),
    "MASTER_AWAY": Text(
        CAUSE, "it would wait here for {next} ({why}): {state}", "See `mesh why node {next}`."
    ),
    "NO_MASTER": Text(
        CAUSE,
        "it would wait here, as nobody is its master ({why})",
        "Name one in mesh.toml; `mesh route` tries it out.",
    ),
    "CIRCULAR_LOOP": Text(
        CAUSE, "it would be refused: {why}", "Compare `mesh route` at each of these nodes."
    ),
    "ROUTE_REFUSED": Text(CAUSE, "it would be refused: {why}", "See `mesh route`."),
    "ROUTE_UNKNOWN": Text(
        PERHAPS, "nobody knows what would become of it there: {why}", "See `mesh why node {node}`."
    ),
    "CANDIDATE": Text(STATE, "{node} has a claim, by {by}, at stratum {stratum}: {state}"),
    "STRATUM": Text(STATE, "its master is {stratum} hops from here: {way}, {latency} ms"),
    "NO_WAY": Text(
        PERHAPS,
        "from here nobody can be asked who has a way to a master of {domain}: {says}",
        "See `mesh ls --tree`.",
    ),
    "WAY_BROKEN": Text(PERHAPS, "{next}, which the rules name as a way, {says}", "See `mesh ls --tree`."),
    # --- topics: subscribers
    "SUBSCRIBED": Text(STATE, "it is wanted here by {who}"),
    "ASKS": Text(STATE, "messages of it are asked for at {nodes}"),
    "ASKED_BY": Text(STATE, "these nodes have asked for it: {nodes}"),
    "SUBSCRIBER_AWAY": Text(
        CAUSE,
        "{who} wants it, and has not been connected for {age}; {n} messages wait",
        "See `mesh why client {who}`.",
    ),
    "SUBSCRIBER_SLOW": Text(
        CAUSE,
        "{who} wants it, and takes nothing: {n} messages wait",
        "See `mesh top`, or overflow= of subscribe().",
    ),
    "NO_SUBSCRIBER": Text(CAUSE, "nobody wants {key}, at any node that answered"),
    "NEAR_KEY": Text(CAUSE, "{near} is subscribed to here", "Did you mean {near}?"),
    "OTHER_DOMAIN": Text(
        CAUSE, "the key is subscribed to here in {near}, and not in {domain}", "--domain is part of a topic."
    ),
    "RULES_DIFFER": Text(
        CAUSE,
        "it would be accepted at {masters}, and {node} asks {nodes}: their rules name others",
        "Compare `mesh route` at both nodes.",
    ),
    "GROUP_TAKES": Text(
        PERHAPS, "of the group {group} one member gets each message", "To get all: subscribe without a group."
    ),
    "DURABLE_TAKES": Text(STATE, "the durable subscriptions {names} keep a copy"),
    "SITES_TAKE": Text(STATE, "it goes to the sites {names}"),
    # --- topics: retained values
    "LAST_VALUE": Text(STATE, "its last value is here: {id}, of {sender}, {age} old"),
    "LOCAL_ONLY": Text(
        CAUSE,
        "its last value, {id}, was published for clients of this node only",
        "Publish it without local_only.",
    ),
    "VALUE_EXPIRED": Text(CAUSE, "its last value, {id}, expired {age} ago", "Publish with a longer expiry."),
    "ERASED": Text(CAUSE, "it was erased here, by {who}", "Publish it anew."),
    "UNDELIVERED": Text(CAUSE, "{n} messages of {topic} have not reached {who}: {why}", "See `mesh top`."),
    # --- messages
    "PUBLISHED_HERE": Text(STATE, "{who} has published it here, and {answer}"),
    "ACCEPTED": Text(STATE, "it was accepted here"),
    "ACCEPTED_BEFORE": Text(
        STATE, "it is older than what is known one by one here: its publisher has had its last word"
    ),
    "WANTED_HERE": Text(STATE, "{n} subscriptions at this node want its topic"),
    "UNWANTED": Text(
        CAUSE,
        "nobody wants its topic {key}, neither here nor by what other nodes have said",
        "See `mesh why topic {key}`.",
    ),
    "STORING": Text(PERHAPS, "it is on its way to the disk here", "See `mesh info`."),
    "WAITS_FOR": Text(CAUSE, "it waits here for {next} ({why}): {state}", "See `mesh why node {next}`."),
    "UNDER_WAY": Text(
        PERHAPS, "it was sent on to {next}, which has not answered yet", "See `mesh why node {next}`."
    ),
    "REFUSED": Text(CAUSE, "it was refused here: {why}", "See docs/errors.md."),
    "DEAD": Text(
        CAUSE, "it is a dead letter here: {why}", "See `mesh dlq ls`; `mesh dlq replay` sends it again."
    ),
    "HELD_FOR": Text(PERHAPS, "{who} was sent it or is still to be, and has not said that it has it"),
    "MESSAGE_UNKNOWN": Text(
        CAUSE, "no node that answered knows of it", "A node forgets 24 h after its publisher has gone."
    ),
    # --- clients
    "CLIENT_HERE": Text(STATE, "{who} is connected here, with {n} subscriptions"),
    "CLIENT_AWAY": Text(
        CAUSE,
        "{who} has not been connected for {age}; {n} messages wait",
        "Start it again; it is forgotten after limits.linger.",
    ),
    "CLIENT_REFUSED": Text(
        CAUSE, "{who} was refused here {age} ago: {why}", "See the code in docs/errors.md, and `mesh events`."
    ),
    "STRANGER_REFUSED": Text(
        PERHAPS,
        "{age} ago, before it gave a name: {why}",
        "If that was {who}: join its user to the mesh, or raise the limit (limits.connections).",
    ),
    "CLIENT_UNKNOWN": Text(
        CAUSE, "no session of {who} is at any node that answered", "Is it running, and under that name?"
    ),
    "NEAR_CLIENT": Text(CAUSE, "a client of nearly that name is here: {near}", "Did you mean {near}?"),
    "CLIENT_SLOW": Text(
        CAUSE,
        "{who} takes nothing of {what}: {n} messages wait",
        "See `mesh top`, or overflow= of subscribe().",
    ),
    "INBOX_WAITS": Text(PERHAPS, "{n} messages wait in the inbox of {who}", "It has to read its inbox()."),
    "INBOX_FULL": Text(
        CAUSE, "the inbox of {who} is full: {bytes} bytes wait", "It has to read its inbox()."
    ),
    # --- addresses
    "SERVED": Text(STATE, "{n} serve it at {node}: weight {weight}, {outstanding} under way, {latency} s"),
    "CHOSEN": Text(STATE, "{strategy} would choose {node} next"),
    "NOBODY_SERVES": Text(
        CAUSE,
        "nobody serves {address}, at any node that can be asked",
        "Is its service running? See `mesh ls --addresses`.",
    ),
    "NEAR_ADDRESS": Text(CAUSE, "an address of nearly that name is served: {near}", "Did you mean {near}?"),
    "ADDRESS_BUSY": Text(
        CAUSE, "all {n} who serve it here are busy; {bytes} bytes wait", "Start more of them."
    ),
    "WEIGHT_LOW": Text(
        PERHAPS,
        "{node} has the weight {weight}, so that others are chosen before it",
        "See `mesh weights show`.",
    ),
    "WEIGHTS_EXPIRED": Text(
        PERHAPS, "the weights have expired: all nodes count alike", "See `mesh weights show`."
    ),
    # --- queues
    "QUEUE_WAITS": Text(PERHAPS, "{n} messages: {why}", "See `mesh queue info`."),
    "QUEUE_EMPTY": Text(STATE, "nothing is in it here"),
    "QUEUE_FULL": Text(
        CAUSE, "it is full here: {n} messages, {bytes} bytes", "Its consumers have to take some."
    ),
    "QUEUE_DROPS": Text(
        CAUSE,
        "it was full here, and has lost {n} messages, its oldest; {bytes} bytes wait",
        "Start a consumer, or `mesh unsub` what nobody reads.",
    ),
    "NOBODY_TAKES": Text(CAUSE, "{n} messages: {why}", "Start a consumer, or see its selector."),
    "QUEUE_UNKNOWN": Text(
        CAUSE, "there is no queue {name} at any node that answered", "Declare it: `mesh queue create`."
    ),
    "NEAR_QUEUE": Text(CAUSE, "a queue of nearly that name is here: {near}", "Did you mean {near}?"),
    # --- other sites
    "SITE_LINKED": Text(STATE, "{site} is reached from here by {gateways}; alive there: {n}"),
    "SITE_OWN": Text(STATE, "{site} is the site of this node"),
    "SITE_WAITS": Text(STATE, "what waits here for {site}: {n}, {bytes} bytes, the oldest for {age}"),
    "IN_SITE": Text(
        STATE,
        "{who} is in {site}: this is how the way there is",
        "Whether it is there a node of {site} can say, by `mesh why`.",
    ),
    "SITE_STOPPED": Text(CAUSE, "{site} has said that it stops, {age} ago", "Start one of its gateways."),
    "SITE_NOT_LINKED": Text(
        CAUSE, "this node is a gateway to {site} and not connected: {state}", "See `mesh ls --sites`."
    ),
    "SITE_UNREACHED": Text(
        CAUSE, "no node that answered is connected with {name}", "See LINK in `mesh ls --sites`."
    ),
    "SITE_PAUSED": Text(
        CAUSE, "what is for {site} waits: somebody has paused it", "Type `mesh relay resume {site}`."
    ),
    "SITE_LACKS": Text(
        PERHAPS, "{site} lacks {n}, as {node} had no room", "Raise max_bytes in [sites.{site}]."
    ),
    "SITE_UNKNOWN": Text(CAUSE, "no site {site} stands in the file of this node", "Add [sites.{site}]."),
    "NEAR_SITE": Text(CAUSE, "a site of nearly that name is known: {near}", "Did you mean {near}?"),
}

# The reasons of undelivered messages, by which they are counted.
LOSSES = {
    "OVERRUN": "they came faster than it took them",
    "EXPIRED": "they expired before it took them",
    "CUT_OFF": "it took nothing, and was cut off",
    "LOST": "its connection, or its process, ended while they were under way",
    "INBOX_FULL": "its inbox was full",
}
