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
    """Summary of the shared rows of one kind that a node has."""

    kind: Annotated[str, Meta(pattern=r"^[a-z]{1,16}\Z")]
    stamp: Natural  # timestamp of the newest row
    digest: Annotated[bytes, Meta(max_length=8)]  # of all rows; b"": none


class NodeState(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """State of a node at one moment. The higher (boot, counter) replaces the lower one.

    A field added later goes to the end with a default, so that an older node ignores it.
    """

    uuid: Uuid
    name: NodeName
    boot: Natural
    counter: Natural  # grows with each state of one boot
    wall: Natural  # ns since 1970 by the node's own clock
    up: Seconds  # since its start
    software: Software
    cpu: Annotated[tuple[Percent, ...], Meta(max_length=CORES)]  # % idle of each core
    ram_free: Natural  # bytes
    ram_total: Natural
    load: Share  # 0 idle .. 1 busy, from `load_index`
    lag: Seconds
    published: Rate  # messages accepted as master
    delivered: Rate  # messages sent to its clients
    pending: Natural  # messages that wait for local subscribers
    tailback: Natural  # messages that wait for unreachable masters
    stored: Natural  # envelopes on its disk
    sessions: Natural
    subscriptions: Natural
    links: Natural  # nodes that are logged in
    insecure: bool = False  # an open mesh, on purpose
    weights: Natural = 0  # version of the balancers' weights; 0: none
    log: Natural = 0  # position of the newest entry of its log
    commits: Natural = 0  # commits of its store
    # Next hops through which the node publishes and sends requests.
    ways: Annotated[tuple[NodeName, ...], Meta(max_length=WAYS)] = ()
    shared: Annotated[tuple[Summary, ...], Meta(max_length=KINDS)] = ()  # summaries of its shared rows
    requested: Rate = 0  # requests of its clients
    request_p50: Seconds = 0  # recent median of the time to a reply
    request_p99: Seconds = 0
    request_failed: Rate = 0  # requests without a reply
    served: Rate = 0  # messages settled by its servers and group members
    queued: Natural = 0  # messages in its queues
    consumers: Natural = 0  # consumers of its queues
    # Identifies the machine until its next start. Empty: not known.
    machine: Machine = ""

    @property
    def version(self) -> tuple[int, int]:
        """The version, as (boot, counter)."""
        return self.boot, self.counter

    @property
    def cpu_used(self) -> float | None:
        """The percentage of all cores in use, or None if it is not known."""
        return 100 - sum(self.cpu) / len(self.cpu) if self.cpu else None

    def encode(self) -> bytes:
        """Return the state as one msgpack array."""
        return msgspec.msgpack.encode(self)


_decode = msgspec.msgpack.Decoder(NodeState).decode


def decode(data: bytes) -> NodeState:
    """Return the state that `encode` wrote. Raises: ValueError, which names the field."""
    if len(data) > LONGEST:
        raise ValueError(f"a node state of {len(data)} bytes, at most {LONGEST} are allowed")
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
    """Return the load of a node, from 0 (idle) to 1 (busy). Unknown figures count as idle.

    Three resources add up, each as a share of what the others leave:

     load = 1 - (1 - cpu) (1 - memory) (1 - lag)

    cpu is the busy share of all cores. memory rises from 0 with 10 % free to 1 with nothing free. lag rises
    from 0 with a loop that is 20 ms late to 1 with one that is 250 ms late.
    """
    cpu = 1 - sum(sample.cpu) / len(sample.cpu) / 100 if sample.cpu else 0.0
    memory = 1 - sample.ram_free / (_RAM_SHORT * sample.ram_total) if sample.ram_total else 0.0
    lag = (sample.lag - _LAG_FINE) / (_LAG_FULL - _LAG_FINE)
    return 1 - (1 - _share(cpu)) * (1 - _share(memory)) * (1 - _share(lag))


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
