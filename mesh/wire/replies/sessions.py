"""Replies to questions about sessions that move between nodes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from mesh.wire.replies.topics import Values
from mesh.wire.replies.value import ReplyValue


class ResumedPage(Struct, frozen=True, kw_only=True):
    """A page of a log for one subscription.

    Attributes:
        end: Last position of the log that belongs to the subscription.
        next: Position at which the next page begins. Above `end`: there is none.
        positions: Position of each envelope.
        code: Code of a refusal. Empty: none.
        masters: In the first page: ids of further nodes that may have messages for the query.
    """

    end: int = 0
    next: int = 0
    positions: list[int] = []
    code: str = ""
    masters: Annotated[list[bytes], Meta(max_length=64)] = []


class Resumed(ReplyValue, frozen=True, kw_only=True):
    """Pages of a log, whose messages follow as envelopes.

    Attributes:
        pages: A ResumedPage for each subscription of the question. The envelopes of the first one come first.
    """

    pages: list[ResumedPage] = []


class Collected(Values, frozen=True, kw_only=True):
    """Direct messages of a session, which follow as envelopes.

    Attributes:
        first: Number of the first message.
        gaps: For each envelope, the number of messages before it that the home lost.
    """

    first: int = 0
    gaps: list[int] = []


class Refilled(Values, frozen=True, kw_only=True):
    """A page of the master's log, whose messages follow as envelopes.

    Attributes:
        end: Last position of the log that belongs to the slave.
        next: Position at which the next page begins. Above `end`: there is none.
        positions: Position of each envelope.
        master: Id of the master.
    """

    end: int = 0
    next: int = 0
    positions: list[int] = []
    master: bytes = b""


class SessionReleased(ReplyValue, frozen=True, kw_only=True):
    """Confirmation that a session was released.

    Attributes:
        is_closed: Whether the node holds nothing of the session any longer.
        left: Ids of masters of which it holds messages that were not released.
        dropped: Numbers of subscriptions, each with the number of its messages that no log has and that the
            client has not received. 0: an unknown number, as the node restarted.
    """

    is_closed: bool = False
    left: list[bytes] = []
    dropped: list[tuple[int, int]] = []


class LeftRow(Struct, frozen=True, kw_only=True):
    """Things of one kind that are still at a node that is drained.

    Attributes:
        step: Step of the drain that handles them, as in NodeDrained.
        what: Kind of the things, as text.
        count: Number of the things.
        fate: `"moves"`: the drain waits for them. `"stays"`: they cannot move. `"waits"`: they wait on disk
            for a node that is down.
        node: Name of the node for which they wait. Empty: none.
        why: Reason why they are left, as text.
    """

    step: str
    what: str
    count: int
    fate: str
    node: str = ""
    why: str = ""


class NodeDrained(ReplyValue, frozen=True, kw_only=True):
    """The progress of a drain of a node with its clients.

    Attributes:
        drains: Whether the drain has begun.
        step: `"staying"` (no drain), `"closed"`, `"quiet"`, `"clients"`, `"queues"`, `"outbound"`, `"log"` or
            `"done"`.
        is_complete: Whether nothing is left but messages for nodes that are down or absent clients.
        left: The things that are left, in the order of the steps, at most 256.
    """

    drains: bool = False
    step: str = "staying"
    is_complete: bool = False
    left: list[LeftRow] = []
