"""The questions: the arguments of each verb of a Call. The values of their replies are in replies.py.

Arguments are maps on the wire. An argument with a default may be left out, and an unknown one is ignored.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from mesh.errors import BadQuery
from mesh.names import LONGEST_QUEUE

LONGEST = 64  # letters of a node's name

TERMS = 64  # of a declaration: more than exist
MOVED = 10_000  # messages of one move
PEEKED = 100  # messages of one peek

Name = Annotated[str, Meta(max_length=LONGEST)]
QueueName = Annotated[str, Meta(max_length=LONGEST_QUEUE)]


class Ask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The arguments of a question."""

    verb: ClassVar[str]


class Carried(Ask, frozen=True, kw_only=True):
    """The arguments of a question that nodes forward.

    Attributes:
        visited: From a node: names of the nodes that the question has visited.
        within: Seconds that the sender waits for the reply.
    """

    visited: list[Name] = []
    within: float = float("inf")


class AskGet(Carried, frozen=True, kw_only=True):
    """Return retained values.

    Attributes:
        kind: `"exact"`, `"pattern"` or `"xpath"`.
        text: A key, pattern or XPath.
        domain: Only topics of this domain. Empty: of any domain, and of none.
        fresh: From a client: ask the master instead of the cache of this node.
        after: From a node: reply after the messages that already wait for it.
    """

    verb = "get"
    kind: str
    text: str
    domain: str = ""
    fresh: bool = False
    after: bool = False


class AskErase(Carried, frozen=True, kw_only=True):
    """Erase a topic and its retained value at its master.

    Attributes:
        key: Key of the topic.
        domain: Domain of the topic. Empty: every domain in which the node knows it.
        stream: From a node: stream of the erasure.
        number: From a node: its sequence number.
        sender: From a node: its session.
        route: From a node: names of the nodes it has passed.
        copy: From a node: whether it also goes to every other master.
    """

    verb = "erase"
    key: str
    domain: str = ""
    stream: Annotated[bytes, Meta(max_length=16)] = b""
    number: int = 1
    sender: str = ""
    route: list[str] = []
    copy: bool = False


class AskWhere(Carried, frozen=True, kw_only=True):
    """Return how to reach a node: to a client its address, to a node the number of hops.

    Attributes:
        node: Name of the node.
    """

    verb = "where"
    node: str


class AskRoute(Carried, frozen=True, kw_only=True):
    """Return the route that a message would take.

    Attributes:
        key: Key of the message.
        domain: Domain of the message.
        to: Destination of the message.
        start: Name of the node at which it would be published. Empty: this one.
        copy: From a node: whether it goes to several masters, of which this is one.
    """

    verb = "route"
    key: str = ""
    domain: str = ""
    to: str = ""
    start: str = msgspec.field(default="", name="from")
    copy: bool = False


class AskWhy(Carried, frozen=True, kw_only=True):
    """Return the reasons for the state of something.

    Attributes:
        kind: `"node"`, `"topic"`, `"message"`, `"address"`, `"queue"`, `"client"` or `"site"`.
        text: Name, key or id.
        domain: Domain of a topic.
    """

    verb = "why"
    kind: str
    text: str
    domain: str = ""


class AskTree(Carried, frozen=True, kw_only=True):
    """Return the distance of each node from the master of a domain.

    Attributes:
        domain: Name of the domain. Empty: return the domains that rules name.
    """

    verb = "tree"
    domain: str = ""


class AskPage(Ask, frozen=True, kw_only=True):
    """The arguments of a question whose reply comes in pages.

    Attributes:
        after: Continue after this place. Empty: begin.
        limit: Limit of the rows of a page. 0: 1,000.
    """

    after: str = ""
    limit: int = 0


class AskNodes(AskPage, frozen=True, kw_only=True):
    """List the nodes."""

    verb = "ls"


class AskPeers(AskPage, frozen=True, kw_only=True):
    """List the addresses that this node dials."""

    verb = "peers"


class AskAddresses(AskPage, frozen=True, kw_only=True):
    """List the served addresses: to a client of the mesh, to a node of the receiver."""

    verb = "addresses"


class AskFared(Ask, frozen=True, kw_only=True):
    """Return counters of messages from clients of this node to the 100 busiest addresses."""

    verb = "fared"


class AskSites(AskPage, frozen=True, kw_only=True):
    """List the other sites."""

    verb = "sites"


class AskSitePause(Ask, frozen=True, kw_only=True):
    """Pause or resume the relay to a site, at all nodes.

    Attributes:
        site: Name of the site.
        pause: Whether to pause.
    """

    verb = "site_pause"
    site: Name
    pause: bool = True


class AskSiteSync(Ask, frozen=True, kw_only=True):
    """Send a site the retained values of all topics that it receives.

    Attributes:
        site: Name of the site.
    """

    verb = "site_sync"
    site: Name


class AskServers(Ask, frozen=True, kw_only=True):
    """List the nodes to which a message to an address could go.

    Attributes:
        address: The address.
    """

    verb = "servers"
    address: str


class AskEvents(Ask, frozen=True, kw_only=True):
    """List events of this node.

    Attributes:
        after: Number of the last event already seen.
    """

    verb = "events"
    after: int = 0


class AskInfo(Ask, frozen=True, kw_only=True):
    """Return the identity and the metrics of this node."""

    verb = "info"


class AskPeer(Ask, frozen=True, kw_only=True):
    """Add or remove an address that this node dials.

    Attributes:
        add: Address to add.
        remove: Address, or name of a node, to remove.
    """

    verb = "peer"
    add: str | None = None
    remove: str = msgspec.field(default="", name="rm")


class AskInbox(Ask, frozen=True, kw_only=True):
    """Release the inboxes of a client, so that another key can own them.

    Attributes:
        release: Name of the client.
    """

    verb = "inbox"
    release: str


class AskWeights(Ask, frozen=True, kw_only=True):
    """Return or set the weights of nodes.

    Attributes:
        set: New weights: a map of `made`, `expires` (ns since 1970), `weights` (`[WEIGHT, REASON]` by node)
            and optionally `cluster`.
        clear: Whether to remove the weights.
    """

    verb = "weights"
    set: object = None
    clear: bool = False


class AskQueueDeclare(Ask, frozen=True, kw_only=True):
    """Declare a queue.

    Attributes:
        name: Name of the queue.
        terms: Terms of the queue.
    """

    verb = "queue_declare"
    name: QueueName
    terms: Annotated[dict[str, Any], Meta(max_length=TERMS)] = {}


class AskQueueRemove(Ask, frozen=True, kw_only=True):
    """Remove a queue.

    Attributes:
        name: Name of the queue.
        if_unused: Whether to remove it only if it is empty and without consumers at all nodes.
    """

    verb = "queue_remove"
    name: QueueName
    if_unused: bool = True


class AskQueues(AskPage, frozen=True, kw_only=True):
    """List the queues.

    Attributes:
        here: Whether to count only messages at this node.
    """

    verb = "queue_ls"
    here: bool = False


class AskQueueInfo(Ask, frozen=True, kw_only=True):
    """Return the state of a queue.

    Attributes:
        name: Name of the queue.
        here: Whether to count only messages at this node.
    """

    verb = "queue_info"
    name: QueueName
    here: bool = False


class AskQueueWhy(Ask, frozen=True, kw_only=True):
    """Return why messages of a queue wait.

    Attributes:
        name: Name of the queue.
    """

    verb = "queue_why"
    name: QueueName


class AskQueuePeek(Ask, frozen=True, kw_only=True):
    """Return the next messages of a queue without consuming them.

    Attributes:
        name: Name of the queue.
        here: Whether to read only at this node.
        count: Number of messages.
    """

    verb = "queue_peek"
    name: QueueName
    here: bool = False
    count: Annotated[int, Meta(ge=1, le=PEEKED)] = 10


class AskQueuePurge(Ask, frozen=True, kw_only=True):
    """Discard all waiting messages of a queue.

    Attributes:
        name: Name of the queue.
        here: Whether to discard only at this node.
    """

    verb = "queue_purge"
    name: QueueName
    here: bool = False


class AskQueueMove(Ask, frozen=True, kw_only=True):
    """Move the next ready messages of a queue to another node.

    Attributes:
        name: Name of the queue.
        to: Name of the other node.
        count: Limit of messages.
    """

    verb = "queue_move"
    name: QueueName
    to: Name
    count: Annotated[int, Meta(ge=1, le=MOVED)] = MOVED


class AskQueueDrain(Ask, frozen=True, kw_only=True):
    """Move all queued messages of this node to other nodes.

    Attributes:
        do: `"look"`, `"begin"` or `"cancel"`.
    """

    verb = "queue_drain"
    do: Literal["look", "begin", "cancel"] = "look"


class AskDurable(Ask, frozen=True, kw_only=True):
    """Declare a durable subscription.

    Attributes:
        name: Name of the durable subscription.
        queries: Kind, text and domain of each query, 1 to 64.
    """

    verb = "durable"
    name: QueueName
    queries: Annotated[list[tuple[str, str, str]], Meta(max_length=TERMS)]


class AskDurableRemove(Ask, frozen=True, kw_only=True):
    """Remove a durable subscription.

    Attributes:
        name: Name of the durable subscription.
        if_unused: Whether to remove it only if it has no consumers at any node.
    """

    verb = "durable_remove"
    name: QueueName
    if_unused: bool = True


class AskTakers(Ask, frozen=True, kw_only=True):
    """Count the consumers of a queue at a node.

    Attributes:
        queue: Name of the queue.
    """

    verb = "takers"
    queue: QueueName


class AskRow(Ask, frozen=True, kw_only=True):
    """Store a shared row. The reply comes when it is on disk.

    Attributes:
        row: The row.
    """

    verb = "row"
    row: object


class AskRows(Ask, frozen=True, kw_only=True):
    """Return the next shared rows of one kind, in the order of stamp and name.

    Attributes:
        kind: Kind of the rows.
        stamp: Stamp of the last row already seen.
        name: Its name.
    """

    verb = "rows"
    kind: str
    stamp: int = -1
    name: str = ""


class AskState(Ask, frozen=True, kw_only=True):
    """Return the newest state that the receiver has of the sender."""

    verb = "state"


class AskLog(Ask, frozen=True, kw_only=True):
    """Set the level of a logger.

    Attributes:
        logger: Name of the logger. Empty: all.
        level: `"debug"`, `"info"`, `"warning"` or `"error"`.
    """

    verb = "log"
    logger: Name = ""
    level: Name


class AskBackup(Ask, frozen=True, kw_only=True):
    """Copy the data of the node into its directory. Only over the local socket."""

    verb = "backup"


class AskReload(Ask, frozen=True, kw_only=True):
    """Reload the configuration of the node."""

    verb = "reload"


class AskRules(Ask, frozen=True, kw_only=True):
    """Return the rules that all nodes share."""

    verb = "rules"


class AskRulesPut(Ask, frozen=True, kw_only=True):
    """Replace the rules that all nodes share.

    Attributes:
        row: Row with the rules, signed by the admin.
        was: Stamp of the rules that they replace.
        force: Whether to replace them although nodes are disconnected.
    """

    verb = "rules_put"
    row: object
    was: int
    force: bool = False


class AskDown(Ask, frozen=True, kw_only=True):
    """Stop the node."""

    verb = "down"


A = TypeVar("A", bound=Ask)


def arguments(ask: Ask) -> dict[str, Any]:
    """Return the arguments of the Call for this question."""
    said: dict[str, Any] = msgspec.to_builtins(ask, builtin_types=(bytes,))
    return said


def read_ask(shape: type[A], said: object) -> A:
    """Return the question of type `shape` with the arguments `said`. Raises: BadQuery if they are invalid."""
    try:
        return msgspec.convert(said, shape, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        text = f"The arguments of {shape.verb!r} are invalid: {error}."
        raise BadQuery(text, hint="See docs/wire.md.") from error
