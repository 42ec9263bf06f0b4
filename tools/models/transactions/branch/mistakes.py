"""Mistakes for the model of a branch."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.transactions.model.rules import Verdict, commit_verdict
from mesh.routing.branches import DECIDED, NO_ROW, PREPARED, Recovery, recovery
from tools.models.planting import Mistake
from tools.models.transactions.branch import client, disk, model, node
from tools.models.transactions.branch.node import COMMANDS, ROW_WRITERS, continued, on_question
from tools.models.transactions.branch.state import (
    ACKS,
    COMMIT,
    DECISION,
    FINISH,
    FIRST,
    HIDE,
    NEXT,
    NO_DECISION,
    SERVING,
    A,
    B,
    Job,
    Limits,
    M,
    State,
    queued,
    shown,
    with_row,
)
from tools.models.transactions.rules import COMMITTED, DECIDING, IDLE, REFUSED, REFUSING, is_delivery_held

ONE, THREE, OUTER = "one store", "three stores", "prepared"
PART, OUTCOME, OPERATIONS = "part", "outcome", "operations"  # a command and jobs of planted mistakes
begin, finish, on_full, with_position = node.begin, disk.finish, disk.on_full, disk.with_position

# --- one store ----------------------------------------------------------------------------------------------


def begun_without(kind: str, state: State) -> State:
    """Return the state after a job for a part of the transaction was given to the only store."""
    return queued(state._replace(phase=DECIDING), A, Job(kind, state.known_row | FIRST))


def row_last(limits: Limits, state: State, store: int, job: Job) -> State:
    state = disk.committed(disk.with_message(state))
    return continued(limits, shown(queued(state, A, Job(ACKS, state.known_row)), A))


def outcome_last(limits: Limits, state: State, store: int, job: Job) -> State:
    state = queued(with_row(disk.with_message(state), job.row), A, Job(OUTCOME))
    return continued(limits, shown(state, A))


def counted(limits: Limits, state: State) -> State:
    """Return the state after a begin that counts the acknowledgement at once."""
    return begin(limits, state._replace(known_row=state.known_row | FIRST))


def row_survives_refusal(limits: Limits, state: State) -> State:
    return on_full(limits, queued(state, A, Job(ACKS, state.known_row)))


def answered_refusal(limits: Limits, state: State) -> State:
    return state._replace(answer=REFUSED, phase=IDLE)


def question_not_recorded(limits: Limits, state: State) -> State:
    if state.phase == IDLE and not state.outcome:
        return answered_refusal(limits, state)
    return on_question(limits, state)


def outcome_forgotten(state: State) -> Iterator[tuple[str, State]]:
    if state.client in (COMMITTED, REFUSED) and state.outcome:
        yield "a later transaction settles this one", state._replace(outcome="")


def on_part(limits: Limits, state: State) -> State:
    return state._replace(visible=state.visible | limits.message_store)


def verdict_without_deliveries(outcome: str, is_under_way: bool, may_run: bool) -> Verdict:
    return commit_verdict(outcome, is_under_way, may_run=True)


ONE_STORE_MISTAKES = {
    "ack in a second commit": Mistake(
        ONE,
        (
            (node, "begin", lambda limits, state: begun_without(OPERATIONS, state)),
            (disk, "ENDED", disk.ENDED | {OPERATIONS: row_last}),
            (disk, "GROWING", disk.GROWING | {OPERATIONS}),
        ),
    ),
    "done row in a second commit": Mistake(
        ONE,
        (
            (node, "begin", lambda limits, state: begun_without(OPERATIONS, state)),
            (node, "ROW_WRITERS", ROW_WRITERS | {OPERATIONS}),
            (
                disk,
                "ENDED",
                disk.ENDED
                | {OPERATIONS: outcome_last, OUTCOME: lambda limits, state, *job: disk.committed(state)},
            ),
            (disk, "GROWING", disk.GROWING | {OPERATIONS}),
        ),
    ),
    "ack counted in memory before the commit": Mistake(ONE, ((node, "begin", counted),)),
    "acks ride along with later jobs": Mistake(
        ONE, ((node, "begin", counted), (disk, "on_full", row_survives_refusal))
    ),
    "row of an envelope written without the ack under way": Mistake(
        ONE, ((model, "is_row_busy", lambda state: False), (model, "row_to_write", lambda row: row & ~FIRST))
    ),
    "a refusal is not recorded": Mistake(
        ONE, ((node, "refuse", answered_refusal), (disk, "refuse", answered_refusal))
    ),
    "outcome forgotten, and no low kept": Mistake(ONE, ((client, "settlements", outcome_forgotten),)),
    "a resend leaves the transaction": Mistake(
        ONE,
        (
            (client, "repeated", lambda command: PART if command == COMMIT else command),
            (node, "COMMANDS", COMMANDS | {PART: on_part}),
        ),
    ),
    "delivery not checked": Mistake(ONE, ((node, "commit_verdict", verdict_without_deliveries),)),
    "lease runs on during the commit": Mistake(ONE, ((model, "is_delivery_held", lambda phase: False),)),
    "asked outcome is not recorded": Mistake(
        "one store, asks", ((node, "COMMANDS", COMMANDS | {"ask": question_not_recorded}),)
    ),
}

# --- three stores -------------------------------------------------------------------------------------------


def decided_first(limits: Limits, state: State) -> State:
    return queued(state._replace(phase=DECIDING), M, Job(DECISION))


def hidden_after_decision(limits: Limits, state: State, store: int, job: Job) -> State:
    state = state._replace(branch=DECIDED, outcome=COMMITTED)
    return queued(queued(state, A, Job(HIDE)), B, Job(HIDE))


def finished_after_hidden(limits: Limits, state: State, store: int, job: Job) -> State:
    state = state._replace(hidden=state.hidden | store)
    if state.phase == REFUSING:
        return disk.on_hidden(limits, state, store, job)
    return finish(state) if state.hidden == A | B else state


def begun_with_position(limits: Limits, state: State) -> State:
    """Return the state after a begin that writes a position, as the row of the job, with the hidden rows."""
    position = state.next_position
    state = begin(limits, state._replace(next_position=position + 1))
    return state._replace(jobs=((*state.jobs[0][:-1], Job(HIDE, position)), *state.jobs[1:]))


def hidden_with_position(limits: Limits, state: State, store: int, job: Job) -> State:
    state = disk.on_hidden(limits, state, store, job)
    return state._replace(position=job.row) if job.row and not state.position else state


def position_of_before(state: State) -> State:
    if not state.position or state.finished & M:
        return with_position(state)
    return state._replace(finished=state.finished | M)


def shown_alone(limits: Limits, state: State, store: int, job: Job) -> State:
    after = disk.on_finished(limits, state, store, job)
    return shown(after, store) if state.node == SERVING else after


def shown_when_decided(limits: Limits, state: State, store: int, job: Job) -> State:
    return shown(with_position(disk.on_decided(limits, state, store, job)), M)


def finish_without_decision(state: State) -> State:
    return queued(finish(state), M, Job(NO_DECISION))


def removed_early(limits: Limits, state: State, store: int, job: Job) -> State:
    if state.finished | M == limits.all_stores:
        return disk.on_decision_removed(limits, state, store, job)
    state = with_position(state)._replace(branch=NO_ROW)
    return continued(limits, shown(state, limits.all_stores)) if state.node == SERVING else state


def recovery_without_finish(branch: str, has_hidden_rows: bool) -> Recovery:
    return recovery(branch, has_hidden_rows and branch != DECIDED)


THREE_STORE_MISTAKES = {
    "stream does not wait for the branch": Mistake(THREE, ((node, "stream_waits", lambda phase: False),)),
    "decision before prepare": Mistake(
        THREE,
        (
            (node, "begin", decided_first),
            (disk, "ENDED", disk.ENDED | {DECISION: hidden_after_decision, HIDE: finished_after_hidden}),
            (disk, "GROWING", frozenset({DECISION})),
        ),
    ),
    "position given at prepare": Mistake(
        THREE,
        (
            (node, "begin", begun_with_position),
            (disk, "ENDED", disk.ENDED | {HIDE: hidden_with_position}),
            (disk, "with_position", position_of_before),
        ),
    ),
    "parts visible one by one": Mistake(THREE, ((disk, "ENDED", disk.ENDED | {FINISH: shown_alone}),)),
    "own parts visible at the decision": Mistake(
        THREE, ((disk, "ENDED", disk.ENDED | {DECISION: shown_when_decided}),)
    ),
    "decision row removed before the others have finished": Mistake(
        THREE,
        (
            (disk, "finish", finish_without_decision),
            (disk, "ENDED", disk.ENDED | {NO_DECISION: removed_early}),
        ),
    ),
    "decided branch dropped at start": Mistake(THREE, ((node, "recovery", recovery_without_finish),)),
    "prepared branch dropped at start": Mistake(
        OUTER,
        ((node, "recovery", lambda branch, has_hidden: recovery("" if has_hidden else branch, has_hidden)),),
    ),
    "lease runs on while the branch is prepared": Mistake(
        OUTER, ((model, "is_delivery_held", lambda phase: phase != PREPARED and is_delivery_held(phase)),)
    ),
    "prepared messages numbered by the client": Mistake(
        OUTER, ((disk, "is_taken_for_repeat", lambda log: NEXT in log),)
    ),
}
BRANCH_MISTAKES = ONE_STORE_MISTAKES | THREE_STORE_MISTAKES
