"""Observes the outcomes of transactions on the disk of a node."""

from __future__ import annotations

from collections.abc import Callable

from mesh.features.transactions.model.outcomes import OUTCOME, read_outcome
from mesh.features.transactions.node.outcome_rows import DONE
from mesh.operations import Op, Put

Tell = Callable[..., None]  # kind of the event, and its fields


def note_outcome(op: Op, tell: Tell) -> None:
    """Record the outcome of a transaction that an operation stores, if it stores one."""
    if isinstance(op, Put) and op.table == DONE and op.key[:1] == OUTCOME:
        stream, number = op.key[1:17].hex(), int.from_bytes(op.key[17:])
        tell("outcome", stream=stream, first=number, text=read_outcome(op.value).code or "OK")
