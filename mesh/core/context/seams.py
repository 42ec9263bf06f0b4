"""The seams: interfaces through which the kernel of a node uses capabilities that it does not import.

A component registers what it implements by a method of `Component`, and `DispatchTables` holds the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from mesh.mapping.decision import Decision
from mesh.routing.sink import Sink, Targets
from mesh.services.requester import Requester
from mesh.wire.envelope import Envelope

PutEnvelope = Callable[[Envelope], None]  # accepts a client's message for a destination here


class MessageSinks(Protocol):
    """Receivers of accepted messages other than subscribers, such as other sites."""

    def plan(self, envelope: Envelope) -> Targets:
        """Return (sink, indices) of each receiver of some messages; `None` as indices means all messages."""

    def match(self, key: str, domain: str) -> Sequence[Sink]:
        """Return the sinks that receive messages of that topic."""

    def names(self, key: str, domain: str) -> Sequence[str]:
        """Return the names of the receivers of that topic."""


class NextHop(Protocol):
    """Routes to places outside this mesh. Their hops are used wherever the name of a node is used."""

    def decide(self, name: str, waits: bool) -> Decision:
        """Return the decision on a direct message to that place. `waits`: it may wait for a route."""

    def when_known(self, name: str, then: Callable[[], None]) -> None:
        """Call `then` once the routes to that place are known."""

    def has_way(self, hop: str) -> bool:
        """Return whether messages may leave by that hop now."""

    def ship(self, hop: str) -> None:
        """Send waiting messages by that hop."""

    def describe_hop(self, hop: str) -> str:
        """Return a text about the state of that hop."""


class RemoteAddresses(Protocol):
    """Addresses that are served in other places. Their requests are never kept here."""

    def when_known(self, name: str, then: Callable[[], None]) -> None:
        """Call `then` once the routes to that place are known."""

    def why_no_way(self, name: str) -> str:
        """Return as text why there is no route to that place."""

    def way(self, name: str, stream: bytes, in_vain: Collection[bytes]) -> bytes | None:
        """Return the uuid of the node to send a stream to, except those in `in_vain`, or `None`."""

    def why_none(self, name: str) -> str:
        """Return why nothing can be sent to that place by any route, or ""."""

    def accept(self, requester: Requester, envelope: Envelope, ttl: int) -> None:
        """Forward the envelope, as this node is the one that `way` returned. `ttl` is in ms; 0: no limit."""
