"""What a Reply says to each verb: its value. What is asked stands in calls.py. Times are in seconds."""

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from mesh.errors import RemoteError
from mesh.wire.calls import Name

Source = tuple[Name, float | None, bytes]  # node, age (None: current), uuid of the master
Figures = dict[str, int | float]


class ReplyValue(Struct, frozen=True, kw_only=True):
    """The value of a Reply, to a verb that says nothing; of the others below."""


class Values(ReplyValue, frozen=True, kw_only=True):
    """Last values, which follow as envelopes; a node says of each whose it is."""

    more: bool = False  # of them come in further replies
    missing: list[str] = []  # nodes that did not answer
    away: list[str] = []  # masters that cannot be reached
    sources: list[Source] = []


class ClientValues(ReplyValue, frozen=True, kw_only=True):
    """The same for clients."""

    more: bool
    missing: list[str]
    sources: list[tuple[str, float | None]]  # node, age
    away: list[str] = []


class Erased(ReplyValue, frozen=True, kw_only=True):
    """Was there such a topic, and which masters cannot be reached, or what keeps them from it?"""

    erased: bool = False
    away: list[str] = []


class ClientErased(ReplyValue, frozen=True, kw_only=True):
    """The same for clients."""

    erased: list[str]


class Hops(ReplyValue, frozen=True, kw_only=True):
    """The number of hops to a node; -1: nobody knows."""

    hops: int = -1


class Address(ReplyValue, frozen=True, kw_only=True):
    """The address at which a program can dial a node; "": nobody knows."""

    address: str


class Step(Struct, frozen=True, kw_only=True):
    """The step that one node would take. `code` and `state`: of a refusal, or of how the next node stands."""

    node: str = ""
    decision: str = ""
    next: str = ""
    why: str = ""
    code: str = ""
    state: str = ""


class Steps(ReplyValue, frozen=True, kw_only=True):
    """The steps that the nodes on the way would take."""

    steps: list[Step] = []


class TreeRow(Struct, frozen=True, kw_only=True):
    """How far one node is from the master of a domain: by that way, itself first, the master last, over which
    a message takes so long. `by`: its own claim. `broken`: the nodes whom it might ask, and what keeps it."""

    node: str = ""
    stratum: int = -1  # -1: there is no way
    way: list[str] = []
    latency: float = 0.0
    by: str = ""
    broken: list[tuple[str, str]] = []


class Tree(ReplyValue, frozen=True, kw_only=True):
    """The distances of all nodes that answered; or the domains that rules name."""

    domain: str = ""
    rows: list[TreeRow] = []
    domains: list[str] = []
    missing: list[str] = []  # nodes that did not answer


class Reason(Struct, frozen=True, kw_only=True):
    """Why something goes where it goes, or nowhere, as one room of one node sees it.

    `code` names it, `says` and `hint` are its words. `rank`: it is a "cause", "perhaps" one, or says how
    things are: a "state". `about`: nodes.
    """

    node: str = ""
    room: str = ""
    code: str = ""
    rank: str = ""
    says: str = ""
    hint: str = ""
    about: list[str] = []

    @property
    def is_cause(self) -> bool:
        """Does it keep what was asked for from getting there?"""
        return self.rank == "cause"


class Reasons(ReplyValue, frozen=True, kw_only=True):
    """Reasons, causes first; from a node, its own."""

    reasons: list[Reason] = []
    missing: list[str] = []  # nodes that did not answer


class ReloadTold(ReplyValue, frozen=True, kw_only=True):
    """The differences from before: lines on what counts now, and names of what counts after a restart."""

    now: list[str] = []
    later: list[str] = []


class RulesTold(ReplyValue, frozen=True, kw_only=True):
    """The rules that all share, as `mesh.mapping.agreed` reads them, with their stamp, when that was in ns
    since 1970, and one for newer ones. `own`: those of this node's settings, likewise; b"" if they are too
    long. `admin`: whose signature they want, b"" without keys; `keys`: the mesh has keys; `signature`: of the
    row, with which whoever builds on them sees whose they are. `behind`: nodes that do not go by them yet.
    `changing`: nor does this one. `refused`: why it does not."""

    value: bytes
    stamp: int
    next: int
    own: bytes = b""
    keys: bool = False
    admin: bytes = b""
    signature: bytes = b""
    behind: list[str] = []
    changing: bool = False
    refused: str = ""


class RulesPut(ReplyValue, frozen=True, kw_only=True):
    """Nodes that did not say in time that they have them, and those that are away."""

    missing: list[str] = []
    away: list[str] = []


class Changed(ReplyValue, frozen=True, kw_only=True):
    """Was it otherwise before?"""

    changed: bool


class Released(ReplyValue, frozen=True, kw_only=True):
    """Names of inboxes."""

    released: list[str]


class WeightsRead(ReplyValue, frozen=True, kw_only=True):
    """The set of weights that a node has. Times are ns since 1970."""

    stamp: int
    made: int
    expires: int
    by: str
    weights: dict[str, tuple[float, str]]  # by node: how much it counts, and why
    expired: bool
    behind: list[str]  # nodes that do not have it yet; some
    strategy: str  # of this node's balancer


class Applied(ReplyValue, frozen=True, kw_only=True):
    """The stamp of what was applied; nodes that it names and nobody has met, some."""

    stamp: int
    unknown: list[str] = []


class WeightsTold(ReplyValue, frozen=True, kw_only=True, omit_defaults=True):
    """A whole set, as `mesh.weightset` reads it; nothing where there is none."""

    set: object = None


class Takers(ReplyValue, frozen=True):
    """How many take from a queue at a node, and what is in it."""

    takers: int = 0
    messages: int = 0


class RowsTold(ReplyValue, frozen=True, kw_only=True):
    """Rows, as `mesh.shared.row` reads them: the next few; none: that were all."""

    rows: list[object] = []


class StateTold(ReplyValue, frozen=True, kw_only=True, omit_defaults=True):
    """A line of gossip, as `discovery.gossip` reads it; nothing where there is none."""

    line: object = None


class Opened(ReplyValue, frozen=True, kw_only=True):
    """An epoch that has begun for somebody who serves an address or takes from a queue.

    `void`: counts of what he said he still had, and has no more: first, last, first, last, …
    """

    epoch: int
    void: list[int] = []


Late = list[tuple[int, int, str]]  # counts first to last that were not settled, and the code that says why


class QueuePart(Struct, frozen=True, kw_only=True):
    """What is in a queue at one node, as in QueueRow."""

    node: Name
    ready: int = 0
    out: int = 0
    delayed: int = 0
    going: int = 0
    bytes: int = 0
    consumers: int = 0
    oldest: float = 0.0
    arrives: float = 0.0
    leaves: float = 0.0
    dead: int = 0
    as_of: float = 0.0  # s ago, of a node that is away: it is in no sum


class QueueRow(ReplyValue, frozen=True, kw_only=True):
    """A queue, and what is in all its parts; from a node, what is in its own."""

    name: str
    terms: dict[str, Any] = {}  # as declared, read by `mesh.queues.declared.definition`
    queries: list[tuple[str, str, str]] = []  # of a durable subscription: what comes into it
    ready: int = 0  # messages that wait for somebody,
    out: int = 0  # that somebody has, or may come back for after a restart,
    delayed: int = 0  # that must not be given out yet,
    going: int = 0  # and that are on their way to another node
    bytes: int = 0  # of all of these
    consumers: int = 0
    oldest: float = 0.0  # age of the oldest that waits
    arrives: float = 0.0  # messages a second, over 10 s,
    leaves: float = 0.0  # and that are done
    dead: int = 0  # messages, since the node began: given up,
    acked: int = 0  # done,
    redelivered: int = 0  # and given out once more
    in_vain: int = 0  # messages that a consumer's selector has met in vain, if that is many,
    looks_on: bool = False  # and does it look on?
    node: Name = ""  # that was asked
    parts: list[QueuePart] = []  # of the nodes where something is, or somebody takes; and of that one
    missing: list[str] = []  # nodes that did not answer,
    away: list[str] = []  # and that are away, and had something in their queues


class QueueRows(ReplyValue, frozen=True, kw_only=True):
    """Queues in the order of their names. `more`: the place behind which to go on; "": that is all."""

    queues: list[QueueRow] = []
    more: str = ""
    missing: list[str] = []  # nodes that did not answer,
    away: list[str] = []  # and that are away, and had something in their queues


class WhyRow(Struct, frozen=True, kw_only=True):
    """So many messages of a queue are at a node, and why they are not done."""

    node: Name
    messages: int
    why: str
    is_cause: bool = False  # nobody would take them as things are


class QueueWhy(ReplyValue, frozen=True, kw_only=True):
    """Why messages of a queue wait, and where."""

    rows: list[WhyRow] = []
    missing: list[str] = []  # nodes that did not answer


class Removed(ReplyValue, frozen=True, kw_only=True):
    """The number of messages that were in what was removed."""

    removed: int


class Peeked(ReplyValue, frozen=True, kw_only=True):
    """The next messages of a queue, which follow as envelopes. `tries`: of each, how often it was given to
    somebody."""

    tries: list[int] = []
    more: bool = False  # of them come in further replies
    missing: list[str] = []  # nodes that did not answer


class Purged(ReplyValue, frozen=True, kw_only=True):
    """The number of messages that were thrown away."""

    purged: int = 0
    missing: list[str] = []  # nodes that did not answer,
    away: list[str] = []  # and that are away, and had something in their queues


class MovedOn(ReplyValue, frozen=True, kw_only=True):
    """The fate of messages that were to move to another node."""

    taken: int = 0  # it has these,
    refused: int = 0  # it did not take these: they are where they were;
    going: int = 0  # and of these it has not said yet what became of them
    rest: bool = False  # others are ready that could follow


class QueueReason(Struct, frozen=True, kw_only=True):
    """So many messages of a queue are still at a node that is drained, and why."""

    queue: str
    messages: int
    why: str


class Drain(ReplyValue, frozen=True, kw_only=True):
    """The drain of a node's queues into those of other nodes."""

    drains: bool = False  # is it under way, or over? False: nobody has begun it
    left: int = 0  # messages that are still to go, at all,
    rows: list[QueueReason] = []  # of the longest queues;
    gone: int = 0  # that other nodes have taken since it began, or since this process did;
    stay: int = 0  # and that stay: in queues of this node alone,
    own: list[str] = []  # which have these names


# --- lists ------------------------------------------------------------------------------------------------


class Depth(Struct, frozen=True, kw_only=True):
    """The depth of what waits for a node: messages, their bytes, and the age of the oldest."""

    messages: int = 0
    bytes: int = 0
    age: float = 0.0


class Gossiped(Struct, frozen=True, kw_only=True):
    """The figures that a node gossips of itself; None where nothing is known."""

    cpu: float | None = None
    state_age: float | None = None
    up: float | None = None
    waiting: int | None = None
    ram_free: int | None = None
    ram_total: int | None = None
    load: float | None = None
    lag: float | None = None
    software: str | None = None
    published: float | None = None
    delivered: float | None = None
    pending: int | None = None
    sessions: int | None = None
    links: int | None = None
    queued: int | None = None
    consumers: int | None = None


class NodeRow(Gossiped, frozen=True, kw_only=True):
    """A node, as another sees it."""

    name: str
    uuid: str  # in hexadecimal digits
    boot: int
    address: str
    via: str
    state: str
    link: str
    data: bool  # is there a data connection?
    rtt: float
    age: float
    tailback: Depth


class NodeRows(ReplyValue, frozen=True, kw_only=True):
    """Nodes in the order of their names, and what else the list says."""

    nodes: list[NodeRow]
    next: str  # the place behind which to go on; "": that is all
    scope: str
    links: str
    near: list[tuple[str, str]]  # nodes of other meshes: name, address
    unknown: Depth  # what waits for nodes that are not in the list
    keys: bool
    has_sites: bool = False  # this node's file names other sites


class PeerRow(Struct, kw_only=True):
    """An address, and who is there."""

    address: str
    kind: str
    node: str
    seen: float | None = None  # how long ago
    why: str = ""  # the last attempt came to nothing
    tried: float | None = None  # how long ago
    state: str = ""


class PeerRows(ReplyValue, frozen=True, kw_only=True):
    """Addresses in their order."""

    peers: list[PeerRow]
    next: str  # as in NodeRows


class ServedAt(Struct, frozen=True, kw_only=True):
    """A node where an address is served, and by how many."""

    node: str
    uuid: str  # in hexadecimal digits
    consumers: int


class ServedRow(Struct, frozen=True, kw_only=True):
    """An address, and all nodes where it is served."""

    address: str
    nodes: list[ServedAt]


class ServedRows(ReplyValue, frozen=True, kw_only=True):
    """Addresses in their order."""

    addresses: list[ServedRow] = []
    next: str = ""  # as in NodeRows
    missing: list[str] = []  # nodes that did not say


class FaredRow(Struct, frozen=True, kw_only=True):
    """The fate of what clients of a node sent to an address, since its start or since it is told."""

    address: str
    sent: int = 0  # that somebody has, and that want no reply
    requests: int = 0  # that somebody has, or that failed
    replies: int = 0
    failures: int = 0
    seconds: float = 0.0  # that the replies took, all together


class FaredRows(ReplyValue, frozen=True, kw_only=True):
    """The busiest addresses in their order, and `other`: all the others together."""

    addresses: list[FaredRow] = []


class SiteLink(Struct, frozen=True, kw_only=True):
    """A node here that is a gateway, and how it stands with another site."""

    node: str
    gateways: list[str] = []  # of the other site that are connected with it
    state: str = ""  # as `link` in NodeRow
    why: str = ""  # one side does not want the other


class SiteRow(Struct, frozen=True, kw_only=True):
    """Another site."""

    site: str
    state: Literal["up", "down", "unreachable"]
    since: float | None  # s; None: no gateway here can be asked
    count: int = 0  # of nodes there that are alive
    nodes: list[str] = []  # their names, gateways first; at most 1,000
    links: list[SiteLink] = []
    waiting: Depth = Depth()  # what is kept for it here, at all masters together
    paused: bool = False  # it is given nothing for now
    lacks: int = 0  # messages for which there was no room at their masters, since it had a transfer


class SiteRows(ReplyValue, frozen=True, kw_only=True):
    """Other sites, in the order of their names."""

    site: str = ""  # that this mesh is; "": it is none
    sites: list[SiteRow] = []
    next: str = ""  # as in NodeRows
    missing: list[str] = []  # gateways that did not say


class SitePaused(ReplyValue, frozen=True, kw_only=True):
    """Whether that was news."""

    changed: bool


class SiteSync(ReplyValue, frozen=True, kw_only=True):
    """The nodes that send what they are masters of, and those that did not say so."""

    nodes: list[str] = []
    missing: list[str] = []


class ServerRow(ServedAt, frozen=True, kw_only=True):
    """A node to which a message to an address could go, as its strategy sees it."""

    is_here: bool
    load: float | None  # 0 (idle) to 1 (busy), as it says itself
    outstanding: int  # what went there from here, and nobody there has begun with
    latency: float  # until somebody has, of late
    weight: float


class Servers(ReplyValue, frozen=True, kw_only=True):
    """The nodes, in the order in which they would be chosen, unless that depends on the message."""

    servers: list[ServerRow]
    strategy: str
    is_ordered: bool
    text: str = ""  # why there is none


class EventRow(Struct, frozen=True, kw_only=True):
    """Something that has happened."""

    number: int
    wall: int  # ns since 1970
    kind: str
    node: str
    uuid: str  # in hexadecimal digits
    boot: int
    text: str


class EventRows(ReplyValue, frozen=True, kw_only=True):
    """Events, the oldest first."""

    events: list[EventRow]
    next: int  # the number behind which to go on
    boot: int


class Process(Struct, frozen=True, kw_only=True):
    """The figures of a node's process."""

    uptime: float = 0.0
    pid: int = 0
    data: str = ""  # its data directory
    ipc: str = ""  # where programs on its machine dial it
    lag_p99: float = 0.0  # of its event loop
    lag_worst: float = 0.0
    snapshots: Figures = {}
    disk: Figures = {}
    log: dict[str, str] = {}  # the level of each logger


class Info(ReplyValue, frozen=True, kw_only=True):
    """The identity of a node, and its metrics."""

    name: str
    uuid: str  # in hexadecimal digits
    boot: int
    address: str
    cluster: str
    software: str
    scope: str
    uptime: float  # the next nine are those of Process
    pid: int
    data: str
    ipc: str
    lag_p99: float
    lag_worst: float
    snapshots: Figures
    disk: Figures
    log: dict[str, str] = {}
    metrics: Figures


R = TypeVar("R", bound=ReplyValue)


def read_result(shape: type[R], said: object) -> R:
    """The value of a reply; RemoteError MALFORMED for anything else."""
    try:
        return msgspec.convert(said, shape, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise RemoteError(f"a reply that cannot be read: {error}", code="MALFORMED") from error


def read_late(said: object) -> Late:
    """The reply to SETTLE; RemoteError MALFORMED for anything else."""
    try:
        return msgspec.convert(said, Late)
    except msgspec.ValidationError as error:
        raise RemoteError(f"a reply that cannot be read: {error}", code="MALFORMED") from error
