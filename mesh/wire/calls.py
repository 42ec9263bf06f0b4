"""What is asked with a Call: the arguments of each verb. What is replied stands in replies.py.

All fields have names on the wire. Whoever asks may leave out what has a default, and may say more than is
known here.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from mesh.errors import BadQuery
from mesh.names import LONGEST_QUEUE

LONGEST = 64  # letters of a node's name

TERMS = 64  # of a declaration: more than there are
MOVED = 10_000  # messages that are moved at once, and
PEEKED = 100  # messages that are looked at at once

Name = Annotated[str, Meta(max_length=LONGEST)]
QueueName = Annotated[str, Meta(max_length=LONGEST_QUEUE)]


class Ask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The arguments of a question."""

    verb: ClassVar[str]


class Carried(Ask, frozen=True, kw_only=True):
    """The arguments of a question that nodes hand on."""

    visited: list[Name] = []  # nodes where it has been
    within: float = float("inf")  # s that whoever asks waits for the answer


class AskGet(Carried, frozen=True, kw_only=True):
    """The last values of topics."""

    verb = "get"
    kind: str  # these three are those of a Query
    text: str
    domain: str = ""
    fresh: bool = False  # not from a cache; of clients
    after: bool = False  # behind all messages that are on their way by now; of nodes


class AskErase(Carried, frozen=True, kw_only=True):
    """A topic that is to be forgotten. All but the first two are of nodes."""

    verb = "erase"
    key: str
    domain: str = ""
    stream: Annotated[bytes, Meta(max_length=16)] = b""  # these two name the event, everywhere
    number: int = 1
    sender: str = ""
    route: list[str] = []  # nodes by which it came
    copy: bool = False  # whoever asks has asked the other masters, too


class AskWhere(Carried, frozen=True, kw_only=True):
    """The way to a node: of clients its address, of nodes how many hops it is away."""

    verb = "where"
    node: str


class AskRoute(Carried, frozen=True, kw_only=True):
    """The question what would become of a message: a dry run."""

    verb = "route"
    key: str = ""
    domain: str = ""
    to: str = ""
    start: str = msgspec.field(default="", name="from")  # the node that is asked first
    copy: bool = False  # it goes to several masters, and this is one


class AskWhy(Carried, frozen=True, kw_only=True):
    """The question why something goes where it goes, or nowhere; `kind` is one of those of
    `mesh.reasons.what`. Nodes hand it on where not all are linked."""

    verb = "why"
    kind: str
    text: str
    domain: str = ""


class AskTree(Carried, frozen=True, kw_only=True):
    """The question how far each node is from the masters of a domain; "": which domains do rules name?"""

    verb = "tree"
    domain: str = ""


class AskPage(Ask, frozen=True, kw_only=True):
    """A part of a list: what comes behind that place, so many rows at most."""

    after: str = ""
    limit: int = 0


class AskNodes(AskPage, frozen=True, kw_only=True):
    """All nodes."""

    verb = "ls"


class AskPeers(AskPage, frozen=True, kw_only=True):
    """All addresses."""

    verb = "peers"


class AskAddresses(AskPage, frozen=True, kw_only=True):
    """All addresses that are served: of clients in the whole mesh, of nodes at the one that is asked."""

    verb = "addresses"


class AskFared(Ask, frozen=True, kw_only=True):
    """The question how what clients of this node send to addresses fares, by address."""

    verb = "fared"


class AskSites(AskPage, frozen=True, kw_only=True):
    """All other sites: of clients as all gateways see them, of nodes as the one that is asked does."""

    verb = "sites"


class AskSitePause(Ask, frozen=True, kw_only=True):
    """Another site, which is to be given nothing for now; or no longer so."""

    verb = "site_pause"
    site: Name
    pause: bool = True


class AskSiteSync(Ask, frozen=True, kw_only=True):
    """Another site, which is to be sent the last values of all topics that are for it."""

    verb = "site_sync"
    site: Name


class AskServers(Ask, frozen=True, kw_only=True):
    """The nodes to which a message to an address could go. Nothing is sent."""

    verb = "servers"
    address: str


class AskEvents(Ask, frozen=True, kw_only=True):
    """The question what has happened after the event of that number."""

    verb = "events"
    after: int = 0


class AskInfo(Ask, frozen=True, kw_only=True):
    """The question who a node is, and for its metrics."""

    verb = "info"


class AskPeer(Ask, frozen=True, kw_only=True):
    """An address that is to be dialled from now on, or to be forgotten."""

    verb = "peer"
    add: str | None = None
    remove: str = msgspec.field(default="", name="rm")


class AskInbox(Ask, frozen=True, kw_only=True):
    """A client whose inboxes whoever comes next may have."""

    verb = "inbox"
    release: str


class AskWeights(Ask, frozen=True, kw_only=True):
    """The weights of nodes: without arguments they are read. `set` is looked at by `mesh.weightset`."""

    verb = "weights"
    set: object = None
    clear: bool = False


class AskQueueDeclare(Ask, frozen=True, kw_only=True):
    """A queue that is to be there. `terms` are looked at by `mesh.queues.declared.definition`."""

    verb = "queue_declare"
    name: QueueName
    terms: Annotated[dict[str, Any], Meta(max_length=TERMS)] = {}


class AskQueueRemove(Ask, frozen=True, kw_only=True):
    """A queue that is to be there no more."""

    verb = "queue_remove"
    name: QueueName
    if_unused: bool = True  # only if nothing waits in it, and nobody takes from it


class AskQueues(AskPage, frozen=True, kw_only=True):
    """All queues. `here`: what is in them at that node alone."""

    verb = "queue_ls"
    here: bool = False


class AskQueueInfo(Ask, frozen=True, kw_only=True):
    """A queue, and what is in it. `here`: at that node alone."""

    verb = "queue_info"
    name: QueueName
    here: bool = False


class AskQueueWhy(Ask, frozen=True, kw_only=True):
    """Why something waits in a queue."""

    verb = "queue_why"
    name: QueueName


class AskQueuePeek(Ask, frozen=True, kw_only=True):
    """The next messages of a queue. They stay where they are. `here`: those at that node alone."""

    verb = "queue_peek"
    name: QueueName
    here: bool = False
    count: Annotated[int, Meta(ge=1, le=PEEKED)] = 10


class AskQueuePurge(Ask, frozen=True, kw_only=True):
    """A queue of which all that waits is to be thrown away. `here`: at that node alone."""

    verb = "queue_purge"
    name: QueueName
    here: bool = False


class AskQueueMove(Ask, frozen=True, kw_only=True):
    """Messages of a queue that are to wait at another node: the next ones that are ready, so many at most."""

    verb = "queue_move"
    name: QueueName
    to: Name
    count: Annotated[int, Meta(ge=1, le=MOVED)] = MOVED


class AskQueueDrain(Ask, frozen=True, kw_only=True):
    """A node whose queues are to be drained into those of other nodes, or no more; or how far it is."""

    verb = "queue_drain"
    do: Literal["look", "begin", "cancel"] = "look"


class AskDurable(Ask, frozen=True, kw_only=True):
    """A durable subscription that is to be there. `queries`, as kind, text and domain, are looked at by
    `mesh.queues.declared.durable`."""

    verb = "durable"
    name: QueueName
    queries: Annotated[list[tuple[str, str, str]], Meta(max_length=TERMS)]


class AskDurableRemove(Ask, frozen=True, kw_only=True):
    """A durable subscription that is to be there no more."""

    verb = "durable_remove"
    name: QueueName
    if_unused: bool = True  # only if it is known that nobody takes from it, at any node


class AskTakers(Ask, frozen=True, kw_only=True):
    """How many take from a queue at a node."""

    verb = "takers"
    queue: QueueName


class AskRow(Ask, frozen=True, kw_only=True):
    """A row that all nodes share, for one that is to have it now. It is answered when that has it on disk."""

    verb = "row"
    row: object


class AskRows(Ask, frozen=True, kw_only=True):
    """Rows that all nodes share: those of a kind, in the order of stamp and name, behind that place."""

    verb = "rows"
    kind: str
    stamp: int = -1
    name: str = ""


class AskState(Ask, frozen=True, kw_only=True):
    """The newest state that a node has of whoever asks."""

    verb = "state"


class AskLog(Ask, frozen=True, kw_only=True):
    """A level that a logger is to have from now on; "": all of them."""

    verb = "log"
    logger: Name = ""
    level: Name


class AskBackup(Ask, frozen=True, kw_only=True):
    """A copy of all that a node keeps, which it makes in its own directory."""

    verb = "backup"


class AskReload(Ask, frozen=True, kw_only=True):
    """The configuration of a node, which is to be read again."""

    verb = "reload"


class AskRules(Ask, frozen=True, kw_only=True):
    """The rules that all nodes share, and those of this one."""

    verb = "rules"


class AskRulesPut(Ask, frozen=True, kw_only=True):
    """Rules for all nodes, in a row that the admin has signed, in the place of those with the stamp `was`.
    `force`: also while nodes are away."""

    verb = "rules_put"
    row: object
    was: int
    force: bool = False


class AskDown(Ask, frozen=True, kw_only=True):
    """The end of a node."""

    verb = "down"


A = TypeVar("A", bound=Ask)


def arguments(ask: Ask) -> dict[str, Any]:
    """The arguments of the Call that puts this question."""
    said: dict[str, Any] = msgspec.to_builtins(ask, builtin_types=(bytes,))
    return said


def read_ask(shape: type[A], said: object) -> A:
    """The question that was asked. BadQuery for what the verb cannot be asked."""
    try:
        return msgspec.convert(said, shape, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        text = f"{shape.verb!r} cannot be asked like that: {error}."
        raise BadQuery(text, hint="See docs/wire.md.") from error
