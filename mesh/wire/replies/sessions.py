"""Replies to questions about sessions that move between nodes."""

from __future__ import annotations

from mesh.wire.replies.topics import Values
from mesh.wire.replies.value import ReplyValue


class Resumed(Values, frozen=True, kw_only=True):
    """A page of a log, whose messages follow as envelopes.

    Attributes:
        end: Last position of the log that belongs to the subscription.
        next: Position at which the next page begins. Above `end`: there is none.
        positions: Position of each envelope.
    """

    end: int = 0
    next: int = 0
    positions: list[int] = []


class Collected(Values, frozen=True, kw_only=True):
    """Direct messages of a session, which follow as envelopes.

    Attributes:
        first: Number of the first message.
        gaps: For each envelope, the number of messages before it that the home lost.
    """

    first: int = 0
    gaps: list[int] = []


class SessionReleased(ReplyValue, frozen=True, kw_only=True):
    """Confirmation that a session was released.

    Attributes:
        is_closed: Whether the node holds nothing of the session any longer.
        left: Ids of masters of which it holds messages that were not released.
    """

    is_closed: bool = False
    left: list[bytes] = []
