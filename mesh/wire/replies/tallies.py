"""Replies to questions about tallies."""

from __future__ import annotations

from mesh.wire.replies.value import ReplyValue


class TallyAdded(ReplyValue, frozen=True, kw_only=True):
    """The outcome of an addition.

    Attributes:
        code: `OVERFLOW` or `STALE_WRITE`. Empty: it counts.
    """

    code: str = ""


class TallySum(ReplyValue, frozen=True, kw_only=True):
    """The value of a tally.

    Attributes:
        value: Sum of the rows of all nodes.
        missing: Names of known nodes that did not answer; their rows may be outdated.
    """

    value: int = 0
    missing: list[str] = []


class TallyRow(ReplyValue, frozen=True, kw_only=True):
    """The row of a node.

    Attributes:
        row: Name of the row: uuid of the node, and the number of its store. Empty: it has none.
        version: Number of additions that it counts.
        total: Their sum.
    """

    row: str = ""
    version: int = 0
    total: int = 0


class TallyNames(ReplyValue, frozen=True, kw_only=True):
    """Names of tallies.

    Attributes:
        names: The names.
        next: Value of `after` for the next page. Empty: this was the last.
    """

    names: list[str] = []
    next: str = ""
