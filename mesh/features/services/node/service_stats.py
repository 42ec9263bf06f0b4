"""Statistics on messages that clients here send to addresses, for metrics, node states and snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from mesh.features.services.model.busiest import Busiest, Sums, sums
from mesh.features.services.model.figures import NOWHERE, ServiceFigures
from mesh.features.services.model.sent_requests import EnvelopeWay
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.wire.envelope import REQUEST, Envelope
from mesh.wire.limits import FARED
from mesh.wire.replies import FaredRow, FaredRows


class ServiceStats:
    """The statistics of one node, as its own clients see the services."""

    def __init__(self, context: NodeContext, peers: Mapping[bytes, Peer]) -> None:
        self._context = context
        self._peers = peers
        self.figures = ServiceFigures()
        self._busiest = Busiest(FARED)

    def as_metrics(self) -> dict[str, int | float]:
        every, now = self.figures.all, self._context.clock.now
        return {
            "requests": every.requests,
            "replies": every.replies,
            "request_failures": every.failures,
            "request_p50": self.figures.latency(now, 0.5),
            "request_p99": self.figures.latency(now, 0.99),
        }

    def by_address(self) -> FaredRows:
        """Return the statistics of the busiest addresses, and the sum of all others."""
        found: dict[str, Sums] = {}
        for address, fared in self.figures.each():
            found[address] = found.get(address, Sums()) + sums(fared)
        told = self._busiest.select(sums(self.figures.all), found)
        return FaredRows(
            addresses=[FaredRow(address=address, **asdict(row)) for address, row in sorted(told.items())]
        )

    def nobody(self, e: Envelope, code: str) -> None:
        """Count requests to an address that no node serves; other messages are not counted."""
        if e.flags & REQUEST:
            self.figures.count_requests(e.to, NOWHERE, e.count, code)

    def count_answers(self, way: EnvelopeWay, n: int, state: str) -> None:
        """Count n messages that each node of `way` accepted or refused, as the state says."""
        for uuid, matched in way.nodes.items():
            if n and way.is_request and (matched != 0 or state != "OK"):
                self.figures.count_requests(way.to, self.name(uuid), n, state)
            elif n and matched != 0 and state == "OK":
                self.figures.sent(way.to, self.name(uuid), n)

    def count_replies(self, uuid: bytes, way: EnvelopeWay, e: Envelope, places: Sequence[int]) -> None:
        """Count the replies of that node to some messages of an envelope; late replies count as failures."""
        now, name = self._context.clock.now, self.name(uuid)
        if now > way.until:
            self.figures.count_failed(way.to, name, len(places), "EXPIRED")
        else:
            self.figures.count_replies(way.to, name, e, places, now - way.went, now)

    def count_failed(self, way: EnvelopeWay, n: int, code: str) -> None:
        """Count n accepted messages that will get no reply."""
        for uuid in way.nodes if n else ():
            self.figures.count_failed(way.to, self.name(uuid), n, code)

    def owed(self, way: EnvelopeWay, uuid: bytes, code: str) -> None:
        """Count a missing reply of one node to a request to all consumers."""
        self.figures.count_failed(way.to, self.name(uuid), 1, code)

    def name(self, uuid: bytes) -> str:
        """Return the name of that node, or its uuid in hex if it is unknown."""
        if uuid == self._context.me.uuid:
            return self._context.me.name
        peer = self._peers.get(uuid)
        return uuid.hex() if peer is None else peer.node.name
