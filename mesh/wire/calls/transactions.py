"""Questions about transactions."""

from __future__ import annotations

from mesh.wire.calls.sessions import AskOfVisit
from mesh.wire.header import FromOne


class AskTxOutcome(AskOfVisit, frozen=True, kw_only=True):
    """Return the outcome of a transaction of a session that moved from the target to another node.

    The client asks the node where its session is, which asks the target. The question decides: the target
    accepts no COMMIT of the earlier visit any more, and records a refusal if it has no outcome. It answers
    when the outcome is on disk.

    Attributes:
        count: Number of the transaction.
        low: All transactions of the session at the target below this number are answered.
    """

    verb = "tx_outcome"
    count: FromOne
    low: FromOne = 1
