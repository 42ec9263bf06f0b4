"""What does membership want said, and to whom?"""

from __future__ import annotations

from dataclasses import dataclass

from discovery.member import Node, Rumour


@dataclass(frozen=True, slots=True)
class DirectProbe:
    """Ask `to` whether it is that node, in that boot, and lives. Needs a connection, if there is none."""

    to: bytes
    number: int
    uuid: bytes
    boot: int
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class IndirectProbe:
    """Ask `to` whether it can reach that node."""

    to: bytes
    number: int
    node: Node
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Lives:
    """Answer what `to` asked with this number. Not `lives` from a helper: I asked, and heard nothing."""

    to: bytes
    number: int
    lives: bool
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Inform:
    """News for `to` that should not wait; where no connection is, they are not worth one."""

    to: bytes
    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """The same for a few of those to whom there is a connection, whoever they are."""

    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class DialProbe:
    """Try to open a connection to that node's address, and say whether the machine there refused it."""

    node: Node


DiscoveryRequest = DirectProbe | IndirectProbe | Lives | Inform | Spread | DialProbe
