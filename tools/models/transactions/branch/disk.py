"""The ends of jobs at the stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mesh.routing.branches import DECIDED, NO_ROW, PREPARED
from tools.models.transactions.branch.node import continued, refuse
from tools.models.transactions.branch.state import (
    ACKS,
    DECISION,
    DONE,
    DROP,
    FINISH,
    FIRST,
    HIDE,
    NAME,
    NEXT,
    NEXT_MESSAGE,
    NO_DECISION,
    OTHER_MESSAGE,
    OWN,
    PLACE,
    PREPARED_ROW,
    REFUSAL,
    SERVING,
    STORES,
    WHOLE,
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
from tools.models.transactions.rules import (
    COMMITTED,
    DECIDING,
    FINISHING,
    IDLE,
    PREPARING,
    REFUSED,
    REFUSING,
    REMOVING,
)

GROWING = frozenset({WHOLE, HIDE, DECISION})  # kinds of jobs that a full store refuses

Ended = Callable[[Limits, State, int, Job], State]


def disk_steps(limits: Limits, state: State) -> Iterator[tuple[str, State]]:
    """Yield the end of the first job of each store, written or refused."""
    for store in STORES:
        i = PLACE[store]
        if not state.jobs[i]:
            continue
        job, *rest = state.jobs[i]
        after = state._replace(jobs=(*state.jobs[:i], tuple(rest), *state.jobs[i + 1 :]))
        yield f"{NAME[store]} writes: {job.kind}", ENDED[job.kind](limits, after, store, job)
        if state.fulls and may_be_full(limits, state, job):
            full = after._replace(fulls=state.fulls - 1)
            yield f"{NAME[store]} is full: {job.kind}", on_full(limits, full)


def may_be_full(limits: Limits, state: State, job: Job) -> bool:
    """Return whether a store may refuse a job: it has room for the decision of a prepared transaction."""
    if job.kind not in GROWING or (limits.is_outer and job.kind == DECISION):
        return False
    return state.phase != IDLE and state.node == SERVING


def on_whole(limits: Limits, state: State, store: int, job: Job) -> State:
    state = committed(with_row(with_message(state), job.row))
    return continued(limits, shown(state, A))


def with_message(state: State) -> State:
    """Return the state after the only store has the operations, without the row and the outcome."""
    return state._replace(log=state.log + OWN, finished=A, phase=IDLE, known_row=state.known_row | FIRST)


def committed(state: State) -> State:
    return state._replace(outcome=COMMITTED, answer=COMMITTED)


def on_hidden(limits: Limits, state: State, store: int, job: Job) -> State:
    """Decide when the second store has its hidden rows, or write the prepared row."""
    state = state._replace(hidden=state.hidden | store)
    if state.phase in (IDLE, REFUSING):  # refused meanwhile
        return queued(state, store, Job(DROP))
    if state.hidden == A | B and state.phase == PREPARING:
        kind = PREPARED_ROW if limits.is_outer else DECISION
        return queued(state._replace(phase=DECIDING), M, Job(kind))
    return state


def on_prepared(limits: Limits, state: State, store: int, job: Job) -> State:
    return continued(limits, state._replace(branch=PREPARED, phase=PREPARED, answer=PREPARED))


def on_decided(limits: Limits, state: State, store: int, job: Job) -> State:
    return finish(state._replace(branch=DECIDED, outcome=COMMITTED))


def on_finished(limits: Limits, state: State, store: int, job: Job) -> State:
    """Remove the decision when both stores have made their rows visible to a later start."""
    state = state._replace(hidden=state.hidden & ~store, finished=state.finished | store)
    if store == A:
        state = with_row(state._replace(known_row=state.known_row | FIRST), job.row)
    elif not is_taken_for_repeat(state.log):
        state = state._replace(log=state.log + OWN)
    if state.finished & (A | B) == A | B and state.branch:
        state = queued(state._replace(phase=REMOVING), M, Job(NO_DECISION))
    return continued(limits, state)


def on_decision_removed(limits: Limits, state: State, store: int, job: Job) -> State:
    """Show everything in one event, and answer."""
    state = with_position(state)._replace(branch=NO_ROW, phase=IDLE, answer=COMMITTED)
    return continued(limits, shown(state, limits.all_stores)) if state.node == SERVING else state


def on_refusal(limits: Limits, state: State, store: int, job: Job) -> State:
    state = state._replace(outcome=REFUSED, branch=NO_ROW, phase=IDLE, answer=REFUSED)
    for other in (A, B):
        if state.hidden & other:
            state = queued(state, other, Job(DROP))
    return continued(limits, state)


def on_dropped(limits: Limits, state: State, store: int, job: Job) -> State:
    return state._replace(hidden=state.hidden & ~store)


def on_acks(limits: Limits, state: State, store: int, job: Job) -> State:
    return with_row(state, job.row)


def on_next_message(limits: Limits, state: State, store: int, job: Job) -> State:
    return state._replace(log=state.log + NEXT)


def on_other_message(limits: Limits, state: State, store: int, job: Job) -> State:
    peer = max(state.peer_position, state.next_position)
    return state._replace(other=DONE, next_position=state.next_position + 1, peer_position=peer)


ENDED: dict[str, Ended] = {
    WHOLE: on_whole,
    HIDE: on_hidden,
    PREPARED_ROW: on_prepared,
    DECISION: on_decided,
    FINISH: on_finished,
    NO_DECISION: on_decision_removed,
    REFUSAL: on_refusal,
    DROP: on_dropped,
    ACKS: on_acks,
    NEXT_MESSAGE: on_next_message,
    OTHER_MESSAGE: on_other_message,
}


# --- places for planted mistakes ----------------------------------------------------------------------------


def on_full(limits: Limits, state: State) -> State:
    """Return the state after a store was full: the transaction is refused."""
    return continued(limits, refuse(limits, state))


def finish(state: State) -> State:
    """Return the state after A and B were given the jobs that make their rows visible."""
    state = state._replace(phase=FINISHING)
    if state.hidden & A:
        state = queued(state, A, Job(FINISH, state.known_row | FIRST))
    return queued(state, B, Job(FINISH)) if state.hidden & B else state


def is_taken_for_repeat(log: str) -> bool:
    """Return whether the transaction's message counts as a repeat: not if it is numbered at the decision."""
    return False


def with_position(state: State) -> State:
    """Return the state after the operations in M were written, with the next position of the log."""
    if state.finished & M:
        return state
    position = state.next_position
    return state._replace(position=position, next_position=position + 1, finished=state.finished | M)
