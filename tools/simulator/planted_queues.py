"""Planted bugs in queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any
from unittest.mock import patch

from mesh.features.queues.model.consumers.leased_deliveries import LeasedDeliveries
from mesh.features.queues.model.envelopes.counts import Runs, numbers_of
from mesh.features.queues.model.envelopes.envelope_row import read_envelope_row
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.delayed_messages import DelayedMessages
from mesh.features.queues.model.part.queue_consumers import QueueConsumers
from mesh.features.queues.model.part.queue_deliveries import QueueDeliveries
from mesh.features.queues.node.keeping.consumer_table import ConsumerTable
from mesh.features.queues.node.keeping.dead_lettering import DeadLettering
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.rows import CONSUMER, Rows
from mesh.features.queues.node.keeping.settlement_rows import PART
from mesh.kernel.context.node_clock import NodeClock
from mesh.streams.ranges import Ranges
from mesh.wire.codec import pack

Patch = tuple[Any, str, Any]


def acked_before_it_is_stored() -> list[Patch]:
    def at_once(self: Any) -> None:
        answers, self._answers = self._answers, {}
        for rows, each in answers.items():
            self._written(each, None)
            rows.commit_if_any(lambda error: None)

    return [(ConsumerTable, "_answer_settlements", at_once)]


def _before_its_row(table: str) -> list[Patch]:
    """Report a row of `table` as stored before it is."""
    commit = Rows._commit

    def early(self: Any, op: Any, then: Any) -> None:
        commit(self, op, then if op.table != table else lambda error: None)
        if op.table == table:
            then(None)

    return [(Rows, "_commit", early)]


def rows_by_index() -> list[Patch]:
    def by_index(self: Any) -> bytes:
        row = read_envelope_row(written(self) or pack([b"", {}, []]))
        places, done = {number: i for i, number in enumerate(_numbers(self.envelope.ranges()), 1)}, Ranges()
        for number in _numbers(Ranges.unpack(row.done)):
            done.add(places[number], places[number])
        tries = {places[number]: times for number, times in row.tries.items()}
        return pack([done.pack(), tries, row.late]) if done or tries or row.late else b""

    written = QueuedEnvelope.row
    return [(QueuedEnvelope, "row", by_index)]


def _numbers(runs: Iterable[tuple[int, int]]) -> list[int]:
    return [number for first, last in runs for number in range(first, last + 1)]


def held_by_the_dead() -> list[Patch]:
    return [
        (ConsumerTable, "tick", lambda self: None),
        (ConsumerTable, "_session_closed", lambda self, session: None),
    ]


def leases_never_end() -> list[Patch]:
    return [(LeasedDeliveries, "take_lapsed", lambda self, now: []), (LeasedDeliveries, "first_over", inf)]


def recovered_and_given_to_another() -> list[Patch]:
    def all_of_it(self: Any, *args: Any) -> list[int]:
        opened(self, *args)
        return []

    opened = QueueConsumers.add_consumer
    return [(QueueConsumers, "add_consumer", all_of_it)]


def whoever_names_an_epoch_is_believed() -> list[Patch]:
    settle = ConsumerTable.settle

    def any_epoch(self: Any, conn: Any, session: Any, command: Any, envelopes: Any) -> None:
        _, taker = self._of[session][command.subscription]
        with patch.object(taker, "epoch", command.epoch):
            settle(self, conn, session, command, envelopes)

    return [(ConsumerTable, "settle", any_epoch)]


def whoever_claims_is_believed() -> list[Patch]:
    def believes(self: Any, taker: Any, stream: bytes, number: int) -> Any:
        for line in self._backlog.order.lines.values():
            for queued in line.after((0, b"", 0)):
                if queued.envelope.stream == stream and number in queued.ready:
                    queued.take_out([(number, number)])
                    return queued
        return from_doubt(self, taker, stream, number)

    from_doubt = QueueConsumers._from_doubt
    return [(QueueConsumers, "_from_doubt", believes)]


def attempts_not_counted() -> list[Patch]:
    def once(self: Any, runs: Runs) -> None:
        self.tries.update(dict.fromkeys(numbers_of(runs), 1))

    return [(QueuedEnvelope, "tried", once)]


def done_with_its_last_message() -> list[Patch]:
    ack = QueueDeliveries.ack

    def all_of_it(self: Any, taker: Any, first: int, last: int) -> Any:
        envelopes = {run.queued for run in taker.holding if run.runs[-1][1] == run.queued.envelope.last}
        over = ack(self, taker, first, last)
        for queued in envelopes:
            rest = list(queued.ready)
            if rest and not queued.left - sum(b - a + 1 for a, b in rest):
                queued.take_out(rest)
                self._backlog.done(queued, rest)
        return over

    return [(QueueDeliveries, "ack", all_of_it)]


def delayed_and_forgotten() -> list[Patch]:
    restore = Queues._restore

    def restores(self: Any, position: int, envelope: Any) -> None:
        with patch.object(DelayedMessages, "_push", lambda *args: None):
            restore(self, position, envelope)

    return [(Queues, "_restore", restores)]


def buried_before_it_is_stored() -> list[Patch]:
    def at_once(self: Any, letter: Any, gone: Any) -> None:
        gone()
        for_all(self, letter, lambda: None)

    for_all = DeadLettering._for_all
    return [(DeadLettering, "_for_all", at_once)]


def a_clock_that_was_set_back() -> list[Patch]:
    restore = Queues._restore

    def restores(self: Any, position: int, envelope: Any) -> None:
        with patch.object(NodeClock, "stamped", lambda self, stamp: None):
            restore(self, position, envelope)

    return [(Queues, "_restore", restores)]


# Seed, broken law and patches by the name of the bug.
QUEUES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "an ack is answered before it is stored": (2, "Q4", acked_before_it_is_stored),
    "who takes is written down after the first delivery": (34, "Q5", lambda: _before_its_row(CONSUMER)),
    "the mark comes after what is given": (5, "Q5", lambda: _before_its_row(PART)),
    "rows by index": (8, "Q4", rows_by_index),
    "what the dead hold is held": (154, "Q7", held_by_the_dead),
    "leases never end": (6, "Q7", leases_never_end),
    "what is recovered is given to two": (1, "Q3", recovered_and_given_to_another),
    "an ack of any epoch is believed": (6, "Q2", whoever_names_an_epoch_is_believed),
    "who claims something is believed": (1, "Q3", whoever_claims_is_believed),
    "attempts are not counted": (1, "Q5", attempts_not_counted),
    "a lot is done with its last message": (175, "Q2", done_with_its_last_message),
    "what is delayed is forgotten at a restart": (1, "Q7", delayed_and_forgotten),
    "a dead letter is buried before it is stored": (0, "Q2", buried_before_it_is_stored),
    "a clock that was set back turns the order": (14, "Q6", a_clock_that_was_set_back),
}
