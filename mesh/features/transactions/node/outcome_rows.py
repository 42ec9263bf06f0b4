"""The outcomes of transactions, and their rows in the stores of the node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.features.transactions.model.outcomes import (
    DECISION,
    KEPT,
    Outcome,
    Outcomes,
    StoredRow,
    low_key,
    low_row,
    outcome_key,
)
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disks import Disks
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.facts import SessionClosed
from mesh.operations import Delete, Op, Put

DONE = "done"  # table
LOOK = 60.0  # s between two sweeps


class OutcomeRows(Component):
    """Component that keeps the outcome of each transaction until its client has it."""

    def __init__(self, context: NodeContext, disks: Disks) -> None:
        self._context, self._disks = context, disks
        self._outcomes = Outcomes()
        self.find, self.low = self._outcomes.find, self._outcomes.low
        self._looked = 0.0

    def start(self, beginning: Beginning) -> None:
        for store in ("", *beginning.others):
            rows = {key: row for key, row in beginning.rows(DONE, store).items() if key[:1] != DECISION}
            damaged = list(self._outcomes.restore(store, rows))
            if damaged:
                what = f"{len(damaged)} outcomes of transactions could not be read, and are deleted"
                self._context.event("disk", what, level="warning")
                self._delete((store, key) for key in damaged)
        self._delete(self._outcomes.restored())

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SessionClosed, self._on_closed),)

    def _on_closed(self, fact: SessionClosed) -> None:
        """Forget the outcomes if the client asks for none any more; otherwise it may return within a day."""
        if fact.is_bye:
            self._delete(self._outcomes.forget(fact.session.stream))

    def on_second(self) -> None:
        if self._context.clock.now - self._looked > LOOK:
            self._looked = self._context.clock.now
            self._delete(self._outcomes.expire(self._context.clock.believed - KEPT))

    def raise_low(self, stream: bytes, low: int) -> None:
        """Forget the outcomes below `low`, which the client has."""
        self._delete(self._outcomes.raise_low(stream, low))

    def rows(self, stream: bytes, number: int, low: int, outcome: Outcome) -> list[Op]:
        """Return the operations that store an outcome, before `record`."""
        return [
            Put(DONE, outcome_key(stream, number), outcome.pack()),
            Put(DONE, low_key(stream), low_row(max(low, self.low(stream)), outcome.stamp)),
        ]

    def record(self, stream: bytes, number: int, low: int, store: str, outcome: Outcome) -> None:
        """Record an outcome, whose rows are in `store`, and delete the outcomes below `low`."""
        self._delete(self._outcomes.record(stream, number, low, store, outcome))

    def store_later(self, stream: bytes, number: int, low: int, outcome: Outcome) -> None:
        """Record an outcome, and store it with the next commit of the node's own store."""
        for op in self.rows(stream, number, low, outcome):
            assert isinstance(op, Put)
            self._disks.own.later(DONE, op.key, op)
        self.record(stream, number, low, "", outcome)

    def _delete(self, rows: Iterable[StoredRow]) -> None:
        for store, key in rows:
            self._disks[store].later(DONE, key, Delete(DONE, key))
