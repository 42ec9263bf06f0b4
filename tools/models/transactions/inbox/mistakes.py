"""Mistakes for the model of consumers with a database."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.transactions.model.inbox_rules import InboxVerdict, inbox_verdict
from tools.models.planting import Mistake
from tools.models.transactions.inbox import model
from tools.models.transactions.inbox.model import (
    COMMITTED,
    STAGES,
    State,
    Step,
    Task,
    acknowledged,
    at_stage,
    with_effect,
    with_inbox_row,
    with_outbox_row,
)

SCENARIO = "jobs"
INBOX, ROWS = "inbox", "rows"  # stages after the commit: the inbox row or the outbox row is missing


def committed_without_inbox(state: State, c: int, task: Task) -> State:
    return at_stage(with_outbox_row(with_effect(state, task.message), task.message), c, COMMITTED)


def committed_before_inbox(state: State, c: int, task: Task) -> State:
    return at_stage(committed_without_inbox(state, c, task), c, INBOX)


def committed_before_rows(state: State, c: int, task: Task) -> State:
    return at_stage(with_inbox_row(with_effect(state, task.message), task.key), c, ROWS)


def write_inbox(state: State, c: int, task: Task) -> Iterator[Step]:
    yield f"{c} writes its inbox row", at_stage(with_inbox_row(state, task.key), c, COMMITTED)


def write_rows(state: State, c: int, task: Task) -> Iterator[Step]:
    yield f"{c} writes its outbox row", at_stage(with_outbox_row(state, task.message), c, COMMITTED)


def looked_up(
    has_row: bool, is_row_open: bool, is_redelivered: bool, may_be_deleted: bool, is_held_long: bool
) -> InboxVerdict:
    return inbox_verdict(has_row, False, is_redelivered, may_be_deleted, is_held_long)


def deleted_by_age(
    has_row: bool, is_row_open: bool, is_redelivered: bool, may_be_deleted: bool, is_held_long: bool
) -> InboxVerdict:
    return inbox_verdict(has_row, is_row_open, is_redelivered, False, is_held_long)


INBOX_MISTAKES = {
    "inbox row in a transaction before": Mistake(
        SCENARIO,
        (
            (model, "begun", lambda state, task: with_inbox_row(state, task.key)),
            (model, "at_commit", committed_without_inbox),
        ),
    ),
    "inbox row in a transaction after": Mistake(
        SCENARIO,
        ((model, "at_commit", committed_before_inbox), (model, "STAGES", STAGES | {INBOX: write_inbox})),
    ),
    "ack before the commit": Mistake(SCENARIO, ((model, "before_begin", acknowledged),)),
    "inbox keyed by the delivery": Mistake(
        SCENARIO,
        (
            (model, "counted", lambda state: state._replace(deliveries=state.deliveries + 1)),
            (model, "inbox_key", lambda state, m: (m, state.deliveries)),
        ),
    ),
    "inbox looked up without a row": Mistake(SCENARIO, ((model, "inbox_verdict", looked_up),)),
    "inbox rows deleted by age alone": Mistake(SCENARIO, ((model, "inbox_verdict", deleted_by_age),)),
    "a delivery is begun after days": Mistake(SCENARIO, ((model, "after_days", lambda task: task),)),
    "outbox rows beside the transaction": Mistake(
        SCENARIO,
        ((model, "at_commit", committed_before_rows), (model, "STAGES", STAGES | {ROWS: write_rows})),
    ),
}
