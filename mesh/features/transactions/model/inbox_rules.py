"""The rules of an inbox in a user's database: whether a job is begun, and which rows are deleted.

All times are in µs since 1970.
"""

# Law 1: the row is inserted before the effects, in their transaction. Looking it up is not enough.
# Law 2: a redelivered message without a row is begun only if its row cannot have been deleted.
# Law 3: a delivery that was held for half of the time for which rows are kept is returned unbegun.

from __future__ import annotations

from enum import Enum

KEEP = 7 * 24 * 3600.0  # s
EVERY = 1000  # jobs from one deletion to the next, and rows that it deletes


class InboxVerdict(Enum):
    """The verdict of a consumer about a delivery, by its inbox row."""

    GIVE_BACK = "return the delivery unbegun"
    WAIT = "wait for the transaction that inserted the row"
    DONE_BEFORE = "acknowledge without an effect"
    UNKNOWN = "dead-letter: its row may have been deleted"
    BEGIN = "begin"


def inbox_verdict(
    has_row: bool, is_row_open: bool, is_redelivered: bool, may_be_deleted: bool, is_held_long: bool
) -> InboxVerdict:
    """Return the verdict about a delivery.

    `is_row_open`: another transaction has inserted the row, and is not committed. `may_be_deleted`: rows as
    old as the message have been deleted. `is_held_long`: the consumer has it for half of that age.
    """
    if is_held_long:
        return InboxVerdict.GIVE_BACK
    if is_row_open:
        return InboxVerdict.WAIT
    if has_row:
        return InboxVerdict.DONE_BEFORE
    return InboxVerdict.UNKNOWN if is_redelivered and may_be_deleted else InboxVerdict.BEGIN


def inbox_key(stream: bytes, message: str, outbox_row: str | None) -> str:
    """Return the key of a message's row: its id, or the stream and the row of the outbox it comes from.

    A row that is sent again after a restore has another number, so another id.
    """
    return message if outbox_row is None else f"{stream.hex()}/{outbox_row}"


def is_held_long(held: float, keep: float) -> bool:
    """Return whether a delivery was held for so long that its row may be deleted soon (s)."""
    return held > keep / 2


def is_deletion_due(jobs: int) -> bool:
    """Return whether old rows are deleted with this job of a consumer; the first one is 1."""
    return jobs % EVERY == 0


def kept_from(now: int, keep: float) -> int:
    """Return the time before which rows are deleted."""
    return now - int(keep * 1e6)
