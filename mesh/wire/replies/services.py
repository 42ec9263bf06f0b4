"""Replies about addresses."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import ReplyValue


class ServedAt(Struct, frozen=True, kw_only=True):
    """A node where an address is served.

    Attributes:
        node: Name of the node.
        uuid: Its id, in hexadecimal.
        consumers: Number of consumers there for messages from any node.
        numbers: Sequence numbers of these consumers, as in Row; empty if they are more than 100.
    """

    node: str
    uuid: str
    consumers: int
    numbers: list[int] = []


class ServedRow(Struct, frozen=True, kw_only=True):
    """A served address.

    Attributes:
        address: The address.
        nodes: One row for each node that serves it.
    """

    address: str
    nodes: list[ServedAt]


class ServedRows(ReplyValue, frozen=True, kw_only=True):
    """Served addresses, sorted.

    Attributes:
        addresses: One row for each address.
        next: As in NodeRows.
        missing: Names of nodes that did not answer, at most 256.
    """

    addresses: list[ServedRow] = []
    next: str = ""
    missing: list[str] = []


class FaredRow(Struct, frozen=True, kw_only=True):
    """Counters of messages to an address.

    Attributes:
        address: The address, or `other` for all others together.
        sent: Accepted messages that expect no reply.
        requests: Requests that were accepted or refused.
        replies: Replies that were in time and reported no failure.
        failures: Requests that failed.
        seconds: Sum of the times until the replies, in s.
    """

    address: str
    sent: int = 0
    requests: int = 0
    replies: int = 0
    failures: int = 0
    seconds: float = 0.0


class FaredRows(ReplyValue, frozen=True, kw_only=True):
    """Counters of messages to addresses, since the start of the node.

    The counters of an address begin when the address becomes one of the busiest.

    Attributes:
        addresses: The busiest addresses, and one row for all others.
    """

    addresses: list[FaredRow] = []


class ServerRow(ServedAt, frozen=True, kw_only=True):
    """A node to which a message to an address could go.

    Attributes:
        is_here: Whether it is the node that was asked.
        load: Its load, 0 to 1.
        outstanding: Messages sent there by the replying node that no server has begun.
        latency: Recent time until a server begins, in s.
        weight: Weight of the node.
    """

    is_here: bool
    load: float | None
    outstanding: int
    latency: float
    weight: float


class Servers(ReplyValue, frozen=True, kw_only=True):
    """Nodes to which a message to an address could go.

    Attributes:
        servers: One row for each node, in the order of choice.
        strategy: Name of the balancer.
        is_ordered: Whether the order is independent of the message.
        text: Why there is no node.
    """

    servers: list[ServerRow]
    strategy: str
    is_ordered: bool
    text: str = ""
