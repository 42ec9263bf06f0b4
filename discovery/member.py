"""Nodes as their peers know them, and the events that can happen to them."""

from dataclasses import dataclass
from enum import StrEnum

# Highest boot of a node: each boot has 2**40 positions of its log.
BOOTS = 2**22
# A boot that is reported by another node is believed up to this distance from the known one.
LEAP = 2**20


class NodeLife(StrEnum):
    """The state of a node, as far as this node knows."""

    SEEN = "seen"  # reported by others, no contact yet
    ALIVE = "alive"  # in contact
    SUSPECT = "suspect"  # did not answer, but may still deny
    DEAD = "dead"  # neither answered nor denied
    LEFT = "left"  # it said goodbye
    CONFLICT = "conflict"  # two processes answer for it


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it describes itself.

    The fields have the order of `mesh.wire.commands.Introduction`.
    """

    uuid: bytes
    name: str
    boot: int  # grows with each start of the node
    address: str  # where to dial it; "": it only dials out
    also: tuple[str, ...] = ()  # addresses on its other interfaces
    gossip: str = ""  # address of its PUB socket
    key: bytes = b""  # Ed25519 public key, in a mesh with keys


@dataclass(frozen=True, slots=True)
class Member:
    """A node as this node knows it."""

    node: Node
    via: str  # best source of its discovery, see VIA
    state: NodeLife
    heard: float  # s of its last message; if seen, of its report
    incarnation: int = 0  # grows when the node denies a rumor
    since: float = 0.0  # s, when `state` began

    @property
    def uuid(self) -> bytes:
        return self.node.uuid

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def boot(self) -> int:
        return self.node.boot

    @property
    def address(self) -> str:
        return self.node.address


# Sources of discovery, best first: the column VIA of `mesh ls`.
VIA = ("self", "mdns", "seed", "remembered", "gossip", "hello")


@dataclass(frozen=True, slots=True)
class Rumour:
    """A claim that a node is alive, suspect, dead or left.

    `by` is the uuid of its accuser, or empty.
    """

    node: Node
    incarnation: int
    state: NodeLife
    by: bytes = b""


@dataclass(frozen=True, slots=True)
class Sighted:
    """A report brought news of a node that is not alive here, so dialing it is worthwhile."""

    member: Member


@dataclass(frozen=True, slots=True)
class Joined:
    """A node now counts as alive."""

    member: Member


@dataclass(frozen=True, slots=True)
class Restarted:
    """A living node has restarted: the process with `old_boot` is gone."""

    member: Member
    old_boot: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A living node has changed its address or its gossip address, without a restart."""

    member: Member
    old_address: str


@dataclass(frozen=True, slots=True)
class Suspected:
    """A living node did not answer.

    It still counts as alive.
    """

    member: Member


@dataclass(frozen=True, slots=True)
class SuspicionRefuted:
    """The suspicion of a node was denied."""

    member: Member


@dataclass(frozen=True, slots=True)
class Dead:
    """A living node was declared dead."""

    member: Member


@dataclass(frozen=True, slots=True)
class Left:
    """A living node said goodbye."""

    member: Member


@dataclass(frozen=True, slots=True)
class NameClash:
    """A newcomer claims the name of a living node, and is not admitted."""

    holder: Member
    newcomer: Member


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two processes with different boots speak for one living node.

    Neither counts as alive for now.
    """

    member: Member


@dataclass(frozen=True, slots=True)
class IdentityDuplicated:
    """A second process uses the identity of this node.

    The evidence is a rumor of this node and boot with an address that it never had.
    """

    member: Member


MemberEvent = (
    Sighted
    | Joined
    | Restarted
    | Moved
    | Suspected
    | SuspicionRefuted
    | Dead
    | Left
    | NameClash
    | Conflict
    | IdentityDuplicated
)
