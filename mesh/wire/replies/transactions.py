"""Replies to questions about transactions."""

from __future__ import annotations

from mesh.wire.replies.value import ReplyValue


class TxOutcome(ReplyValue, frozen=True, kw_only=True):
    """The outcome of a transaction.

    Attributes:
        outcome: `committed` or `refused`.
        answers: Of a committed one: state, matched and text for each envelope, as in the REPLY to COMMIT.
        code: Code of the refusal.
        text: Text of the refusal.
        index: Index of the refused settlement or envelope. -1: none.
    """

    outcome: str = ""
    answers: list[tuple[str, int, str]] = []
    code: str = ""
    text: str = ""
    index: int = -1
