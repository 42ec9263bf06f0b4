"""Another site, as this gateway is linked with it: who of it is connected, and when is it dialled again?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mesh.core.desk.conn import Conn
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.wire.commands import Behind, Introduction

PING = 5.0  # s without a word of ours after which we say one
UP = "up"  # so it says of a site that it reaches
PAUSED = "paused"  # and so of one to which its own gives nothing for now
SILENCE = 15.0  # s without a word of theirs after which they are taken for gone


@dataclass(slots=True, eq=False)
class Gateway:
    """One of the other site. `said`: when it was last pinged. `behind`: what it has said of sites behind its
    own; `told`: what it was told of those behind ours.
    """

    node: Introduction
    conn: Conn
    said: float
    behind: dict[str, Behind] = field(default_factory=dict)
    told: dict[str, Behind] = field(default_factory=dict)

    def reaches(self, site: str) -> bool:
        """Does it reach that one, which is behind its own?"""
        return site in self.behind and self.behind[site].state == UP

    def has_paused(self, site: str) -> bool:
        """Does its site give that one nothing for now?"""
        return site in self.behind and self.behind[site].state == PAUSED

    @property
    def silent_at(self) -> float:
        return self.conn.heard + SILENCE

    @property
    def due(self) -> float:
        """When something is to be done about it."""
        return min(self.silent_at, self.said + PING)


class Gate:
    """All connections of this node to one site. It is dialled while there is none, at each of its addresses
    in turn; those who dial us are let in besides.
    """

    def __init__(
        self, name: str, addresses: tuple[str, ...], now: float, jitter: Callable[[], float], timing: Timing
    ) -> None:
        self.name = name
        self.addresses = addresses
        self.link = Link(name.encode(), now, jitter, timing)
        self.gateways: dict[bytes, Gateway] = {}  # by uuid
        self.dial: Conn | None = None  # under way
        self._dials = 0

    def next_address(self) -> str:
        self._dials += 1
        return self.addresses[(self._dials - 1) % len(self.addresses)]

    def conns(self) -> list[Conn]:
        return [gateway.conn for gateway in self.gateways.values()]

    def has_paused(self, site: str) -> bool:
        """Does this one give that site nothing for now? So says any of its gateways."""
        return any(gateway.has_paused(site) for gateway in self.gateways.values())

    def has(self, conn: Conn) -> bool:
        return any(gateway.conn is conn for gateway in self.gateways.values())

    def uuid_of(self, conn: Conn) -> bytes:
        """The gateway at the other end of a connection in use. StopIteration for another one."""
        return next(uuid for uuid, each in self.gateways.items() if each.conn is conn)

    def remove(self, conn: Conn) -> bool:
        """It is no more. True: that was the last one, or a dial in vain."""
        if conn is self.dial:
            self.dial = None
        else:
            uuid = next((uuid for uuid, each in self.gateways.items() if each.conn is conn), None)
            if uuid is None:
                return False
            del self.gateways[uuid]
        return not self.gateways

    def deadline(self) -> float | None:
        """When something is to be done, if nothing happens until then."""
        times = [gateway.due for gateway in self.gateways.values()]
        if (due := self.link.deadline()) is not None:
            times.append(due)
        return min(times, default=None)
