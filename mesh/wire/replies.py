"""The values of replies to questions. The questions are in calls.py. Times are in seconds."""

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from mesh.errors import RemoteError
from mesh.wire.calls import Name

Source = tuple[Name, float | None, bytes]  # node, age (None: current), uuid of the master
Figures = dict[str, int | float]


class ReplyValue(Struct, frozen=True, kw_only=True):
    """The value of a reply. Without fields: the verb has no value."""


class Values(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: retained values, which follow as envelopes with flag 4.

    Attributes:
        more: Whether another REPLY to the same request follows.
        missing: Names of nodes that did not answer in time.
        away: Names of masters that are unreachable.
        sources: For each envelope: node, seconds since its master was reachable (`nil`: it is current), id of
            the master.
    """

    more: bool = False
    missing: list[str] = []
    away: list[str] = []
    sources: list[Source] = []


class ClientValues(ReplyValue, frozen=True, kw_only=True):
    """Retained values, which follow as envelopes with flag 4.

    Attributes:
        more: Whether another REPLY to the same request follows.
        missing: Names of nodes that did not answer in time, at most 256.
        sources: For each envelope: node, seconds since its master was reachable (`nil`: it is current).
        away: Always empty.
    """

    more: bool
    missing: list[str]
    sources: list[tuple[str, float | None]]
    away: list[str] = []


class Erased(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: the result of an erasure.

    Attributes:
        erased: Whether the topic existed.
        away: Names of masters that are unreachable, or reasons why they cannot erase it.
    """

    erased: bool = False
    away: list[str] = []


class ClientErased(ReplyValue, frozen=True, kw_only=True):
    """The result of an erasure.

    Attributes:
        erased: The key, or nothing if there was no such topic.
    """

    erased: list[str]


class Hops(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: the distance of a node.

    Attributes:
        hops: Number of hops. -1: unreachable.
    """

    hops: int = -1


class Address(ReplyValue, frozen=True, kw_only=True):
    """The address of a node.

    Attributes:
        address: Address to dial. Empty: not known, or the node accepts no connections.
    """

    address: str


class Step(Struct, frozen=True, kw_only=True):
    """The step of one node on a route.

    Attributes:
        node: Name of the node.
        decision: `"here"`, `"forward"`, `"wait"`, `"refuse"`, or `"unknown"` if it did not answer.
        next: Name of the next node, or `site/NAME`. Several masters are separated by commas.
        why: Reason, in words.
        code: Code of a refusal.
        state: State of the link to the next node.
    """

    node: str = ""
    decision: str = ""
    next: str = ""
    why: str = ""
    code: str = ""
    state: str = ""


class Steps(ReplyValue, frozen=True, kw_only=True):
    """A route.

    Attributes:
        steps: One step for each node, at most 128.
    """

    steps: list[Step] = []


class TreeRow(Struct, frozen=True, kw_only=True):
    """The route of one node to the master of a domain.

    Attributes:
        node: Name of the node.
        stratum: Number of hops. -1: there is no route.
        way: Names of the nodes on the route, this one first, the master last.
        latency: Latency of a message on it, in s.
        by: Claim of the node by its rules.
        broken: Names of candidate next hops that have no route, each with the reason.
    """

    node: str = ""
    stratum: int = -1
    way: list[str] = []
    latency: float = 0.0
    by: str = ""
    broken: list[tuple[str, str]] = []


class Tree(ReplyValue, frozen=True, kw_only=True):
    """Distances of the nodes from a master.

    Attributes:
        domain: Name of the domain.
        rows: One row for each node that answered, at most 1,000.
        domains: Without a domain: the domains that rules name.
        missing: Names of nodes that did not answer within 2 s.
    """

    domain: str = ""
    rows: list[TreeRow] = []
    domains: list[str] = []
    missing: list[str] = []


class Reason(Struct, frozen=True, kw_only=True):
    """A reason for the state of something, as one component of one node reports it.

    Attributes:
        node: Name of the node.
        room: Name of the component.
        code: Code of the reason.
        rank: `"cause"`, `"perhaps"` or `"state"`.
        says: Reason, in words.
        hint: What the user can do.
        about: Names of nodes that it is about.
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
        return self.rank == "cause"


class Reasons(ReplyValue, frozen=True, kw_only=True):
    """Reasons, causes first.

    Attributes:
        reasons: The reasons, at most 200.
        missing: Names of nodes that did not answer within 2 s.
    """

    reasons: list[Reason] = []
    missing: list[str] = []


class ReloadTold(ReplyValue, frozen=True, kw_only=True):
    """The changes of a reloaded configuration.

    Attributes:
        now: Changes that are in effect.
        later: Names of settings that take effect after a restart.
    """

    now: list[str] = []
    later: list[str] = []


class RulesTold(ReplyValue, frozen=True, kw_only=True):
    """The rules that all nodes share. Stamps are in ns since 1970; empty and 0: there are none.

    Attributes:
        value: Encoded rules.
        stamp: Stamp of their row.
        next: Stamp for a newer row.
        own: Rules of this node's settings, encoded. Empty: none, or too long.
        keys: Whether the mesh has keys.
        admin: Public key of the admin.
        signature: Signature of the row.
        behind: Names of nodes that do not apply the rules yet, at most 16.
        changing: Whether this node is about to apply them.
        refused: Why this node does not apply them.
    """

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
    """Nodes that do not have the new rules yet.

    Attributes:
        missing: Names of nodes that did not answer within 2 s, at most 16.
        away: Names of disconnected nodes, at most 16.
    """

    missing: list[str] = []
    away: list[str] = []


class Changed(ReplyValue, frozen=True, kw_only=True):
    """The result of a change.

    Attributes:
        changed: Whether the call changed anything.
    """

    changed: bool


class Released(ReplyValue, frozen=True, kw_only=True):
    """Released inboxes.

    Attributes:
        released: Their names.
    """

    released: list[str]


class WeightsRead(ReplyValue, frozen=True, kw_only=True):
    """The weights of nodes. Times are in ns since 1970.

    Attributes:
        stamp: Stamp of the weights. 0: there are none.
        made: Time at which they were made.
        expires: Time at which they expire.
        by: Session that set them.
        weights: By node: weight and reason.
        expired: Whether they are ignored because they have expired.
        behind: Names of nodes that do not have them yet, at most 16.
        strategy: Balancer of this node.
    """

    stamp: int
    made: int
    expires: int
    by: str
    weights: dict[str, tuple[float, str]]
    expired: bool
    behind: list[str]
    strategy: str


class Applied(ReplyValue, frozen=True, kw_only=True):
    """The result of setting weights.

    Attributes:
        stamp: Stamp of the new weights.
        unknown: Names in them of nodes that this node never met, at most 16.
    """

    stamp: int
    unknown: list[str] = []


class WeightsTold(ReplyValue, frozen=True, kw_only=True, omit_defaults=True):
    """Between nodes: the weights of nodes.

    Attributes:
        set: `[STAMP, MADE, EXPIRES, BY, WEIGHTS]`, or nothing.
    """

    set: object = None


class Takers(ReplyValue, frozen=True):
    """Between nodes: the use of a queue at a node.

    Attributes:
        takers: Number of consumers.
        messages: Number of messages.
    """

    takers: int = 0
    messages: int = 0


class RowsTold(ReplyValue, frozen=True, kw_only=True):
    """Between nodes: shared rows.

    The value of `weights` is the list in WeightsTold. That of `durable` is a map with `queries`: kind, text
    and domain of each, in the order of domain, text and kind. That of `rules` is a map: `nodes` has for each
    node `rules` and `allowed`, `base` is the stamp of the rules before, and `by` their author.

    Attributes:
        rows: The next rows, at most 64. None: these were all.
    """

    rows: list[object] = []


class StateTold(ReplyValue, frozen=True, kw_only=True, omit_defaults=True):
    """Between nodes: the state of the node that asks.

    Attributes:
        line: A StateLine, or nothing.
    """

    line: object = None


class Opened(ReplyValue, frozen=True, kw_only=True):
    """The new epoch of a consumer.

    Attributes:
        epoch: Number of the epoch.
        void: Delivery tags of `held` that the client does not have any longer: first, last, …
    """

    epoch: int
    void: list[int] = []


Late = list[tuple[int, int, str]]  # first and last unsettled tag, code of the reason


class QueuePart(Struct, frozen=True, kw_only=True):
    """The messages of a queue at one node. Fields as in QueueRow.

    Attributes:
        node: Name of the node.
        ready: Ready messages.
        out: Outstanding messages.
        delayed: Delayed messages.
        going: Messages in transit to another node.
        bytes: Bytes of all of them.
        consumers: Number of consumers.
        oldest: Age of the oldest ready message, in s.
        arrives: Messages a second that arrive, over 10 s.
        leaves: Messages a second that are done, over 10 s.
        dead: Messages dead-lettered since the node started.
        as_of: Of a disconnected node: age of these figures in s. They are in no sum.
    """

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
    as_of: float = 0.0


class QueueRow(ReplyValue, frozen=True, kw_only=True):
    """A queue, with the sums over its parts; from a node, its own part.

    Attributes:
        name: Name of the queue.
        terms: Terms, as declared.
        queries: Of a durable subscription: kind, text and domain of each query.
        ready: Ready messages.
        out: Outstanding messages.
        delayed: Delayed messages.
        going: Messages in transit to another node.
        bytes: Bytes of all of them.
        consumers: Number of consumers.
        oldest: Age of the oldest ready message, in s.
        arrives: Messages a second that arrive, over 10 s.
        leaves: Messages a second that are done, over 10 s.
        dead: Messages dead-lettered since the node started.
        acked: Messages done since the node started.
        redelivered: Messages redelivered since the node started.
        in_vain: Messages that a selector of a consumer scanned without a match, if 10,000 or more.
        looks_on: Whether the scan continues.
        node: Name of the node that was asked.
        parts: One row for each node with messages or consumers, for the node that was asked, and for each
            disconnected node whose figures are known.
        missing: Names of nodes that did not answer.
        away: Names of disconnected nodes that had queued messages.
    """

    name: str
    terms: dict[str, Any] = {}
    queries: list[tuple[str, str, str]] = []
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
    acked: int = 0
    redelivered: int = 0
    in_vain: int = 0
    looks_on: bool = False
    node: Name = ""
    parts: list[QueuePart] = []
    missing: list[str] = []
    away: list[str] = []


class QueueRows(ReplyValue, frozen=True, kw_only=True):
    """Queues, in the order of their names.

    Attributes:
        queues: One row for each queue.
        more: Value of `after` for the next page. Empty: this was the last.
        missing: Names of nodes that did not answer.
        away: Names of disconnected nodes that had queued messages.
    """

    queues: list[QueueRow] = []
    more: str = ""
    missing: list[str] = []
    away: list[str] = []


class WhyRow(Struct, frozen=True, kw_only=True):
    """Messages of a queue at one node, and why they wait.

    Attributes:
        node: Name of the node.
        messages: Number of messages.
        why: Reason, in words.
        is_cause: Whether no consumer at the node matches them, and they do not move.
    """

    node: Name
    messages: int
    why: str
    is_cause: bool = False


class QueueWhy(ReplyValue, frozen=True, kw_only=True):
    """Why messages of a queue wait.

    Attributes:
        rows: One row for each node and reason.
        missing: Names of nodes that did not answer.
    """

    rows: list[WhyRow] = []
    missing: list[str] = []


class Removed(ReplyValue, frozen=True, kw_only=True):
    """The result of a removal.

    Attributes:
        removed: Number of messages that were removed.
    """

    removed: int


class Peeked(ReplyValue, frozen=True, kw_only=True):
    """Next messages of a queue, which follow as envelopes.

    Attributes:
        tries: For each message the number of its earlier deliveries.
        more: Whether another REPLY to the same request follows.
        missing: Names of nodes that did not answer.
    """

    tries: list[int] = []
    more: bool = False
    missing: list[str] = []


class Purged(ReplyValue, frozen=True, kw_only=True):
    """The result of a purge.

    Attributes:
        purged: Number of messages that were discarded.
        missing: Names of nodes that did not answer.
        away: Names of disconnected nodes that had queued messages.
    """

    purged: int = 0
    missing: list[str] = []
    away: list[str] = []


class MovedOn(ReplyValue, frozen=True, kw_only=True):
    """The result of a move, at most 5 s later.

    Attributes:
        taken: Messages that the other node has accepted.
        refused: Messages that it refused. They stay.
        going: Messages without an answer yet.
        rest: Whether more ready messages could follow.
    """

    taken: int = 0
    refused: int = 0
    going: int = 0
    rest: bool = False


class QueueReason(Struct, frozen=True, kw_only=True):
    """Messages of a queue that are still at a drained node.

    Attributes:
        queue: Name of the queue.
        messages: Number of messages.
        why: Reason, in words.
    """

    queue: str
    messages: int
    why: str


class Drain(ReplyValue, frozen=True, kw_only=True):
    """The drain of a node's queues.

    Attributes:
        drains: Whether it has begun.
        left: Messages that are still to move.
        rows: The 20 longest queues.
        gone: Messages that other nodes have accepted.
        stay: Messages in queues of this node alone. They stay.
        own: Names of the queues that stay.
    """

    drains: bool = False
    left: int = 0
    rows: list[QueueReason] = []
    gone: int = 0
    stay: int = 0
    own: list[str] = []


# --- lists ------------------------------------------------------------------------------------------------


class Depth(Struct, frozen=True, kw_only=True):
    """Waiting messages.

    Attributes:
        messages: Number of messages.
        bytes: Their bytes.
        age: Age of the oldest, in s.
    """

    messages: int = 0
    bytes: int = 0
    age: float = 0.0


class Gossiped(Struct, frozen=True, kw_only=True):
    """The figures that a node gossips about itself. `nil`: not known.

    Attributes:
        cpu: CPU use over all cores, in percent.
        state_age: Age of the last state, in s.
        up: Seconds since its start.
        waiting: Messages that wait there for unreachable masters.
        ram_free: Free memory, in bytes.
        ram_total: Memory, in bytes.
        load: Load, 0 to 1.
        lag: Delay of its event loop, in s.
        software: Name and version of its software.
        published: Messages a second accepted as their master.
        delivered: Messages a second delivered to its clients.
        pending: Messages that wait for subscribers.
        sessions: Number of sessions.
        links: Number of nodes that it is logged in to.
        queued: Messages in its queues.
        consumers: Consumers of its queues.
    """

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
    """A node, as another one sees it.

    Attributes:
        name: Name of the node.
        uuid: Its id, in hexadecimal.
        boot: Its boot.
        address: Address at which it was or can be reached.
        via: Source: `"self"`, `"mdns"`, `"seed"`, `"remembered"`, `"gossip"` or `"hello"`.
        state: `"alive"`, `"suspect"`, `"dead"`, `"left"`, `"seen"` or `"conflict"`.
        link: State of the link, in words. Empty for a node that is dead or left, unless one side refuses the
            link.
        data: Whether there is a data connection.
        rtt: Round-trip time, in s. 0: not measured.
        age: Seconds since its last message.
        tailback: Messages that wait here for it.
    """

    name: str
    uuid: str
    boot: int
    address: str
    via: str
    state: str
    link: str
    data: bool
    rtt: float
    age: float
    tailback: Depth


class NodeRows(ReplyValue, frozen=True, kw_only=True):
    """Nodes: this one first, then by name.

    Attributes:
        nodes: One row for each node.
        next: Value of `after` for the next page. Empty: this was the last.
        scope: `"mesh"` or `"local"`.
        links: `"any"` or `"configured"`.
        near: Name and address of nodes of other meshes.
        unknown: Messages that wait for a master that is not in the list.
        keys: Whether the mesh has keys.
        has_sites: Whether the node's file names other sites.
    """

    nodes: list[NodeRow]
    next: str
    scope: str
    links: str
    near: list[tuple[str, str]]
    unknown: Depth
    keys: bool
    has_sites: bool = False


class PeerRow(Struct, kw_only=True):
    """An address that the node dials or dialed.

    Attributes:
        address: The address.
        kind: `"config"`, `"added"` or `"remembered"`.
        node: Name of the node there. Empty: not known.
        seen: Seconds since it was last seen.
        why: Why the last dial failed.
        tried: Seconds since that dial.
        state: State of the node, as in NodeRow.
    """

    address: str
    kind: str
    node: str
    seen: float | None = None
    why: str = ""
    tried: float | None = None
    state: str = ""


class PeerRows(ReplyValue, frozen=True, kw_only=True):
    """Addresses, in their order.

    Attributes:
        peers: One row for each address.
        next: As in NodeRows.
    """

    peers: list[PeerRow]
    next: str


class ServedAt(Struct, frozen=True, kw_only=True):
    """A node where an address is served.

    Attributes:
        node: Name of the node.
        uuid: Its id, in hexadecimal.
        consumers: Number of consumers there for messages from any node.
    """

    node: str
    uuid: str
    consumers: int


class ServedRow(Struct, frozen=True, kw_only=True):
    """A served address.

    Attributes:
        address: The address.
        nodes: One row for each node that serves it.
    """

    address: str
    nodes: list[ServedAt]


class ServedRows(ReplyValue, frozen=True, kw_only=True):
    """Served addresses, in their order.

    Attributes:
        addresses: One row for each address.
        next: As in NodeRows.
        missing: Names of nodes that did not answer, at most 256.
    """

    addresses: list[ServedRow] = []
    next: str = ""
    missing: list[str] = []


class FaredRow(Struct, frozen=True, kw_only=True):
    """Counters of messages to an address.

    Attributes:
        address: The address, or `other` for all others together.
        sent: Messages accepted that expect no reply.
        requests: Requests that were accepted or that failed.
        replies: Replies.
        failures: Requests that failed.
        seconds: Sum of the times of the replies, in s.
    """

    address: str
    sent: int = 0
    requests: int = 0
    replies: int = 0
    failures: int = 0
    seconds: float = 0.0


class FaredRows(ReplyValue, frozen=True, kw_only=True):
    """Counters of messages to addresses, since the start of the node.

    Attributes:
        addresses: The busiest addresses, and one row for all others.
    """

    addresses: list[FaredRow] = []


class SiteLink(Struct, frozen=True, kw_only=True):
    """A gateway of this site to another site.

    Attributes:
        node: Name of the gateway.
        gateways: Names of the gateways of the other site that are connected with it.
        state: State of the link, as in NodeRow.
        why: Why one side refuses the other.
    """

    node: str
    gateways: list[str] = []
    state: str = ""
    why: str = ""


class SiteRow(Struct, frozen=True, kw_only=True):
    """A site other than this one.

    Attributes:
        site: Name of the site.
        state: `"up"`, `"down"` after an orderly shutdown, or `"unreachable"`.
        since: Age of the state, in s. `nil`: no gateway to it could be asked.
        count: Number of nodes that are alive there.
        nodes: Their names, gateways first, at most 1,000.
        links: One row for each gateway here.
        waiting: Messages that wait here for it, at all masters.
        paused: Whether the relay to it is paused.
        lacks: Messages that were dropped for lack of space since its last transfer.
    """

    site: str
    state: Literal["up", "down", "unreachable"]
    since: float | None
    count: int = 0
    nodes: list[str] = []
    links: list[SiteLink] = []
    waiting: Depth = Depth()
    paused: bool = False
    lacks: int = 0


class SiteRows(ReplyValue, frozen=True, kw_only=True):
    """Other sites, in the order of their names.

    Attributes:
        site: Name of this site. Empty: none.
        sites: One row for each site.
        next: As in NodeRows.
        missing: Names of gateways that did not answer, at most 256.
    """

    site: str = ""
    sites: list[SiteRow] = []
    next: str = ""
    missing: list[str] = []


class SitePaused(ReplyValue, frozen=True, kw_only=True):
    """The result of pausing or resuming a site.

    Attributes:
        changed: Whether the call changed anything.
    """

    changed: bool


class SiteSync(ReplyValue, frozen=True, kw_only=True):
    """Nodes that send their retained values to a site.

    Attributes:
        nodes: Their names.
        missing: Names of nodes that did not answer.
    """

    nodes: list[str] = []
    missing: list[str] = []


class ServerRow(ServedAt, frozen=True, kw_only=True):
    """A node to which a message to an address could go.

    Attributes:
        is_here: Whether it is the node that was asked.
        load: Its load, 0 to 1.
        outstanding: Messages sent there from here that no server has begun.
        latency: Recent time until a server begins, in s.
        weight: Weight of the node.
    """

    is_here: bool
    load: float | None
    outstanding: int
    latency: float
    weight: float


class Servers(ReplyValue, frozen=True, kw_only=True):
    """Nodes to which a message to an address could go.

    Attributes:
        servers: One row for each node, in the order of choice.
        strategy: Name of the balancer.
        is_ordered: Whether the order is independent of the message.
        text: Why there is no node.
    """

    servers: list[ServerRow]
    strategy: str
    is_ordered: bool
    text: str = ""


class EventRow(Struct, frozen=True, kw_only=True):
    """An event.

    Attributes:
        number: Number of the event, from 1.
        wall: Time, in ns since 1970.
        kind: `joined`, `suspect`, `alive`, `dead`, `left`, `restarted`, `moved`, `conflict`, `link`,
            `refused`, `advert`, `mdns`, `interfaces`, `peer`, `snapshots`, `weights`, `disk`, `settings`,
            `rules` or `near`.
        node: Name of the node that it is about.
        uuid: Its id, in hexadecimal.
        boot: Its boot.
        text: Event, in words.
    """

    number: int
    wall: int
    kind: str
    node: str
    uuid: str
    boot: int
    text: str


class EventRows(ReplyValue, frozen=True, kw_only=True):
    """Events, oldest first: at most 256, and about 128 KiB.

    A node keeps its last 1,024 events.

    Attributes:
        events: The events.
        next: Value of `after` to continue.
        boot: Boot of the node. In another boot the numbers begin again.
    """

    events: list[EventRow]
    next: int
    boot: int


class Process(Struct, frozen=True, kw_only=True):
    """The figures of a node's process.

    Attributes:
        uptime: Seconds since its start.
        pid: Process id.
        data: Its data directory.
        ipc: Its local address.
        lag_p99: 99th percentile of the delay of its event loop in the last 5 s, in s.
        lag_worst: Maximum of that delay, in s.
        snapshots: Counters of its snapshots. Empty: it writes none.
        disk: `disk_free` (bytes), `disk_short` (1 while too few for persistent messages), `disk_refused`
            (commits).
        log: Level of each logger.
    """

    uptime: float = 0.0
    pid: int = 0
    data: str = ""
    ipc: str = ""
    lag_p99: float = 0.0
    lag_worst: float = 0.0
    snapshots: Figures = {}
    disk: Figures = {}
    log: dict[str, str] = {}


class Info(ReplyValue, frozen=True, kw_only=True):
    """The identity of a node, and its metrics.

    Attributes:
        name: Name of the node.
        uuid: Its id, in hexadecimal.
        boot: Its boot.
        address: Its TCP address.
        cluster: Name of the mesh.
        software: Name and version of its software.
        scope: `"mesh"` or `"local"`.
        uptime: As in Process, like the next eight.
        pid: Process id.
        data: Its data directory.
        ipc: Its local address.
        lag_p99: 99th percentile of the delay of its event loop in the last 5 s, in s.
        lag_worst: Maximum of that delay, in s.
        snapshots: Counters of its snapshots. Empty: it writes none.
        disk: `disk_free` (bytes), `disk_short` (1 while too few for persistent messages), `disk_refused`
            (commits).
        log: Level of each logger.
        metrics: Value of each counter.
    """

    name: str
    uuid: str
    boot: int
    address: str
    cluster: str
    software: str
    scope: str
    uptime: float
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
    """Return the value of a reply. Raises: RemoteError MALFORMED for anything else."""
    try:
        return msgspec.convert(said, shape, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise RemoteError(f"a reply that cannot be read: {error}", code="MALFORMED") from error


def read_late(said: object) -> Late:
    """Return the value of a reply to SETTLE. Raises: RemoteError MALFORMED for anything else."""
    try:
        return msgspec.convert(said, Late)
    except msgspec.ValidationError as error:
        raise RemoteError(f"a reply that cannot be read: {error}", code="MALFORMED") from error
