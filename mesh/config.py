"""What is set, who set it, and does it make sense?

Sources, later wins: defaults, the file `mesh.toml`, the environment (`MESH_LIMITS__MAX_CONTENT`), the
command line. Each value is checked with its origin at hand, so that an error can name the place.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo

from mesh.config_balancing import OPTIONS, Header, Name, OwnStrategy, Threshold, balancing_settings
from mesh.config_nodes import NodeRecord, node_settings
from mesh.config_queues import QueueStore, queue_settings
from mesh.config_source import ConfigFile, Setting, fitted, read_file
from mesh.config_store import check_store
from mesh.errors import BadConfig, BadName
from mesh.mapping.rules import Rule
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
    header: Header | None = None  # for Sticky: what it goes by
    threshold: Threshold | None = None  # for ThresholdLoaded: the load that is too much
    metadata: Name | None = None  # for RackAffinity: the name in node.metadata that says where a node is


class Snapshots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[snapshots]` section: what a node writes down, for `mesh report` and whoever reads the files."""

    enabled: bool = True  # write them
    dir: str | None = None  # where; several nodes may share it; unset: snapshots, in its own directory
    limit_bytes: Bytes = 256 * MIB  # bytes it may fill; then the oldest go, those that were read first
    interval: Annotated[float, Meta(ge=1, le=3600)] = 10.0  # seconds between two lines of the same figure


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
    nodes: tuple[NodeRecord, ...] = ()  # the sections [nodes.NAME] and their rules
    strategies: tuple[OwnStrategy, ...] = ()  # [[balancing.address]] and [[balancing.domain]]
    queues: tuple[QueueStore, ...] = ()  # [[queues]]: which have a store of their own


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "node": NodeSettings,
    "limits": Limits,
    "timing": TimingSettings,
    "discovery": Discovery,
    "balancing": BalancingSettings,
    "snapshots": Snapshots,
}
TABLES = (("balancing", "address"), ("balancing", "domain"))  # which have a module of their own
LISTS = ("nodes", "queues")  # likewise
TOP_LEVEL = ("default_scope", "links")
CHECKS: dict[str, Callable[[Any], object]] = {
    "node.id": node_name,
    "node.cluster": node_name,
    "node.passwd": check_hash,
    "node.store": check_store,
    "node.metadata": check_metadata,
}
FIELDS: dict[str, FieldInfo] = {
    **{field.name: field for field in msgspec.structs.fields(Config) if field.name in TOP_LEVEL},
    **{
        f"{section}.{field.name}": field
        for section, struct in SECTIONS.items()
        for field in msgspec.structs.fields(struct)
    },
}


def load(
    path: Path | ConfigFile | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object],
    by: str = "command line",
) -> Config:
    """The configuration from all sources.

    `overrides` has dotted names (`{"node.id": "heron"}`); None there means "not given". `by`: who gives them.
    Raises BadConfig, which names the place, the key and what would be right.
    """
    tree: dict[str, Any] = {}
    nodes, strategies, queues = list[NodeRecord](), list[OwnStrategy](), list[QueueStore]()
    for setting in settings(path, environ, overrides, by):
        if isinstance(setting.value, NodeRecord):
            nodes.append(setting.value)
        elif isinstance(setting.value, OwnStrategy):
            strategies.append(setting.value)
        elif isinstance(setting.value, QueueStore):
            queues.append(setting.value)
        elif setting.name in FIELDS:
            section, _, key = setting.name.rpartition(".")
            (tree.setdefault(section, {}) if section else tree)[key] = setting.value
    config = msgspec.convert(tree, Config)
    return msgspec.structs.replace(
        config, nodes=tuple(nodes), strategies=tuple(strategies), queues=tuple(queues)
    )


def rules(config: Config) -> tuple[Rule, ...]:
    """The rules of all nodes: node by node, each node's in the order of the file."""
    return tuple(rule for node in config.nodes for rule in node.masters)


def addresses(config: Config, me: str) -> tuple[str, ...]:
    """The addresses of the nodes in the file, as they are written there, but for the node `me`."""
    return tuple(node.address for node in config.nodes if node.address is not None and node.name != me)


def settings(
    path: Path | ConfigFile | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object],
    by: str = "command line",
) -> tuple[Setting, ...]:
    """Every setting with its value and origin; arguments and errors as for `load`.

    First those of FIELDS, then `nodes.NAME` (a NodeRecord) for each node of the file, and behind each
    node its rules, `nodes.NAME.master` (a Rule); then `balancing.address` and `balancing.domain` (an
    OwnStrategy each), and `queues` (a QueueStore each).
    """
    found = {name: Setting(name, field.default, "default") for name, field in FIELDS.items()}
    nodes, strategies, queues = tuple[Setting, ...](), tuple[Setting, ...](), tuple[Setting, ...]()
    if path is not None:
        file = path if isinstance(path, ConfigFile) else read_file(path)
        found.update((setting.name, setting) for setting in _from_file(file))
        nodes, strategies = node_settings(file), balancing_settings(file)
        queues = queue_settings(file)
    found.update((setting.name, setting) for setting in _from_environment(environ))
    found.update((setting.name, setting) for setting in _from_overrides(overrides, by))
    _check_order(found["timing.ping"], found["timing.silence"])
    _check_order(found["timing.backoff_min"], found["timing.backoff_max"])
    _check_links(found["links"], nodes)
    return (*found.values(), *nodes, *strategies, *queues)


def balancing_options(config: Config) -> dict[str, object]:
    """The options of the usual strategy."""
    given = {name: getattr(config.balancing, name) for name in OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def _from_file(file: ConfigFile) -> Iterator[Setting]:
    for keys, value in _flat(file.table):
        yield _checked(".".join(keys), value, file.origin(*keys))


def _from_environment(environ: Mapping[str, str]) -> Iterator[Setting]:
    for variable, text in environ.items():
        name = variable.removeprefix("MESH_").lower().replace("__", ".")
        # Without a section it may be another program's, or one that the command line reads: MESH_URL.
        if variable.startswith("MESH_") and ("." in name or name in FIELDS):
            value = _split(text, FIELDS[name].type) if name in FIELDS else text
            yield _checked(name, value, f"environment {variable}", strict=False)


def _split(text: str, type_: Any) -> object:
    """A text as that type: lists have commas, and tables NAME=TEXT between them."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if type_ == Metadata | None and all("=" in part for part in parts):
        return {name.strip(): said.strip() for name, _, said in (part.partition("=") for part in parts)}
    return parts if type_ == tuple[str, ...] else text


def _from_overrides(overrides: Mapping[str, object], by: str) -> Iterator[Setting]:
    for name, value in overrides.items():
        if value is not None:
            yield _checked(name, value, by)


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in table.items():
        if key in SECTIONS and isinstance(value, dict):
            for inner, inner_value in value.items():
                if (key, inner) not in TABLES:
                    yield (key, inner), inner_value
        elif key not in LISTS:
            yield (key,), value


def _checked(name: str, value: object, origin: str, strict: bool = True) -> Setting:
    if name in SECTIONS:
        hint = f"Write [{name}], and its keys in the lines below."
        raise BadConfig(f"{origin}: '{name}' is a section and holds no value itself.", hint=hint)
    if name.partition(".")[0] == "nodes":  # capitals would take a name's spelling, commas a list of rules
        hint = "Write [nodes.NAME] and [[nodes.NAME.master]] into a mesh.toml."
        raise BadConfig(f"{origin}: other nodes and their rules are set in a file only.", hint=hint)
    if name.partition(".")[0] == "queues":
        raise BadConfig(
            f"{origin}: the stores of queues are set in a file only.", hint="Write [[queues]] there."
        )
    if name not in FIELDS:
        raise _unknown(name, "section" if isinstance(value, dict) else "key", origin)
    field = FIELDS[name]
    hint = "Leave it out for the default" + (f", {field.default!r}." if field.default else ".")
    converted = fitted(value, field.type, name, origin, hint, strict)
    try:
        if name in CHECKS and converted is not None:
            CHECKS[name](converted)
    except (BadConfig, BadName) as error:
        raise BadConfig(f"{origin}: {name}: {error.what}", hint=error.hint) from error
    return Setting(name, converted, origin)


def _unknown(name: str, kind: str, origin: str) -> BadConfig:
    section, key = name.split(".", 1) if "." in name else ("", name)
    known = {name.rpartition(".")[2]: name for name in (*FIELDS, *SECTIONS, *LISTS)}
    if near := difflib.get_close_matches(key, known, n=1):
        meant = known[near[0]]
        if origin.startswith("environment MESH_"):
            meant = "MESH_" + meant.upper().replace(".", "__")
        hint = f"Did you mean '{meant.removeprefix(f'{section}.')}'?"
    elif section == "node" and kind == "section":
        hint = f"The section of another node is [nodes.{key}]."
    elif section in SECTIONS:
        hint = f"Known there: {', '.join(SECTIONS[section].__struct_fields__)}."
    else:
        hint = f"Known: {', '.join((*TOP_LEVEL, *SECTIONS, *LISTS))}."
    place = f" in section [{section}]" if section else ""
    return BadConfig(f"{origin}: unknown {kind} {key[:80]!r}{place}.", hint=hint)


def _check_order(shorter: Setting, longer: Setting) -> None:
    if longer.value <= shorter.value:
        raise BadConfig(
            f"{longer.name} = {longer.value} ({longer.origin}) must be longer than "
            f"{shorter.name} = {shorter.value} ({shorter.origin})."
        )


def _check_links(links: Setting, nodes: tuple[Setting, ...]) -> None:
    if links.value == "configured" and not nodes:
        raise BadConfig(
            f'{links.origin}: links = "configured", but no node is configured: it would link nobody.',
            hint='Write a section [nodes.NAME] for each node to link, or links = "any".',
        )
