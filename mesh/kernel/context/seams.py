"""The seams: interfaces through which the kernel of a node uses capabilities that it does not import.

A component registers what it implements by a method of `Component`, and `DispatchTables` holds the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.kernel.context.conn import Conn
from mesh.mapping.decision import Decision
from mesh.routing.requester import Requester
from mesh.routing.sink import Sink, Targets
from mesh.wire.commands import Answer, Hello, Introduction, Refuse, Welcome
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


class ConnectionRole(Protocol):
    """Connections of one role that are neither clients nor nodes, such as gateways of other sites."""

    def greet(self, conn: Conn) -> Hello:
        """Return HELLO for a dialed connection."""

    def admit(self, conn: Conn, hello: Hello) -> Welcome | Refuse:
        """Return WELCOME, or a refusal, for a HELLO whose proof is valid."""

    def on_opened(self, conn: Conn, node: Introduction) -> None:
        """Register an inbound connection after the handshake."""

    def on_welcomed(self, conn: Conn, welcome: Welcome) -> None:
        """Register a dialed connection that the other side has accepted, or close it."""

    def on_refused(self, conn: Conn, refusal: Refuse) -> None:
        """Handle a refusal, by the other side or by this node."""

    def sender_of(self, conn: Conn) -> Any:
        """Return the sender that command handlers get, or `None` if the connection is not in use any more."""

    def describe_sender(self, conn: Conn) -> str:
        """Return the other side as text, or "" if the connection is not in use any more."""

    def clocks(self) -> Iterator[tuple[bytes, str, int]]:
        """Yield the uuid and name of each connected node, and by how many ns its clock is ahead."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A session elsewhere whose requests this node forwards as if it were a client here.

    The callbacks return answers and replies to that session.
    """

    stream: bytes  # its alias here
    text: str  # its name
    answer: Callable[[Answer], None]
    reply: Callable[[Envelope], None]


class GuestRequests(Protocol):
    """Forwards requests of guests."""

    def receive(self, guest: Guest, envelope: Envelope, ttl: int) -> None:
        """Forward messages of the guest. `ttl` is in ms; 0: no limit."""

    def leave(self, guest: Guest) -> None:
        """Forget the guest, whose session has ended or waits for nothing."""

    def open_of(self, guest: Guest) -> tuple[Set[int], int]:
        """Return the numbers of the guest's messages that wait for an answer or reply, and their bytes."""
