"""Mistakes for the model of an outbox."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.transactions.model.outbox_rules import first_number
from tools.models.planting import Mistake
from tools.models.transactions.outbox import model, sender
from tools.models.transactions.outbox.state import (
    Answer,
    Entry,
    Limits,
    Row,
    State,
    with_rows,
    with_sender,
    without_number,
    without_row,
)

SENDERS = "senders"
STREAM = 100  # added to numbers, once for each stream


def owner_steps(limits: Limits, state: State, i: int) -> Iterator[tuple[str, State]]:
    """Yield the steps of a sender that keeps the numbers of rows in its memory."""
    known = dict(state.senders[i].memory)
    for row in state.database.rows:
        if row.id not in known:
            known[row.id] = 1 + max([0, *known.values(), *state.known])
    memory = tuple(known.items())
    if memory != state.senders[i].memory:
        remembered = with_sender(state, i, state.senders[i]._replace(memory=memory))
        yield f"sender {i} numbers in memory", remembered
    else:
        yield from sender.send(limits, state, i)
        yield from sender.receive_answer(state, i)


def numbered_in_memory(state: State, i: int) -> tuple[Row, ...]:
    known = dict(state.senders[i].memory)
    return tuple(Row(row.id, known[row.id]) for row in state.database.rows)


def rows_by_memory(state: State, i: int, answer: Answer) -> tuple[Row, ...]:
    known = dict(state.senders[i].memory)
    return tuple(row for row in state.database.rows if known.get(row.id) != answer.number)


def of_own_stream(i: int, entry: Entry) -> Entry:
    return Entry(entry.number + STREAM * (i + 1), entry.id, 1)


def deleted_when_refused(state: State, i: int, answer: Answer) -> State:
    return with_rows(state, without_number(state.database.rows, answer.number))


OUTBOX_MISTAKES = {
    "the number is the row's id": Mistake(
        SENDERS, ((model, "number_at_insert", lambda ids, row: ids.index(row) + 1),)
    ),
    "sender deletes before the answer": Mistake(
        SENDERS,
        (
            (
                sender,
                "after_sending",
                lambda state, row: with_rows(state, without_row(state.database.rows, row)),
            ),
        ),
    ),
    "row deleted when it only waits": Mistake(
        SENDERS, ((model, "rows_after_storing", lambda rows, entry: without_row(rows, entry.id)),)
    ),
    "numbers in the sender's memory": Mistake(
        SENDERS,
        (
            (sender, "owner_steps", owner_steps),
            (sender, "numbered", numbered_in_memory),
            (sender, "rows_after_answer", rows_by_memory),
        ),
    ),
    "senders share the rows of a stream": Mistake(SENDERS, ((sender, "sendable", lambda due: due),)),
    "a new stream for each sender": Mistake(
        SENDERS,
        (
            (sender, "as_entry", of_own_stream),
            (model, "as_answer", lambda answer: answer._replace(number=answer.number % STREAM)),
        ),
    ),
    "a refused row is deleted": Mistake(
        "senders, refusal", ((sender, "after_refusal", deleted_when_refused),)
    ),
    "numbers from a counter alone": Mistake(
        "senders, restore", ((sender, "first_number", lambda number, clock, left_at: number),)
    ),
    "a running sender does not notice a restore": Mistake(
        "senders, restore",
        (
            (
                sender,
                "first_number",
                lambda number, clock, left_at: first_number(number, clock, min(left_at, 1)),
            ),
        ),
    ),
    "a sender numbers after its lease": Mistake(
        "two senders, restore", ((sender, "left_after_lease", lambda left_at: left_at),)
    ),
}
