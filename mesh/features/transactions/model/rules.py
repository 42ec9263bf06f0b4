"""The decisions of a node about a COMMIT, as functions without state."""

# Law 1: a transaction has one outcome, durable before it is answered, refusals included.
# Law 2: no transaction of a session begins below `low`, the lowest number that its client may repeat.

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from mesh.wire.limits import TRANSACTIONS_OPEN


class Verdict(Enum):
    """The verdict of a node about a COMMIT, or about a question for its outcome."""

    REPEAT = "answer the durable outcome again"
    AWAIT = "answer later: the transaction is under way"
    REFUSE = "write a refusal, then answer it"
    RUN = "run the transaction"


def commit_verdict(outcome: object, is_under_way: bool, may_run: bool) -> Verdict:
    """Return the verdict about a COMMIT; a false `outcome` is none. `may_run`: nothing forbids it yet."""
    if is_under_way:
        return Verdict.AWAIT
    if outcome:
        return Verdict.REPEAT
    return Verdict.RUN if may_run else Verdict.REFUSE


def is_expired(count: int, low: int) -> bool:
    """Return whether the outcome of a transaction may have been deleted, so that it must not run."""
    return count < low


def is_within_window(count: int, low: int) -> bool:
    """Return whether a client may have the transaction `count` under way, as all below `low` are answered."""
    return low <= count < low + TRANSACTIONS_OPEN


def main_store(stores: Collection[str]) -> str:
    """Return the store that keeps the outcome of a transaction; "" is the node's own.

    `stores` are those of its persistent operations, without stores in memory.
    """
    return next(iter(stores)) if len(stores) == 1 else ""
