"""State that a node publishes about itself, and its load index."""

import re
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

LONGEST = 4096  # bytes of one encoded state
CORES = 256  # that a state can list
KINDS = 16  # kinds of shared rows in a state
WAYS = 16  # next hops in a state

# Received values must be within these limits, which exclude NaN and infinity.
Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e10)]
Rate = Annotated[float, Meta(ge=0, le=1e12)]  # per second
Uuid = Annotated[bytes, Meta(min_length=16, max_length=16)]
NodeName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:-]{1,64}\Z")]
Machine = Annotated[str, Meta(pattern=r"^([0-9a-f]{8})?\Z")]
Room = Annotated[int, Meta(ge=-1, le=1_000_000)]
Software = Annotated[str, Meta(pattern=r"^[ -~]{0,64}\Z")]


@dataclass(frozen=True, slots=True)
class Sample:
    """Load of a machine, and of this node's event loop on it, at one moment."""

    cpu: tuple[float, ...]  # % idle of each core since the last sample; empty if not known
    ram_free: int  # bytes
    ram_total: int  # bytes
    lag: float = 0.0  # s, 99th percentile of the loop's recent delay
    machine: str = ""  # as `NodeState.machine`; "": not known


class Summary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The summary of the shared rows of one kind that a node has.

    Attributes:
        kind: Kind of the rows.
        stamp: Stamp of the newest row.
        digest: Sum of the BLAKE2b-64 of all rows but deletions, modulo 2⁶⁴, big-endian. Empty: none.
    """

    kind: Annotated[str, Meta(pattern=r"^[a-z]{1,16}\Z")]
    stamp: Natural
    digest: Annotated[bytes, Meta(max_length=8)]


class NodeState(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """The state of a node at one moment. The higher (boot, counter) replaces the lower one.

    Attributes:
        uuid: Id of the node.
        name: Name of the node.
        boot: Boot of the node.
        counter: Number that grows with each state of one boot.
        wall: Clock of the node, in ns since 1970.
        up: Seconds since its start.
        software: Name and version of its software, at most 64 printable ASCII characters.
        cpu: Idle percentage of each core. Empty: not known.
        ram_free: Free memory, in bytes.
        ram_total: Memory, in bytes.
        load: Load, 0 (idle) to 1 (busy).
        lag: 99th percentile of the delay of its event loop, in s.
        published: Messages a second that it accepted as their master.
        delivered: Messages a second that it delivered to its clients.
        pending: Messages that wait for subscribers.
        tailback: Messages that wait for unreachable masters.
        stored: Envelopes in its store.
        sessions: Number of sessions.
        subscriptions: Number of subscriptions.
        links: Number of nodes that it is logged in to.
        insecure: Not used; this release always sends false.
        weights: Stamp of the balancers' weights that it has. 0: none.
        log: Position of the newest entry of its log on disk.
        commits: Number of commits of its store.
        ways: Names of the nodes through which it publishes and subscribes.
        shared: For each kind of shared rows that it has: kind, newest stamp, digest.
        requested: Requests a second of its clients.
        request_p50: Median duration of its clients' requests, in s, in the last 5 to 10 s.
        request_p99: 99th percentile of that duration, in s, in the same time.
        request_failed: Requests a second that failed.
        served: Messages a second settled by servers and group members at this node.
        queued: Messages in queues at this node, outstanding ones included.
        consumers: Consumers of queues at this node.
        machine: 8 hexadecimal digits that nodes on one machine share until it restarts. `""`: not known.
        room: Connections of clients that it can still accept. -1: not known.
        leaving: Whether it is drained with its clients, and is about to stop.
    """

    uuid: Uuid
    name: NodeName
    boot: Natural
    counter: Natural
    wall: Natural
    up: Seconds
    software: Software
    cpu: Annotated[tuple[Percent, ...], Meta(max_length=CORES)]
    ram_free: Natural
    ram_total: Natural
    load: Share
    lag: Seconds
    published: Rate
    delivered: Rate
    pending: Natural
    tailback: Natural
    stored: Natural
    sessions: Natural
    subscriptions: Natural
    links: Natural
    insecure: bool = False
    weights: Natural = 0
    log: Natural = 0
    commits: Natural = 0
    ways: Annotated[tuple[NodeName, ...], Meta(max_length=WAYS)] = ()
    shared: Annotated[tuple[Summary, ...], Meta(max_length=KINDS)] = ()
    requested: Rate = 0
    request_p50: Seconds = 0
    request_p99: Seconds = 0
    request_failed: Rate = 0
    served: Rate = 0
    queued: Natural = 0
    consumers: Natural = 0
    machine: Machine = ""
    room: Room = -1
    leaving: bool = False

    @property
    def version(self) -> tuple[int, int]:
        return self.boot, self.counter

    @property
    def cpu_used(self) -> float | None:
        """The used percentage of all cores together, or None if it is not known."""
        return 100 - sum(self.cpu) / len(self.cpu) if self.cpu else None

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)


_decode = msgspec.msgpack.Decoder(NodeState).decode


def decode(data: bytes) -> NodeState:
    """Return the state that `encode` wrote. Raises: ValueError."""
    if len(data) > LONGEST:
        raise ValueError(f"the node state has {len(data)} bytes; at most {LONGEST} are allowed")
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        place = re.search(r"\$\[(\d+)\]", str(error))
        field = f", {NodeState.__struct_fields__[int(place[1])]}" if place else ""
        raise ValueError(f"not a node state{field}: {error}") from error


# Seconds of delay: a healthy loop stays below the first; the second counts as full load.
_LAG_FINE, _LAG_FULL = 0.02, 0.25
_RAM_SHORT = 0.1  # share of free memory below which pressure begins


def load_index(sample: Sample) -> float:
    """Return the load of a node, from 0 (idle) to 1 (busy), where unknown figures count as idle.

    The loads of three resources are combined, each as a share of the capacity that the others leave:

     load = 1 - (1 - cpu) (1 - memory) (1 - lag)

    cpu is the busy share of all cores. memory rises from 0 with 10 % free to 1 with nothing free. lag rises
    from 0 with an event loop that is 20 ms late to 1 with one that is 250 ms late.
    """
    cpu = 1 - sum(sample.cpu) / len(sample.cpu) / 100 if sample.cpu else 0.0
    memory = 1 - sample.ram_free / (_RAM_SHORT * sample.ram_total) if sample.ram_total else 0.0
    lag = (sample.lag - _LAG_FINE) / (_LAG_FULL - _LAG_FINE)
    return 1 - (1 - _share(cpu)) * (1 - _share(memory)) * (1 - _share(lag))


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
