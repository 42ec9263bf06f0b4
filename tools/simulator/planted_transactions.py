"""Planted bugs in transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.errors import MeshError
from mesh.features.queues.model.part.held_settlements import HeldSettlements
from mesh.features.queues.node.keeping.held_deliveries import QueueSettlements
from mesh.features.transactions.client.core.commits import ClientCommits
from mesh.features.transactions.model.outcomes import Outcomes
from mesh.features.transactions.node.outcome_rows import DONE, OutcomeRows
from mesh.features.transactions.node.several_stores import SeveralStores
from mesh.operations import Op, Put

Patch = tuple[Any, str, Any]


def outcome_in_a_second_commit() -> list[Patch]:
    rows = OutcomeRows.rows

    def apart(self: Any, *args: Any) -> list[Op]:
        for op in rows(self, *args):
            assert isinstance(op, Put)
            self._disks.own.later(DONE, op.key, op)
        return []

    return [(OutcomeRows, "rows", apart)]


def acks_in_a_second_commit() -> list[Patch]:
    return [(QueueSettlements, "rows", lambda self: {})]


def repeats_run_again() -> list[Patch]:
    return [(Outcomes, "find", lambda self, stream, number: None)]


def resent_as_publishes() -> list[Patch]:
    return [(ClientCommits, "_units", lambda self: [*self._outbox.resend(), *self._open.values()])]


def resent_after_all_else() -> list[Patch]:
    def units(self: Any) -> list[Any]:
        return [*self.plain(), *(it for it in self._open.values() if not it.is_doubtful)]

    return [(ClientCommits, "_units", units)]


def refused_and_not_given_back() -> list[Patch]:
    return [(HeldSettlements, "give_back", lambda self, *_: self._held.clear())]


def answered_before_it_is_stored() -> list[Patch]:
    commit = SeveralStores.commit

    def early(self: Any, *args: Any) -> None:
        ended = args[-1]
        told = list[MeshError | None]()

        def once(error: MeshError | None) -> None:
            if not told:
                told.append(error)
                ended(error)

        commit(self, *args[:-1], once)  # type: ignore[call-arg]
        once(None)

    return [(SeveralStores, "commit", early)]


# Seed, broken law and patches by the name of the bug.
TRANSACTIONS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a refused transaction keeps its deliveries": (38, "Q9", refused_and_not_given_back),
    "a transaction is answered before it is stored": (18, "T2", answered_before_it_is_stored),
    "a transaction is repeated as publishes": (0, "T2", resent_as_publishes),
    "a transaction is repeated behind later messages": (25, "T4", resent_after_all_else),
    "acks of a transaction are in a second commit": (18, "T3", acks_in_a_second_commit),
    "the outcome of a transaction is in a second commit": (38, "T1", outcome_in_a_second_commit),
    "the outcome of a transaction is not looked up": (18, "T2", repeats_run_again),
}
