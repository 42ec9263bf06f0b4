"""The node's reactions to commands, and its start."""

from __future__ import annotations

from collections.abc import Callable

from mesh.features.transactions.model.rules import Verdict, commit_verdict
from mesh.routing.branches import PREPARED, Recovery, recovery
from tools.models.transactions.branch.state import (
    ACKS,
    ASK,
    COMMIT,
    DECIDE,
    DECISION,
    DROP,
    FINISH,
    FIRST,
    HIDE,
    NEXT,
    NEXT_MESSAGE,
    NO_DECISION,
    PREPARE,
    REFUSAL,
    ROLLBACK,
    SERVING,
    WHOLE,
    A,
    B,
    Job,
    Limits,
    M,
    State,
    queued,
    shown,
)
from tools.models.transactions.rules import (
    DECIDING,
    IDLE,
    PREPARING,
    REFUSING,
    question_verdict,
    stream_waits,
)

ROW_WRITERS = frozenset({WHOLE, FINISH, ACKS})  # kinds of jobs at A that write the envelope's row


def receive(limits: Limits, state: State, command: str) -> State:
    """Return the state after a command, or a late copy of one, has reached the serving node."""
    return COMMANDS[command](limits, state)


def on_commit(limits: Limits, state: State) -> State:
    """Plan the transaction and begin with its jobs, unless its outcome is known or will be."""
    verdict = commit_verdict(state.outcome, state.phase != IDLE, may_run=not state.is_taken)
    if verdict is Verdict.REPEAT:
        return state._replace(answer=state.outcome)
    if verdict is Verdict.REFUSE:
        return refuse(limits, state)
    return begin(limits, state) if verdict is Verdict.RUN else state


def on_prepare(limits: Limits, state: State) -> State:
    return state._replace(answer=PREPARED) if state.phase == PREPARED else on_commit(limits, state)


def on_question(limits: Limits, state: State) -> State:
    """Answer the outcome; without one, refuse the transaction."""
    verdict = question_verdict(state.outcome, state.phase != IDLE)
    if verdict is Verdict.REPEAT:
        return state._replace(answer=state.outcome)
    return refuse(limits, state) if verdict is Verdict.REFUSE else state


def on_decision(limits: Limits, state: State) -> State:
    if state.phase == PREPARED:
        return queued(state._replace(phase=DECIDING), M, Job(DECISION))
    return _repeated(state)


def on_rollback(limits: Limits, state: State) -> State:
    return refuse(limits, state) if state.phase == PREPARED else _repeated(state)


def _repeated(state: State) -> State:
    return state._replace(answer=state.outcome) if state.outcome and state.phase == IDLE else state


def on_next(limits: Limits, state: State) -> State:
    """Accept the next message of the stream, behind a transaction that is under way."""
    if stream_waits(state.phase):
        return state._replace(next_waits=True)
    return accept_next(limits, state)


def accept_next(limits: Limits, state: State) -> State:
    state = state._replace(next_waits=False)
    if NEXT in state.log or any(job.kind == NEXT_MESSAGE for jobs in state.jobs for job in jobs):
        return state
    return queued(state, limits.message_store, Job(NEXT_MESSAGE))


COMMANDS: dict[str, Callable[[Limits, State], State]] = {
    COMMIT: on_commit,
    PREPARE: on_prepare,
    ASK: on_question,
    DECIDE: on_decision,
    ROLLBACK: on_rollback,
    NEXT: on_next,
}


def continued(limits: Limits, state: State) -> State:
    """Resume the plain acknowledgement and the next message, if they no longer have to wait."""
    if state.ack_waits and not is_row_busy(state):
        state = queued(state._replace(ack_waits=False), A, Job(ACKS, state.known_row))
    if state.next_waits and state.phase == IDLE:
        state = accept_next(limits, state)
    return state


def start(state: State) -> State | None:
    """Return the state after the next step of a start, or `None` while a job is under way."""
    if any(state.jobs):
        return None
    step = recovery(state.branch, state.hidden != 0)
    store = A if state.hidden & A else B
    if step is Recovery.FINISH:
        return queued(state, store, Job(FINISH, state.row | FIRST if store == A else 0))
    if step is Recovery.REMOVE:
        return queued(state, M, Job(NO_DECISION))
    if step is Recovery.DROP:
        return queued(state, store, Job(DROP))
    phase = PREPARED if state.branch == PREPARED else IDLE
    return shown(state._replace(node=SERVING, phase=phase, known_row=state.row, visible=0), state.finished)


# --- places for planted mistakes ----------------------------------------------------------------------------


def begin(limits: Limits, state: State) -> State:
    """Return the state after the first jobs: the whole transaction in one store, or hidden rows in two."""
    if limits.stores == 1:
        return queued(state._replace(phase=DECIDING), A, Job(WHOLE, state.known_row | FIRST))
    return queued(queued(state._replace(phase=PREPARING), A, Job(HIDE)), B, Job(HIDE))


def refuse(limits: Limits, state: State) -> State:
    """Return the state after the refusal was given to a store. It is answered when it is durable."""
    return queued(state._replace(phase=REFUSING), limits.main, Job(REFUSAL))


def is_row_busy(state: State) -> bool:
    """Return whether a job that writes the envelope's row is under way."""
    return any(job.kind in ROW_WRITERS for job in state.jobs[0])
