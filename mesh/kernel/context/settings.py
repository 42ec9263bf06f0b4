"""The settings of a core: its identity, keys, limits and intervals."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mesh.balancers.base import Balancer
from mesh.mapping.rules import Rule
from mesh.proof import sealed
from mesh.routing.overflow import Credit
from mesh.site_policy.site_settings import SiteSettings
from mesh.wire.commands import Introduction
from mesh.wire.limits import MAX_CONTENT, MIB, TRANSACTION_BYTES, VERSION_MAX

LinkTime = Literal["ping", "backoff_min", "backoff_max", "patience"]


@dataclass(frozen=True, slots=True)
class SiteKeys:
    """The keys with which gateways of this site enter another site."""

    cluster: str
    secret: bytes = field(repr=False)  # secret that HELLO proves there
    server: str  # public CURVE key (Z85) of its sockets


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The keys of this mesh for handshakes.

    `secrets` has the secret of each role: "node", "client" and "monitor".
    """

    server: str  # public CURVE key (Z85) of this mesh's sockets
    mine: str  # public CURVE key (Z85) with which this node dials
    secrets: Mapping[str, bytes] = field(repr=False)
    sign: Callable[[bytes], bytes] = field(repr=False)  # our Ed25519 signature of a text
    verify: Callable[[bytes, bytes, bytes], bool]  # of (public key, signature, text)
    passwd: str = field(default="", repr=False)  # scrypt hash of the password for peers; "" = none
    passwds: Mapping[str, str] = field(default_factory=dict, repr=False)  # ours at other nodes, by name
    admin: bytes = b""  # Ed25519 key of the mesh's admin; b"" = none
    relays: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # secrets of gateways, by site
    sites: Mapping[str, SiteKeys] = field(default_factory=dict)  # keys of our gateways, by site


def no_signature(key: bytes, signature: bytes, text: bytes) -> bool:
    """Return False: without a way to check signatures, none is valid."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one core, in bytes, counts and seconds."""

    me: Introduction
    cluster: str = "default"
    secret: bytes = field(default=b"", repr=False)  # the user's cookie, or the node secret
    keyring: "Keyring | None" = None  # None = a mesh on this machine only
    verify: Callable[[bytes, bytes, bytes], bool] = no_signature  # of (public key, signature, text)
    seal: bytes = field(default=b"", repr=False)  # signs our states where there are no keys
    accept_rollback: bool = False  # accept a store that was rolled back
    wire_version: int = VERSION_MAX  # newest supported version
    hosts: Callable[[], Collection[str]] = tuple  # IP addresses of this machine at present
    seeds: tuple[str, ...] = ()  # addresses to begin with
    max_content: int = MAX_CONTENT
    transaction_bytes: int = TRANSACTION_BYTES
    prepared_warning: float = 3600.0  # s until an event reports a prepared transaction
    window_bytes: int = 4 * MIB  # unanswered publishes of a client; items in flight
    window_count: int = 1024
    backlog_bytes: int = 64 * MIB  # waiting here for one subscriber
    topics_bytes: int = 64 * MIB  # retained values
    linger: float = 60.0  # s that subscriptions of a lost client are kept
    slow_consumer: float = 10.0  # s that a dropping subscriber may read nothing
    peer_linger: float = 3600.0  # s that subscriptions of a lost peer are kept
    ping: float = 2.0
    silence: float = 10.0  # s without traffic until a client is disconnected
    busy: float = 1800.0  # likewise, with deliveries to settle
    backoff_min: float = 0.1
    backoff_max: float = 30.0
    max_sessions: int = 16_384
    max_key_sessions: int = 1_024  # of clients with the same key
    max_connections: int = 3_840  # of clients
    address_connections: Mapping[str, int] = field(default_factory=dict)  # likewise, by bound address
    max_key_connections: int = 512  # inbound, with the same key
    max_subscriptions: int = 1_000  # of one session
    max_all_subscriptions: int = 100_000  # of all sessions
    link_messages: int = 64  # item messages in flight on one link
    scope: str = "mesh"  # of messages without a domain: "mesh" or "local"
    links: str = "any"  # nodes that may be linked: "any" or "configured"
    known: tuple[str, ...] = ()  # names of the configured nodes
    rules: tuple[Rule, ...] = ()
    patience: float = 1.0  # s until a publisher is warned that it waits
    # By name of a node: the times of the connection to it that differ.
    of_nodes: Mapping[str, Mapping[LinkTime, float]] = field(default_factory=dict)
    disconnects: frozenset[str] = frozenset()  # nodes that drop what they hold for us when we stop
    seed_names: Mapping[str, str] = field(default_factory=dict)  # of the nodes expected at `seeds`
    stores: tuple[tuple[str, str], ...] = ()  # (pattern of queues, their store); first match wins
    volatile: frozenset[str] = frozenset()  # stores in memory only; "" is the node's own
    memory_bytes: int = 128 * MIB  # of waiting messages that are also on disk
    inboxes_bytes: int = 256 * MIB  # in all inboxes of disconnected receivers
    sessions_bytes: int = 512 * MIB  # unread or unsettled, for all sessions
    durable_bytes: int = 1024 * MIB  # in a durable subscription
    durable_full: str = "drop_oldest"  # when it is full; or "reject"
    tailback_bytes: int = 64 * MIB  # in the outbound buffer
    tailback_count: int = 100_000  # messages in it
    tailback_ttl: float = 86_400.0  # s that a message stays in it
    probe: float = 1.0  # s between two probes of SWIM
    state: float = 2.0  # s between two of our own gossiped states
    queue_reports: float = 2.0  # s between two reports of a queue whose figures changed
    snapshots: float = 0.0  # s between two snapshot lines; 0 = none
    remember: bool = True  # dial known nodes at the start
    balancer: Balancer | None = None  # chooses among nodes; None = round robin
    nameservice: bool = False  # follow the names of all nodes, and answer for them
    adopts_parents: bool = False  # takes another next hop while the configured one is lost
    site: SiteSettings = field(default_factory=SiteSettings)
    domain_balancers: Mapping[str, Balancer] = field(default_factory=dict)  # replaces `balancer`, by domain
    address_balancers: tuple[tuple[str, Balancer], ...] = ()  # by pattern of the address; first match wins

    @property
    def credit(self) -> Credit:
        return Credit(self.window_bytes, self.window_count, self.backlog_bytes)

    def of_link(self, time: LinkTime, node: str) -> float:
        """Return a time of the connection to `node`, in seconds: its own, or else that of all nodes."""
        usual: float = getattr(self, time)
        return self.of_nodes[node].get(time, usual) if node in self.of_nodes else usual

    def sign(self, text: bytes) -> bytes:
        """Return the signature of a text by this node's key; without keys, by its private seal."""
        return self.keyring.sign(text) if self.keyring is not None else sealed(self.seal, text)


CONFIRM = 2.0  # s that a subscription or a get waits for peers
CONNECT = 5.0  # s: a connection without a finished handshake is closed
