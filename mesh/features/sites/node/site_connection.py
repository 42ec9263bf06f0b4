"""The link of this node with another site: the connected gateways, and when to dial again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mesh.features.sites.wire import Behind
from mesh.kernel.context.conn import Conn
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.wire.commands import Introduction

PING = 5.0  # s between two pings
UP = "up"  # state of a site that is reached
PAUSED = "paused"  # state of a site that its neighbor has paused
UUID = 16  # bytes
SILENCE = 15.0  # s without receiving until a gateway counts as lost


@dataclass(slots=True, eq=False)
class Gateway:
    """A connected gateway of the other site.

    `said` is when this node last pinged it, or when the connection was opened. `behind` has the reports of
    the gateway about sites behind its own, and `told` the reports that this node sent about other sites.
    """

    node: Introduction
    conn: Conn
    said: float
    behind: dict[str, Behind] = field(default_factory=dict)
    told: dict[str, Behind] = field(default_factory=dict)

    def reaches(self, site: str) -> bool:
        """Return whether the gateway reports that it reaches `site`, which lies behind its own site."""
        return site in self.behind and self.behind[site].state == UP

    def has_paused(self, site: str) -> bool:
        """Return whether the gateway reports that its own site has paused `site`."""
        return site in self.behind and self.behind[site].state == PAUSED

    @property
    def silent_at(self) -> float:
        return self.conn.heard + SILENCE

    @property
    def due(self) -> float:
        """The time of the next ping or timeout."""
        return min(self.silent_at, self.said + PING)


class SiteConnection:
    """The connections of this node to one site.

    A site with addresses is dialed while there is no connection, at each address in turn. Inbound connections
    are accepted in addition.
    """

    def __init__(
        self, name: str, addresses: tuple[str, ...], now: float, jitter: Callable[[], float], timing: Timing
    ) -> None:
        self.name = name
        self.addresses = addresses
        self.link = Link(name.encode(), now, jitter, timing)
        self.gateways: dict[bytes, Gateway] = {}  # by uuid
        self.dial: Conn | None = None  # in progress
        self._dials = 0

    def next_address(self) -> str:
        self._dials += 1
        return self.addresses[(self._dials - 1) % len(self.addresses)]

    def conns(self) -> list[Conn]:
        return [gateway.conn for gateway in self.gateways.values()]

    def has_paused(self, site: str) -> bool:
        """Return whether any gateway of this neighbor reports that `site` is paused."""
        return any(gateway.has_paused(site) for gateway in self.gateways.values())

    def has(self, conn: Conn) -> bool:
        return any(gateway.conn is conn for gateway in self.gateways.values())

    def uuid_of(self, conn: Conn) -> bytes:
        """Return the uuid of the gateway at the other end of a connection in use. Raises: StopIteration."""
        return next(uuid for uuid, each in self.gateways.items() if each.conn is conn)

    def remove_connection(self, conn: Conn) -> bool:
        """Remove a connection, and return whether the site has none left.

        The result is `False` if the connection was unknown.
        """
        if conn is self.dial:
            self.dial = None
        else:
            uuid = next((uuid for uuid, each in self.gateways.items() if each.conn is conn), None)
            if uuid is None:
                return False
            del self.gateways[uuid]
        return not self.gateways

    def deadline(self) -> float | None:
        """Return the time of the next ping, timeout or dial, or None."""
        times = [gateway.due for gateway in self.gateways.values()]
        if (due := self.link.deadline()) is not None:
            times.append(due)
        return min(times, default=None)
