"""Replies about queues."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from mesh.errors import RemoteError
from mesh.wire.calls import Name
from mesh.wire.replies.value import OTHER_RELEASE, ReplyValue


class Opened(ReplyValue, frozen=True, kw_only=True):
    """The new epoch of a consumer.

    Attributes:
        epoch: Number of the epoch.
        void: Delivery tags of messages in `held` that no longer belong to the client: first, last, …
    """

    epoch: int
    void: list[int] = []


class DeliveriesHeld(ReplyValue, frozen=True, kw_only=True):
    """The deliveries that a session keeps at its former node.

    Attributes:
        epoch: Number of the epoch for settlements. 0: the session has none.
        lost: Delivery tags of messages that the session does not have: first, last, …
    """

    epoch: int = 0
    lost: list[int] = []


class Settlements(ReplyValue, frozen=True, kw_only=True):
    """The outcome of settlements that another node passed on.

    Attributes:
        over: Delivery tags that no longer belong to the session: first, last, …
    """

    over: list[int] = []


Late = list[tuple[int, int, str]]  # first and last unsettled tag, code of the reason


class QueuePart(Struct, frozen=True, kw_only=True):
    """The messages of a queue at one node. Fields as in QueueRow.

    Attributes:
        node: Name of the node.
        ready: Ready messages.
        out: Outstanding messages.
        delayed: Delayed messages.
        going: Messages in transit to another node.
        bytes: Bytes of all of them.
        consumers: Number of consumers.
        oldest: Age of the oldest ready message, in s.
        arrives: Messages a second that arrive, over 10 s.
        leaves: Messages a second that are done, over 10 s.
        dead: Messages dead-lettered since the node started.
        as_of: Of a disconnected node: age of these figures in s. No sum includes them.
    """

    node: Name
    ready: int = 0
    out: int = 0
    delayed: int = 0
    going: int = 0
    bytes: int = 0
    consumers: int = 0
    oldest: float = 0.0
    arrives: float = 0.0
    leaves: float = 0.0
    dead: int = 0
    as_of: float = 0.0


class QueueRow(ReplyValue, frozen=True, kw_only=True):
    """A queue, with the sums over its parts; between nodes, only the part of the replying node.

    Attributes:
        name: Name of the queue.
        terms: Terms, as declared.
        queries: Of a durable subscription: kind, text and domain of each query.
        ready: Ready messages.
        out: Outstanding messages.
        delayed: Delayed messages.
        going: Messages in transit to another node.
        bytes: Bytes of all of them.
        consumers: Number of consumers.
        oldest: Age of the oldest ready message, in s.
        arrives: Messages a second that arrive, over 10 s.
        leaves: Messages a second that are done, over 10 s.
        dead: Messages dead-lettered since the node started.
        acked: Messages done since the node started.
        redelivered: Messages redelivered since the node started.
        in_vain: Messages that a selector of a consumer scanned without a match, if 10,000 or more.
        looks_on: Whether the scan continues.
        node: Name of the node that was asked.
        parts: One row for each node with messages or consumers, for the node that was asked, and for each
            disconnected node whose figures are known.
        missing: Names of nodes that did not answer.
        away: Names of disconnected nodes that had queued messages.
    """

    name: str
    terms: dict[str, Any] = {}
    queries: list[tuple[str, str, str]] = []
    ready: int = 0
    out: int = 0
    delayed: int = 0
    going: int = 0
    bytes: int = 0
    consumers: int = 0
    oldest: float = 0.0
    arrives: float = 0.0
    leaves: float = 0.0
    dead: int = 0
    acked: int = 0
    redelivered: int = 0
    in_vain: int = 0
    looks_on: bool = False
    node: Name = ""
    parts: list[QueuePart] = []
    missing: list[str] = []
    away: list[str] = []


class QueueRows(ReplyValue, frozen=True, kw_only=True):
    """Queues, in the order of their names.

    Attributes:
        queues: One row for each queue.
        more: Value of `after` for the next page. Empty: this was the last.
        missing: Names of nodes that did not answer.
        away: Names of disconnected nodes that had queued messages.
    """

    queues: list[QueueRow] = []
    more: str = ""
    missing: list[str] = []
    away: list[str] = []


class WhyRow(Struct, frozen=True, kw_only=True):
    """Messages of a queue at one node that wait for the same reason.

    Attributes:
        node: Name of the node.
        messages: Number of messages.
        why: Reason, in words.
        is_cause: Whether no consumer at the node matches them and they do not move, or the node is
            disconnected.
    """

    node: Name
    messages: int
    why: str
    is_cause: bool = False


class QueueWhy(ReplyValue, frozen=True, kw_only=True):
    """The reasons why messages of a queue wait.

    Attributes:
        rows: One row for each node and reason.
        missing: Names of nodes that did not answer.
    """

    rows: list[WhyRow] = []
    missing: list[str] = []


class Removed(ReplyValue, frozen=True, kw_only=True):
    """The result of removing a queue or a durable subscription.

    Attributes:
        removed: Number of messages that were removed.
    """

    removed: int


class Peeked(ReplyValue, frozen=True, kw_only=True):
    """Next messages of a queue, which follow as envelopes.

    Attributes:
        tries: For each message the number of its earlier deliveries.
        more: Whether another REPLY to the same request follows.
        missing: Names of nodes that did not answer.
    """

    tries: list[int] = []
    more: bool = False
    missing: list[str] = []


class Purged(ReplyValue, frozen=True, kw_only=True):
    """The result of purging a queue.

    Attributes:
        purged: Number of messages that were discarded.
        missing: Names of nodes that did not answer.
        away: Names of disconnected nodes that had queued messages.
    """

    purged: int = 0
    missing: list[str] = []
    away: list[str] = []


class MovedOn(ReplyValue, frozen=True, kw_only=True):
    """The result of a move, or its state after 5 s.

    Attributes:
        taken: Messages that the other node has accepted.
        refused: Messages that it refused. They stay.
        going: Messages that are not answered yet.
        rest: Whether more ready messages could follow.
    """

    taken: int = 0
    refused: int = 0
    going: int = 0
    rest: bool = False


class QueueReason(Struct, frozen=True, kw_only=True):
    """Messages of a queue that are still at a node, and the reason.

    Attributes:
        queue: Name of the queue.
        messages: Number of messages.
        why: Reason, in words.
    """

    queue: str
    messages: int
    why: str


class Drain(ReplyValue, frozen=True, kw_only=True):
    """The progress of draining a node's queues.

    Attributes:
        drains: Whether the drain has begun.
        left: Messages that are still to move.
        rows: Reasons why messages wait in the 20 longest queues that are to move.
        gone: Messages that other nodes have accepted.
        stay: Messages in queues of this node alone. They stay.
        own: Names of the queues that stay.
    """

    drains: bool = False
    left: int = 0
    rows: list[QueueReason] = []
    gone: int = 0
    stay: int = 0
    own: list[str] = []


def read_late(said: object) -> Late:
    """Return the value of a reply to SETTLE. Raises: RemoteError MALFORMED for anything else."""
    try:
        return msgspec.convert(said, Late)
    except msgspec.ValidationError as error:
        what = f"the reply of the node cannot be read: {error}"
        raise RemoteError(what, hint=OTHER_RELEASE, code="MALFORMED") from error
