"""Messages that membership asks its caller to send."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.discovery.member import Node, Rumour


@dataclass(frozen=True, slots=True)
class DirectProbe:
    """A question to the node `to`: is it the node `uuid` in boot `boot`?

    The caller opens a connection if there is none.
    """

    to: bytes
    number: int
    uuid: bytes
    boot: int
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class IndirectProbe:
    """A request to the node `to` to probe `node`."""

    to: bytes
    number: int
    node: Node
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Lives:
    """The answer to the probe `number` of the node `to`: whether the probed process is alive.

    From a helper, `lives=False` can also mean that the helper's own probe was not answered.
    """

    to: bytes
    number: int
    lives: bool
    rumours: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Inform:
    """Urgent rumors for the node `to`, for which no connection is opened."""

    to: bytes
    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Urgent rumors for a few connected nodes, which the caller chooses."""

    rumours: tuple[Rumour, ...]


@dataclass(frozen=True, slots=True)
class DialProbe:
    """A connection attempt to a node's address.

    The caller reports whether the machine there refused the connection.
    """

    node: Node


DiscoveryRequest = DirectProbe | IndirectProbe | Lives | Inform | Spread | DialProbe
