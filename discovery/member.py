"""Types of nodes, of rumors about nodes, and of events that happen to nodes."""

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
    """A description of a node, sent by the node itself or by another node.

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
    incarnation: int = 0  # grows when the node denies a rumor or moves
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

    `by` is the uuid of the node that suspects `node`, has declared it dead, or has left. For a living node,
    and if the accuser is not known, `by` is empty.
    """

    node: Node
    incarnation: int
    state: NodeLife
    by: bytes = b""


@dataclass(frozen=True, slots=True)
class Sighted:
    """A node that does not count as alive was reported, and is worth dialing."""

    member: Member


@dataclass(frozen=True, slots=True)
class Joined:
    """A node now counts as alive."""

    member: Member


@dataclass(frozen=True, slots=True)
class Restarted:
    """The process of a living node was replaced by one of another boot.

    Usually the node has restarted, but the process with `old_boot` may still run.
    """

    member: Member
    old_boot: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A living node has changed one of its addresses without a restart.

    `old_address` is its previous dial address, which may be unchanged.
    """

    member: Member
    old_address: str


@dataclass(frozen=True, slots=True)
class Suspected:
    """A living node is suspected to be dead, but still counts as alive."""

    member: Member


@dataclass(frozen=True, slots=True)
class SuspicionRefuted:
    """The suspicion of a node ended, because the node is alive."""

    member: Member


@dataclass(frozen=True, slots=True)
class Dead:
    """A living node was declared dead."""

    member: Member


@dataclass(frozen=True, slots=True)
class Left:
    """A living node said goodbye to this node or to another one."""

    member: Member


@dataclass(frozen=True, slots=True)
class NameClash:
    """A node introduced itself with a name that another node holds, and was not admitted."""

    holder: Member
    newcomer: Member


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two processes with different boots claim to be one living node.

    The node does not count as alive until the conflict ends.
    """

    member: Member


@dataclass(frozen=True, slots=True)
class IdentityDuplicated:
    """A second process uses the identity of this node.

    The evidence is a rumor of this node and boot with an address that this node never had. `member` has the
    description from the rumor.
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
