"""Replies about nodes, their addresses and processes."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import Figures, ReplyValue


class Depth(Struct, frozen=True, kw_only=True):
    """The number, size and age of waiting messages.

    Attributes:
        messages: Number of messages.
        bytes: Their size, in bytes.
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
        published: Messages a second that it accepted as their master.
        delivered: Messages a second that it delivered to its clients.
        pending: Messages that wait for subscribers.
        sessions: Number of sessions.
        links: Number of nodes that it is logged in to.
        queued: Messages in its queues.
        consumers: Consumers of its queues.
        leaving: Whether it is drained with its clients.
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
    leaving: bool | None = None


class NodeRow(Gossiped, frozen=True, kw_only=True):
    """A node, as another node sees it.

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
        moves: Whether its clients can move to other nodes. `nil`: not known.
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
    moves: bool | None = None


class NodeRows(ReplyValue, frozen=True, kw_only=True):
    """Nodes: the replying node first, the others by name.

    Attributes:
        nodes: One row for each node.
        next: Value of `after` for the next page. Empty: this was the last.
        scope: `"mesh"` or `"local"`.
        links: `"any"` or `"configured"`.
        near: Name and address of nodes of other meshes.
        unknown: Messages that wait for a master that is not in the list.
        keys: Whether the mesh has keys.
        has_sites: Whether the configuration of the node names other sites.
        reachable: As in Info, of the replying node.
        reachability: As in Info.
    """

    nodes: list[NodeRow]
    next: str
    scope: str
    links: str
    near: list[tuple[str, str]]
    unknown: Depth
    keys: bool
    has_sites: bool = False
    reachable: str = ""
    reachability: str = ""


class PeerRow(Struct, kw_only=True):
    """An address that the node dials or dialed.

    Attributes:
        address: The address.
        kind: `"config"`, `"added"`, `"mesh"` (set by the admin) or `"remembered"`.
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
    """Addresses, sorted.

    Attributes:
        peers: One row for each address.
        next: As in NodeRows.
    """

    peers: list[PeerRow]
    next: str


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
        metrics: Value of each counter.
        reachable: Whether nodes of other machines can dial its address: `"yes"`, `"no"`, `"partly"`,
            `"local"` (only its own machine can) or empty (not checked).
        reachability: The same, in words.
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
    reachable: str = ""
    reachability: str = ""


class DialedBack(ReplyValue, frozen=True, kw_only=True):
    """The outcome of a dial to an address of the sender.

    Attributes:
        outcome: `"reached"`, `"refused"` (failed immediately), `"silent"` (no answer) or `"other"` (another
            process answered).
    """

    outcome: str = ""
