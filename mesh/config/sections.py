"""Settings with their types and defaults. Each struct but `Config` is one section of a file."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo

from mesh.config.balancing import HeaderName, OwnStrategy, StrategyName, Threshold
from mesh.config.nodes import NodeRecord
from mesh.config.queues import QueueStore
from mesh.config.sites import RemoteSite, SiteSection
from mesh.config_store import check_store
from mesh.dialable import check_advertised
from mesh.loglevels import check_levels
from mesh.names import node_name
from mesh.password import check_hash
from mesh.wire.metadata import check_metadata

MIB = 1024 * 1024
DAY = 86_400.0  # s

Duration = Annotated[float, Meta(gt=0, le=DAY)]
Bytes = Annotated[int, Meta(ge=1, le=1024 * 1024 * MIB)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Metadata = dict[str, str]
Counts = dict[str, Count]


class NodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[node]` section: identity, addresses and storage."""

    id: str | None = None  # node name; unset: the host's name
    bind: tuple[str, ...] = ()  # addresses to listen on; none: a free port on 127.0.0.1
    advertise: str | None = None  # IP or IP:PORT that others dial; unset: found
    peers: tuple[str, ...] = ()  # addresses of nodes to dial; they introduce the rest
    store: str = "sqlite"  # or "memory", or "postgresql://USER@HOST/DATABASE"
    data: str | None = None  # data directory; unset: by name, in the state directory
    cluster: str = "default"  # mesh name; nodes of two meshes never link
    passwd: str | None = None  # scrypt hash of the required password; see `mesh passwd`
    allow_network_disk: bool = False  # allow a data directory on NFS or similar
    probe: str | None = None  # file with CPU and RAM to report, for tests
    nameservice: bool = False  # follow the names of all nodes, and answer `mesh where` for them
    adopt_parents: bool = False  # as a slave, use another next hop while the configured one is lost
    max_connections: Count | None = None  # connections of clients; unset: by limits.connections
    address_max_connections: Counts | None = None  # the same, by address of `bind`
    metadata: Metadata | None = None  # facts for balancers of others, such as its rack

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "passwd")
        return f"NodeSettings({', '.join(shown)})"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[limits]` section: bounds of memory, disk, connections and times."""

    max_content: Annotated[int, Meta(ge=1, le=64 * MIB)] = MIB  # bytes of one message's content
    transaction_bytes: Annotated[int, Meta(ge=1, le=64 * MIB)] = 8 * MIB  # of its messages
    prepared_warning: Annotated[float, Meta(gt=0, le=30 * DAY)] = 3600.0  # s until an event reports one
    window_bytes: Bytes = 4 * MIB  # bytes in flight to a subscriber or from a client
    window_count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024  # the same in envelopes
    backlog_bytes: Bytes = 64 * MIB  # bytes that wait at this node for one subscriber
    linger: Duration = 60.0  # s to keep subscriptions of a lost client
    slow_consumer: Duration = 10.0  # s without progress of a subscriber that loses messages
    topics_bytes: Bytes = 64 * MIB  # bytes of all retained values
    memory_bytes: Bytes = 128 * MIB  # bytes in memory that are also on disk
    inboxes_bytes: Bytes = 256 * MIB  # bytes that wait here for disconnected clients
    sessions_bytes: Bytes = 512 * MIB  # bytes that all sessions have not consumed or settled
    durable_bytes: Bytes = 1024 * MIB  # bytes that wait here for one durable subscription
    durable_full: Literal["drop_oldest", "reject"] = "drop_oldest"  # policy at that limit
    tailback_bytes: Bytes = 64 * MIB  # bytes that wait here for unreachable masters
    tailback_count: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000  # the same in messages
    tailback_ttl: Annotated[float, Meta(gt=0, le=30 * DAY)] = DAY  # s until they become dead letters
    connections: Count = 4096  # incoming TCP connections
    strangers: Count = 512  # of these, before HELLO; a newcomer replaces the oldest
    address_connections: Count = 64  # of these, from one remote address
    key_connections: Count = 512  # of these, with one key
    sessions: Count = 16_384  # of clients
    key_sessions: Count = 1024  # of these, with one key
    subscriptions: Count = 100_000  # of all clients
    session_subscriptions: Count = 1000  # of one session
    disk_reserve_bytes: Annotated[int, Meta(ge=0, le=1024 * 1024 * MIB)] = (
        64 * MIB
    )  # bytes to stay free on disk; 0: none


class TimingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[timing]` section: intervals and timeouts of links."""

    probe: Annotated[float, Meta(ge=0.05, le=60)] = 1.0  # s between probes; a failure shows in 2 to 8
    state: Annotated[float, Meta(ge=0.1, le=600)] = 2.0  # s between gossiped node states
    queues: Annotated[float, Meta(ge=0.1, le=600)] = 2.0  # s between reported figures of a queue
    ping: Duration = 2.0  # s between signs of life on a link
    silence: Duration = 10.0  # s of silence until a client is lost; three pings or more
    busy: Duration = 1800.0  # the same with messages or requests to settle
    backoff_min: Duration = 0.1  # s before the first redial
    backoff_max: Duration = 30.0  # s between redials, at most
    forward_patience: Duration = 1.0  # s without the master's answer until publishers are warned


class Discovery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[discovery]` section: discovery of other nodes."""

    mdns: bool = True  # announce this node by multicast DNS, and listen
    interfaces: tuple[str, ...] = ()  # such as "eth*" or "!wlan0"; none: all suitable
    remember: bool = True  # dial previously met nodes at the start


class BalancingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[balancing]` section: choice among several masters, routes or servers."""

    strategy: str = "RoundRobin"  # or another of mesh.balancers.plugins.OURS, or a plug-in
    header: HeaderName | None = None  # for Sticky: the header to use
    threshold: Threshold | None = None  # for ThresholdLoaded: load above which a node is avoided
    metadata: StrategyName | None = None  # for RackAffinity: the key in node.metadata


class Snapshots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[snapshots]` section: history files of a node, for `mesh report` and other readers."""

    enabled: bool = True  # write snapshots
    dir: str | None = None  # shareable directory; unset: snapshots in the data directory
    limit_bytes: Bytes = 256 * MIB  # bytes; beyond it the oldest are deleted, read ones first
    interval: Annotated[float, Meta(ge=1, le=3600)] = 10.0  # s between two lines of the same figure


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[http]` section: monitoring endpoint on the node's machine."""

    listen: str | None = None  # such as "127.0.0.1:7780"; unset: no endpoint
    token_file: str | None = None  # token for metrics; unset: one in the state directory


class LogSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[log]` section: level and format of the log on stderr."""

    level: Literal["debug", "info", "warning", "error"] = "info"  # lowest level to write
    format: Literal["auto", "text", "json", "journal"] = "auto"  # auto: text, or journal
    levels: Metadata | None = None  # of single loggers, such as "mesh.routes" = "debug"


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of one node."""

    default_scope: Literal["mesh", "local"] = "mesh"  # where messages without a domain live
    links: Literal["any", "configured"] = "any"  # nodes to link: all discovered ones, or `nodes`
    node: NodeSettings = msgspec.field(default_factory=NodeSettings)
    limits: Limits = msgspec.field(default_factory=Limits)
    timing: TimingSettings = msgspec.field(default_factory=TimingSettings)
    discovery: Discovery = msgspec.field(default_factory=Discovery)
    balancing: BalancingSettings = msgspec.field(default_factory=BalancingSettings)
    snapshots: Snapshots = msgspec.field(default_factory=Snapshots)
    log: LogSettings = msgspec.field(default_factory=LogSettings)
    http: HttpSettings = msgspec.field(default_factory=HttpSettings)
    site: SiteSection = msgspec.field(default_factory=SiteSection)
    nodes: tuple[NodeRecord, ...] = ()  # sections [nodes.NAME] and their rules
    strategies: tuple[OwnStrategy, ...] = ()  # [[balancing.address]] and [[balancing.domain]]
    queues: tuple[QueueStore, ...] = ()  # [[queues]]: stores of queues
    sites: tuple[RemoteSite, ...] = ()  # sections [sites.NAME]


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "node": NodeSettings,
    "limits": Limits,
    "timing": TimingSettings,
    "discovery": Discovery,
    "balancing": BalancingSettings,
    "snapshots": Snapshots,
    "log": LogSettings,
    "http": HttpSettings,
    "site": SiteSection,
}
TABLES = (("balancing", "address"), ("balancing", "domain"))  # parsed by other modules
LISTS = ("nodes", "queues", "sites")  # parsed by other modules
TOP_LEVEL = ("default_scope", "links")
CHECKS: dict[str, Callable[[Any], object]] = {
    "node.id": node_name,
    "node.cluster": node_name,
    "node.advertise": check_advertised,
    "node.passwd": check_hash,
    "node.store": check_store,
    "site.name": node_name,
    "node.metadata": check_metadata,
    "log.levels": check_levels,
}
FIELDS: dict[str, FieldInfo] = {
    **{field.name: field for field in msgspec.structs.fields(Config) if field.name in TOP_LEVEL},
    **{
        f"{section}.{field.name}": field
        for section, struct in SECTIONS.items()
        for field in msgspec.structs.fields(struct)
    },
}
