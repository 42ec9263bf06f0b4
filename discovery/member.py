"""What is a node to those who know it, and what can happen to it?"""

from dataclasses import dataclass
from enum import StrEnum

BOOTS = 2**22  # more often no node can start: each boot has 2**40 positions of its log
LEAP = 2**20  # boots at once, of which nobody tells the truth who tells them of another


class NodeLife(StrEnum):
    """A node's life, as far as we know of it."""

    SEEN = "seen"  # somebody told us of it
    ALIVE = "alive"  # it speaks
    SUSPECT = "suspect"  # it did not answer; it may still say that it lives
    DEAD = "dead"  # it did not answer, nor deny
    LEFT = "left"  # it said goodbye
    CONFLICT = "conflict"  # two processes answer for it


@dataclass(frozen=True, slots=True)
class Node:
    """A node, as it says itself. Fields in the order of `mesh.wire.commands.Introduction`."""

    uuid: bytes
    name: str
    boot: int  # grows at each start of the node
    address: str  # where to dial it; "" = it only dials out
    also: tuple[str, ...] = ()  # the same on its other interfaces
    gossip: str = ""  # where its PUB is
    key: bytes = b""  # its Ed25519 public key, in a mesh with keys


@dataclass(frozen=True, slots=True)
class Member:
    """A node as we know it."""

    node: Node
    via: str  # the best of the ways in which we learned of it: see VIA
    state: NodeLife
    heard: float  # s, when it last spoke; for a seen one, when we were told of it
    incarnation: int = 0  # grows when it denies a rumour of its death
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


# How a node was found, the best first: what people read in the column VIA of `mesh ls`.
VIA = ("self", "mdns", "seed", "remembered", "gossip", "hello")


@dataclass(frozen=True, slots=True)
class Rumour:
    """A word about a node: alive, suspect, dead or left; `by` is the uuid of its accuser."""

    node: Node
    incarnation: int
    state: NodeLife
    by: bytes = b""


@dataclass(frozen=True, slots=True)
class Sighted:
    """Told of a node that is not alive for us, with something new about it: worth dialling."""

    member: Member


@dataclass(frozen=True, slots=True)
class Joined:
    """A node is alive that was not."""

    member: Member


@dataclass(frozen=True, slots=True)
class Restarted:
    """An alive node is another process now: the one with `old_boot` is gone."""

    member: Member
    old_boot: int


@dataclass(frozen=True, slots=True)
class Moved:
    """An alive node, the same process, is to be found elsewhere: itself, or its gossip."""

    member: Member
    old_address: str


@dataclass(frozen=True, slots=True)
class Suspected:
    """An alive node did not answer somebody. It still counts as alive."""

    member: Member


@dataclass(frozen=True, slots=True)
class Trusted:
    """A suspect is alive after all."""

    member: Member


@dataclass(frozen=True, slots=True)
class Dead:
    """A node that was alive is not."""

    member: Member


@dataclass(frozen=True, slots=True)
class Left:
    """An alive node said goodbye."""

    member: Member


@dataclass(frozen=True, slots=True)
class NameClash:
    """A newcomer asks for a name whose holder is alive: it is not admitted, and nothing changes."""

    holder: Member
    newcomer: Member


@dataclass(frozen=True, slots=True)
class Conflict:
    """A node that was alive speaks with two boots in turn: none of them counts as alive for now."""

    member: Member


@dataclass(frozen=True, slots=True)
class Doubled:
    """An answer for ourselves from somebody else, in this very boot, at a place where we have never been."""

    member: Member


MemberEvent = (
    Sighted | Joined | Restarted | Moved | Suspected | Trusted | Dead | Left | NameClash | Conflict | Doubled
)
