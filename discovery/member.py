"""What is a node to those who know it, and what can happen to it?"""

from dataclasses import dataclass
from enum import StrEnum


class Presence(StrEnum):
    """What we know of a node's life."""

    SEEN = "seen"  # somebody told us of it
    ALIVE = "alive"  # it speaks
    SUSPECT = "suspect"  # it did not answer; it may still say that it lives
    DEAD = "dead"  # it did not answer, nor deny
    LEFT = "left"  # it said goodbye
    CONFLICT = "conflict"  # two processes answer for it


@dataclass(frozen=True, slots=True)
class Node:
    """What a node says of itself. Fields in the order of `mesh.wire.commands.Introduction`."""

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
    state: Presence
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
    """What is said of a node: alive, suspect, dead or left; `by` is the uuid of its accuser."""

    node: Node
    incarnation: int
    state: Presence
    by: bytes = b""
