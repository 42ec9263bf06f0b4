"""Messages that membership asks its caller to send."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.discovery.member import Node, Rumour


@dataclass(frozen=True, slots=True)
class DirectProbe:
    """A question to `to` whether it is the node `uuid` in boot `boot`.

    A connection is opened if there is none.
    """

    to: bytes
    number: int
    uuid: bytes
    boot: int
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class IndirectProbe:
    """A request to `to` to probe `node`."""

    to: bytes
    number: int
    node: Node
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Lives:
    """The answer to the probe `number` of `to`.

    From a helper, `lives=False` means that its own probe was not answered.
    """

    to: bytes
    number: int
    lives: bool
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Inform:
    """Urgent rumors for `to`, which do not justify a new connection."""

    to: bytes
    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Urgent rumors for a few connected nodes, chosen by the sender."""

    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class DialProbe:
    """An attempt to connect to the node's address, which reports whether its machine refused."""

    node: Node


DiscoveryRequest = DirectProbe | IndirectProbe | Lives | Inform | Spread | DialProbe
