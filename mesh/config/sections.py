"""Settings: which there are, of what type, and their defaults. Each struct is one section of a file."""

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
from mesh.loglevels import check_levels
from mesh.names import node_name
from mesh.password import check_hash
from mesh.wire.metadata import check_metadata

MIB = 1024 * 1024
DAY = 86_400.0  # seconds

Duration = Annotated[float, Meta(gt=0, le=DAY)]
Bytes = Annotated[int, Meta(ge=1, le=1024 * 1024 * MIB)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Metadata = dict[str, str]


class NodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[node]` section: who this node is, and where."""

    id: str | None = None  # name of the node; unset: the host's name
    bind: tuple[str, ...] = ()  # addresses it listens on; none: a free port on 127.0.0.1
    peers: tuple[str, ...] = ()  # addresses of nodes to meet; they introduce the rest
    store: str = "sqlite"  # or "memory", or "postgresql://USER@HOST/DATABASE": where it keeps what must last
    data: str | None = None  # its own directory; unset: one of the node's name, in the user's state directory
    cluster: str = "default"  # name of the mesh; nodes of two clusters never link
    passwd: str | None = None  # scrypt hash of a password that others must tell; see `mesh passwd`
    allow_network_disk: bool = False  # though its directory may be on NFS or the like
    probe: str | None = None  # file with cpu and ram to report instead of this machine's, for tests
    metadata: Metadata | None = None  # what others should know of it when they choose, such as its rack

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "passwd")
        return f"NodeSettings({', '.join(shown)})"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[limits]` section: how much is held, and for how long."""

    max_content: Annotated[int, Meta(ge=1, le=64 * MIB)] = MIB  # bytes of one message's content
    window_bytes: Bytes = 4 * MIB  # bytes under way to a subscriber, or of a client, unanswered
    window_count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024  # likewise, in envelopes
    backlog_bytes: Bytes = 64 * MIB  # bytes that wait at this node for one subscriber
    linger: Duration = 60.0  # seconds that a vanished client's subscriptions are kept
    slow_consumer: Duration = 10.0  # seconds a subscriber may stand still while messages are dropped for it
    topics_bytes: Bytes = 64 * MIB  # bytes of retained values, all topics together
    memory_bytes: Bytes = 128 * MIB  # of what waits and is on the disk, too; the rest waits there alone
    inboxes_bytes: Bytes = 256 * MIB  # bytes that wait at this node for clients that are not connected
    sessions_bytes: Bytes = 512 * MIB  # in memory that sessions have not taken or settled, all together
    durable_bytes: Bytes = 1024 * MIB  # bytes that wait at this node for one durable subscription
    durable_full: Literal["drop_oldest", "reject"] = "drop_oldest"  # then
    tailback_bytes: Bytes = 64 * MIB  # bytes that wait at this node for masters that are away
    tailback_count: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000  # likewise, in messages
    tailback_ttl: Annotated[float, Meta(gt=0, le=30 * DAY)] = DAY  # seconds until what waits is a dead letter
    connections: Count = 4096  # that came in over TCP, and no more than leave descriptors for the node's own
    strangers: Count = 512  # of these, that have not said HELLO yet; the oldest makes room for a newcomer
    address_connections: Count = 64  # of these, from one address other than this machine's own
    key_connections: Count = 512  # of these, with one key
    sessions: Count = 16_384  # of clients
    key_sessions: Count = 1024  # of these, with one key
    subscriptions: Count = 100_000  # of all clients
    session_subscriptions: Count = 1000  # of one session
    disk_reserve_bytes: Annotated[int, Meta(ge=0, le=1024 * 1024 * MIB)] = (
        64 * MIB
    )  # to stay free on disk; 0: none


class TimingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[timing]` section: how soon a link notices and tries again."""

    probe: Annotated[float, Meta(ge=0.05, le=60)] = 1.0  # seconds between probes; a failure shows in 2 to 8
    state: Annotated[float, Meta(ge=0.1, le=600)] = 2.0  # seconds between the states that a node gossips
    ping: Duration = 2.0  # seconds between signs of life on a link
    silence: Duration = 10.0  # seconds unheard until a client counts as gone; three pings or more
    busy: Duration = 1800.0  # likewise for one that has messages or requests to settle
    backoff_min: Duration = 0.1  # seconds before the first redial
    backoff_max: Duration = 30.0  # seconds between redials at most
    forward_patience: Duration = 1.0  # seconds without the master's answer until a publisher is warned


class Discovery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[discovery]` section: how nodes find each other."""

    mdns: bool = True  # announce this node by multicast DNS, and listen for others
    interfaces: tuple[str, ...] = ()  # network interfaces, such as "eth*" or "!wlan0"; none: all fit ones
    remember: bool = True  # dial at start the nodes that were met before


class BalancingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[balancing]` section: which of several masters, ways or servers is taken."""

    strategy: str = "RoundRobin"  # or another of balancers.plugins.OURS, or a plug-in's name
    header: HeaderName | None = None  # for Sticky: what it goes by
    threshold: Threshold | None = None  # for ThresholdLoaded: the load that is too much
    metadata: StrategyName | None = (
        None  # for RackAffinity: the name in node.metadata that says where a node is
    )


class Snapshots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[snapshots]` section: what a node writes down, for `mesh report` and whoever reads the files."""

    enabled: bool = True  # write them
    dir: str | None = None  # where; several nodes may share it; unset: snapshots, in its own directory
    limit_bytes: Bytes = 256 * MIB  # bytes it may fill; then the oldest go, those that were read first
    interval: Annotated[float, Meta(ge=1, le=3600)] = 10.0  # seconds between two lines of the same figure


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[http]` section: what watches a node on its machine."""

    listen: str | None = None  # where it answers, such as "127.0.0.1:7780"; unset: nowhere
    token_file: str | None = None  # of who may read metrics; unset: one in the state directory


class LogSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[log]` section: what a node writes to stderr, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"  # what is worse is written, too
    format: Literal["auto", "text", "json", "journal"] = "auto"  # text, or what the journal reads
    levels: Metadata | None = None  # of single loggers, such as "mesh.routes" = "debug"


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of one node."""

    default_scope: Literal["mesh", "local"] = "mesh"  # where messages without a domain live
    links: Literal["any", "configured"] = "any"  # which nodes it links: every one it hears of, or `nodes`
    node: NodeSettings = msgspec.field(default_factory=NodeSettings)
    limits: Limits = msgspec.field(default_factory=Limits)
    timing: TimingSettings = msgspec.field(default_factory=TimingSettings)
    discovery: Discovery = msgspec.field(default_factory=Discovery)
    balancing: BalancingSettings = msgspec.field(default_factory=BalancingSettings)
    snapshots: Snapshots = msgspec.field(default_factory=Snapshots)
    log: LogSettings = msgspec.field(default_factory=LogSettings)
    http: HttpSettings = msgspec.field(default_factory=HttpSettings)
    site: SiteSection = msgspec.field(default_factory=SiteSection)
    nodes: tuple[NodeRecord, ...] = ()  # the sections [nodes.NAME] and their rules
    strategies: tuple[OwnStrategy, ...] = ()  # [[balancing.address]] and [[balancing.domain]]
    queues: tuple[QueueStore, ...] = ()  # [[queues]]: which have a store of their own
    sites: tuple[RemoteSite, ...] = ()  # the sections [sites.NAME]


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
TABLES = (("balancing", "address"), ("balancing", "domain"))  # which have a module of their own
LISTS = ("nodes", "queues", "sites")  # likewise
TOP_LEVEL = ("default_scope", "links")
CHECKS: dict[str, Callable[[Any], object]] = {
    "node.id": node_name,
    "node.cluster": node_name,
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
