"""What a core must be told at its start: who it is and how much is allowed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from balancers.base import Balancer
from mesh.mapping.rules import Rule
from mesh.proof import sealed
from mesh.routing.overflow import Credit
from mesh.sites.accepting import Accepting
from mesh.sites.selection import Selection
from mesh.wire.commands import Introduction
from mesh.wire.limits import MAX_CONTENT, MIB, VERSION_MAX


@dataclass(frozen=True, slots=True)
class SiteKeys:
    """The keys by which gateways of this site come into another one."""

    cluster: str
    secret: bytes = field(repr=False)  # what HELLO proves there
    server: str  # public CURVE key (Z85) of its sockets


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The keys of this mesh that the door needs. Secrets by role: "node", "client", "monitor"."""

    server: str  # public CURVE key (Z85) of this mesh's sockets
    mine: str  # public CURVE key (Z85) with which this node dials
    secrets: Mapping[str, bytes] = field(repr=False)
    sign: Callable[[bytes], bytes] = field(repr=False)  # our Ed25519 signature of a text
    verify: Callable[[bytes, bytes, bytes], bool]  # (public key, signature, text): is it theirs?
    passwd: str = field(default="", repr=False)  # scrypt hash of what others must tell us; "" = nothing
    passwds: Mapping[str, str] = field(default_factory=dict, repr=False)  # what we tell nodes, by name
    admin: bytes = b""  # the Ed25519 key that signs what only the mesh's admin may say; b"": nobody may
    relays: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # what gateways prove here, by site
    sites: Mapping[str, SiteKeys] = field(default_factory=dict)  # and by what ours come in there


def no_signature(key: bytes, signature: bytes, text: bytes) -> bool:
    """Of a core that nobody gave a way to check any: none holds."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Bytes, counts and seconds."""

    me: Introduction
    cluster: str = "default"
    secret: bytes = field(
        default=b"", repr=False
    )  # the user's cookie; with keys, the secret of the role "node"
    keyring: "Keyring | None" = None  # None: a mesh without keys, on this machine only
    verify: Callable[[bytes, bytes, bytes], bool] = (
        no_signature  # (public key, signature, text): is it theirs?
    )
    seal: bytes = field(default=b"", repr=False)  # signs our states where there are no keys: for ourselves
    accept_rollback: bool = False  # go on with a store that has been further
    wire_version: int = VERSION_MAX  # the newest that it speaks
    seeds: tuple[str, ...] = ()  # addresses to begin with
    max_content: int = MAX_CONTENT
    window_bytes: int = 4 * MIB  # unanswered publishes of a client, and items under way to a subscriber
    window_count: int = 1024
    backlog_bytes: int = 64 * MIB  # waiting here for one subscriber
    topics_bytes: int = 64 * MIB  # retained values
    linger: float = 60.0  # a vanished client's subscriptions are kept this long
    slow_consumer: float = 10.0  # a subscriber that messages are dropped for may stand still this long
    peer_linger: float = 3600.0  # likewise of a node that is down
    ping: float = 2.0
    pings: Mapping[str, float] = field(default_factory=dict)  # by name of the node, where it differs
    silence: float = 10.0  # unheard for this long a client is given up,
    busy: float = 1800.0  # … or one that has messages or requests to settle: its loop may be blocked
    backoff_min: float = 0.1
    backoff_max: float = 30.0
    max_sessions: int = 16_384
    max_key_sessions: int = 1_024  # of clients with one key
    max_key_connections: int = 512  # that came in, with one key
    max_subscriptions: int = 1_000  # of one session,
    max_all_subscriptions: int = 100_000  # and of all
    link_messages: int = 64  # item messages under way on one link
    scope: str = "mesh"  # where messages without a domain live: "mesh" or "local"
    links: str = "any"  # which nodes may be linked: "any" that is seen, or the "configured" ones
    known: tuple[str, ...] = ()  # names of the configured ones
    rules: tuple[Rule, ...] = ()
    patience: float = 1.0  # s without an answer after which a publisher is told that its message waits
    stores: tuple[tuple[str, str], ...] = ()  # (pattern of queues, their store); the first counts
    volatile: frozenset[str] = frozenset()  # those that are gone with the process; "" is the node's own
    memory_bytes: int = 128 * MIB  # of what waits and is on the disk, too; the rest waits there alone
    inboxes_bytes: int = 256 * MIB  # in all inboxes, beyond which nothing waits for who is not connected
    sessions_bytes: int = 512 * MIB  # in memory for all sessions, and not taken or settled
    durable_bytes: int = 1024 * MIB  # in a durable subscription,
    durable_full: str = "drop_oldest"  # and what it does when it is full; or "reject"
    tailback_bytes: int = 64 * MIB  # waiting here for masters,
    tailback_count: int = 100_000  # in messages,
    tailback_ttl: float = 86_400.0  # and for how long
    probe: float = 1.0  # s between two probes of SWIM
    state: float = 2.0  # s between two of our own gossiped states
    snapshots: float = 0.0  # s between two lines of each figure in the snapshots; 0: none are written
    remember: bool = True  # dial at start the nodes that were met before
    balancer: Balancer | None = None  # which of several nodes is taken; None: each in turn
    site: str = ""  # the name of this one; "": it is none, and knows none
    is_relay: bool = False  # this node may be a gateway,
    sites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # to these: addresses by their names
    ways: Mapping[str, str] = field(
        default_factory=dict
    )  # of all sites, the neighbour by which each is reached
    relays: int = 1  # gateways to one site that share the work
    selection: Selection = field(default_factory=Selection)  # what goes to which site,
    outboxes: Mapping[str, int] = field(default_factory=dict)  # bytes that may wait here for each,
    rejecting: frozenset[str] = frozenset()  # those for which nothing is accepted beyond that,
    accepting: Mapping[str, Accepting] = field(default_factory=dict)  # and what may come from each
    domain_balancers: Mapping[str, Balancer] = field(default_factory=dict)  # in its place, by domain,
    address_balancers: tuple[tuple[str, Balancer], ...] = ()  # by pattern of the address; the first counts

    @property
    def credit(self) -> Credit:
        """The credit of one subscriber."""
        return Credit(self.window_bytes, self.window_count, self.backlog_bytes)

    @property
    def has_sites(self) -> bool:
        """Whether this node's file names other sites."""
        return bool(self.ways or self.sites)

    def sign(self, text: bytes) -> bytes:
        """By this node's key; without keys by its seal, which only itself can check."""
        return self.keyring.sign(text) if self.keyring is not None else sealed(self.seal, text)


CONFIRM = 2.0  # s: a subscription, or a get, waits this long for peers that are alive but do not answer
CONNECT = 5.0  # s: a connection without a finished handshake is closed
