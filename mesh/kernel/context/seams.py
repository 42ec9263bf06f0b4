"""The seams: interfaces through which the kernel of a node uses capabilities that it does not import.

A component registers what it implements by a method of `Component`, and `DispatchTables` holds the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.kernel.context.conn import Conn
from mesh.mapping.decision import Decision
from mesh.operations import Put
from mesh.routing.requester import Requester
from mesh.routing.sink import Sink, Targets
from mesh.wire.commands import Answer, Hello, Introduction, Refuse, Welcome
from mesh.wire.envelope import Envelope

PutEnvelope = Callable[[Envelope], None]  # accepts a client's message for a destination here


class MessageSinks(Protocol):
    """Receivers of accepted messages other than subscribers, such as other sites."""

    def plan(self, envelope: Envelope) -> Targets:
        """Return (sink, indices) for each receiver of the envelope; indices `None` means all messages."""

    def match(self, key: str, domain: str) -> Sequence[Sink]:
        """Return the sinks that receive messages of that topic."""

    def names(self, key: str, domain: str) -> Sequence[str]:
        """Return the names of the receivers of that topic."""


@dataclass(frozen=True, slots=True)
class NamedHere:
    """The names of one kind that this node has.

    `names()` yields all of them, and `used()` the ones worth a visit, such as queues with messages or
    consumers. `state(name)` returns (state, count), or `None` if this node does not have the name.
    """

    names: Callable[[], Iterable[str]]
    used: Callable[[], Iterable[str]]
    state: Callable[[str], tuple[str, int] | None]


class JointSettlements(Protocol):
    """The settlements of one transaction: `add_settled`, `hold`, `rows`, then `land` or `give_back`."""

    @property
    def stores(self) -> Collection[str]:
        """The stores of the persistent messages that are settled."""

    def add_settled(
        self, queue: str, stream: bytes, runs: Sequence[tuple[int, int]], is_ack: bool, delay: int
    ) -> None:
        """Plan the settlement of deliveries, without effect. `delay` of a nack is in ms.

        Raises: LocalError if the session does not have all of them.
        """

    def expect(self, sign: int) -> None:
        """Subtract (`sign` -1) or add (+1) the acknowledged messages from what the queues expect."""

    def hold(self, is_prepared: bool = False) -> None:
        """Take the deliveries from their consumers, of a prepared transaction for any time."""

    def rows(self) -> Mapping[str, list[Put]]:
        """Return the rows that store the held settlements, by store."""

    def land(self) -> None:
        """Let the settlements take effect, as they are stored."""

    def give_back(self, to_consumers: bool = True) -> None:
        """Return the deliveries to their consumers, or to any consumer, as the transaction is refused."""


class JointSettling(Protocol):
    """The component that holds deliveries for transactions."""

    def plan_settlements(self, session: Any) -> JointSettlements:
        """Return the settlements of a new transaction of a session, without any yet."""

    def hold_restored(
        self, transaction: bytes, queue: str, stream: bytes, runs: Sequence[tuple[int, int]]
    ) -> None:
        """Hold messages that the store still has for a transaction, before the node restores them."""

    def restored_settlements(self, transaction: bytes) -> JointSettlements:
        """Return the settlements of a transaction of an earlier process, without any yet."""

    def keep_queue(self, name: str, sign: int) -> None:
        """Count a prepared transaction (+1), or no longer (-1), for whose puts a queue must stay."""

    def check_put(self, envelope: Envelope) -> None:
        """Raise LocalError if earlier messages of the stream are held back, which a put must not overtake."""


class NextHop(Protocol):
    """Routes to places outside this mesh. Hop names may be used wherever node names are."""

    def decide(self, name: str, waits: bool) -> Decision:
        """Return the decision on a direct message to a place. `waits`: the message may wait for a route."""

    def when_known(self, name: str, then: Callable[[], None]) -> None:
        """Call `then` once the routes to that place are known."""

    def has_way(self, hop: str) -> bool:
        """Return whether there is a route by that hop now."""

    def ship(self, hop: str) -> None:
        """Send waiting messages by that hop."""

    def describe_hop(self, hop: str) -> str:
        """Return a text about the state of that hop."""


class RemoteAddresses(Protocol):
    """Addresses that other sites serve. Requests to them are never kept at this node."""

    def when_known(self, name: str, then: Callable[[], None]) -> None:
        """Call `then` once the routes to that place are known."""

    def why_no_way(self, name: str) -> str:
        """Return the reason why there is no route to that place, as text."""

    def way(self, name: str, stream: bytes, in_vain: Collection[bytes]) -> bytes | None:
        """Return the uuid of the node to which a stream's requests are sent, or `None` if there is none.

        Nodes in `in_vain` are left out.
        """

    def why_none(self, name: str) -> str:
        """Return the reason why no request can be sent to that place by any route, or ""."""

    def accept(self, requester: Requester, envelope: Envelope, ttl: int) -> None:
        """Forward an envelope for which `way` returned this node. `ttl` is in ms; 0: no limit."""


class ConnectionRole(Protocol):
    """Handler of the connections with one role besides client and node, such as gateways of other sites."""

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
        """Return the sender to pass to command handlers, or `None` if the connection is no longer in use."""

    def describe_sender(self, conn: Conn) -> str:
        """Return the name of the other side, or "" if the connection is no longer in use."""

    def clocks(self) -> Iterator[tuple[bytes, str, int]]:
        """Yield the uuid and name of each connected node, and the ns by which its clock is ahead of ours."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A session of another site whose requests this node forwards as if the session were here.

    The callbacks send answers and replies back to that session.
    """

    stream: bytes  # its alias here
    text: str  # its name
    answer: Callable[[Answer], None]
    reply: Callable[[Envelope], None]


class GuestRequests(Protocol):
    """Forwards requests of guests."""

    def receive(self, guest: Guest, envelope: Envelope, ttl: int) -> None:
        """Forward an envelope of the guest. `ttl` is in ms; 0: no limit."""

    def forget_guest(self, guest: Guest) -> None:
        """Forget the guest, whose session has ended or waits for nothing."""

    def open_of(self, guest: Guest) -> tuple[Set[int], int]:
        """Return the numbers of the guest's messages that wait for an answer or reply, and their bytes."""
