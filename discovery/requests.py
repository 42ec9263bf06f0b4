"""Messages that membership wants to be sent."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.discovery.member import Node, Rumour


@dataclass(frozen=True, slots=True)
class DirectProbe:
    """Ask `to` whether it is that node in that boot.

    Opens a connection if there is none.
    """

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
    """Answer to the probe `number` of `to`.

    A helper that sends `lives=False` asked, but got no answer.
    """

    to: bytes
    number: int
    lives: bool
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Inform:
    """Urgent rumors for `to`.

    They do not justify a new connection.
    """

    to: bytes
    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Urgent rumors for a few connected nodes, chosen by the sender."""

    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class DialProbe:
    """Try to connect to the node's address, and report whether its machine refused."""

    node: Node


DiscoveryRequest = DirectProbe | IndirectProbe | Lives | Inform | Spread | DialProbe
