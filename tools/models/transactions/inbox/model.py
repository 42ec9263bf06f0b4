"""Model of consumers with a database: each job has its effect, an inbox row and an outbox row there.

Two consumers receive two messages of a queue. A database transaction is one step, its commit. While it is
open, it holds the unique key of its inbox row. Once, days pass: the inbox rows are deleted by age.

DB1 each message has one effect and as many outbox rows, and is acknowledged after them
P1 each message is acknowledged without a fault
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from mesh.features.transactions.model.inbox_rules import InboxVerdict, inbox_verdict
from tools.models.bits import replaced
from tools.models.search import Violation
from tools.models.transactions.progress import stuck

MESSAGES = (0, 1)
CONSUMERS = (0, 1)
NOBODY = -1
FIRST, REDELIVERED, HELD_LONG = range(3)  # deliveries
RECEIVED, OPEN, COMMITTED = "received", "open", "committed"  # stages of a task

Key = tuple[int, ...]


class Task(NamedTuple):
    """A delivery at a consumer."""

    stage: str
    message: int
    key: Key  # of the inbox row
    delivery: int


class State(NamedTuple):
    """A state of the model."""

    # durable in the database
    inbox: frozenset[Key] = frozenset()
    effects: tuple[int, ...] = (0, 0)  # by message
    rows: tuple[int, ...] = (0, 0)  # outbox rows, by message
    are_rows_deleted: bool = False  # inbox rows as old as the messages
    # durable at the node, by message
    acked: tuple[bool, ...] = (False, False)
    marked: tuple[bool, ...] = (False, False)  # may have been delivered before
    dead: tuple[bool, ...] = (False, False)  # dead-lettered, for a person to decide
    # in memory
    consumers: tuple[int, ...] = (NOBODY, NOBODY)  # by message, as the node knows it
    deliveries: int = 0  # counted only by a planted mistake
    tasks: tuple[Task | None, ...] = (None, None)  # by consumer
    crashes: int = 2


Step = tuple[str, State]


class InboxModel:
    """Two messages and two consumers, with crashes of the node and of consumers, and leases that end."""

    def __init__(self, crashes: int = 2) -> None:
        self.first = State(crashes=crashes)

    def steps(self, state: State) -> Iterator[Step]:
        for m in MESSAGES:
            yield from _node_steps(state, m)
        for c, task in enumerate(state.tasks):
            if task:
                yield from STAGES[task.stage](state, c, task)
                if state.crashes:
                    after = state._replace(tasks=replaced(state.tasks, c, None), crashes=state.crashes - 1)
                    yield f"crash of consumer {c}", after
        if state.crashes:
            yield "crash of the node", state._replace(consumers=(NOBODY, NOBODY), crashes=state.crashes - 1)
        if state.inbox and not state.are_rows_deleted:
            aged = tuple(map(after_days, state.tasks))
            after = state._replace(inbox=frozenset(), are_rows_deleted=True, tasks=aged)
            yield "clock: days pass, and the inbox rows are deleted", after

    def violation(self, state: State) -> Violation | None:
        for m in MESSAGES:
            if state.effects[m] > 1:
                return Violation("DB1", "an effect twice")
            is_begun = any(task and task.message == m for task in state.tasks)
            if state.acked[m] and not (state.effects[m] or state.dead[m] or is_begun):
                return Violation("DB1", "acknowledged without its effect")
        is_writing = any(task and task.stage not in (RECEIVED, OPEN, COMMITTED) for task in state.tasks)
        if state.rows != state.effects and not is_writing:  # between two commits, only with a planted mistake
            return Violation("DB1", "outbox rows and effects differ")
        return None

    def violation_at_rest(self, state: State) -> Violation | None:
        return None if all(state.acked) else stuck(self.steps(state))


def _node_steps(state: State, m: int) -> Iterator[Step]:
    """Yield the deliveries of a message, and the end of its lease."""
    if state.consumers[m] != NOBODY:
        yield f"the lease of {m} ends", state._replace(consumers=replaced(state.consumers, m, NOBODY))
    elif not state.acked[m]:
        for c in CONSUMERS:
            if not state.tasks[c]:
                yield f"node delivers {m} to {c}", _delivered(counted(state), m, c)


def _delivered(state: State, m: int, c: int) -> State:
    task = Task(RECEIVED, m, inbox_key(state, m), REDELIVERED if state.marked[m] else FIRST)
    return state._replace(
        consumers=replaced(state.consumers, m, c),
        marked=replaced(state.marked, m, True),
        tasks=replaced(state.tasks, c, task),
    )


def _begin(state: State, c: int, task: Task) -> Iterator[Step]:
    """Yield the reaction of a consumer to a delivery, by its inbox row."""
    state = before_begin(state, c, task)
    verdict = inbox_verdict(
        has_row=task.key in state.inbox,
        is_row_open=any(other and (other.stage, other.key) == (OPEN, task.key) for other in state.tasks),
        is_redelivered=task.delivery == REDELIVERED,
        may_be_deleted=state.are_rows_deleted,
        is_held_long=task.delivery == HELD_LONG,
    )
    if verdict is InboxVerdict.DONE_BEFORE:
        yield f"{c} has done {task.message} before", at_stage(state, c, COMMITTED)
    elif verdict is InboxVerdict.BEGIN:
        yield f"{c} begins {task.message}", at_stage(begun(state, task), c, OPEN)
    elif verdict is not InboxVerdict.WAIT:
        yield _returned(state, c, task, verdict)


def _returned(state: State, c: int, task: Task, verdict: InboxVerdict) -> Step:
    """Return how a consumer gives a delivery up: unbegun, or as a dead letter."""
    m, has_it = task.message, state.consumers[task.message] == c
    if verdict is InboxVerdict.UNKNOWN and has_it:
        state = state._replace(dead=replaced(state.dead, m, True), acked=replaced(state.acked, m, True))
    if has_it:
        state = state._replace(consumers=replaced(state.consumers, m, NOBODY))
    return f"{c} gives {m} up: {verdict.name}", state._replace(tasks=replaced(state.tasks, c, None))


def _commit(state: State, c: int, task: Task) -> Iterator[Step]:
    yield f"{c} commits {task.message}", at_commit(state, c, task)


def _acknowledge(state: State, c: int, task: Task) -> Iterator[Step]:
    after = state._replace(tasks=replaced(state.tasks, c, None))
    yield f"{c} acknowledges {task.message}", acknowledged(after, c, task)


STAGES: dict[str, Callable[[State, int, Task], Iterator[Step]]] = {
    RECEIVED: _begin,
    OPEN: _commit,
    COMMITTED: _acknowledge,
}


# --- changes ------------------------------------------------------------------------------------------------


def at_stage(state: State, c: int, stage: str) -> State:
    task = state.tasks[c]
    assert task
    return state._replace(tasks=replaced(state.tasks, c, task._replace(stage=stage)))


def acknowledged(state: State, c: int, task: Task) -> State:
    """Return the state after an acknowledgement, which counts only while the consumer has the delivery."""
    m = task.message
    if state.consumers[m] != c or state.acked[m]:
        return state
    return state._replace(
        acked=replaced(state.acked, m, True), consumers=replaced(state.consumers, m, NOBODY)
    )


def with_effect(state: State, m: int) -> State:
    return state._replace(effects=replaced(state.effects, m, state.effects[m] + 1))


def with_outbox_row(state: State, m: int) -> State:
    return state._replace(rows=replaced(state.rows, m, state.rows[m] + 1))


def with_inbox_row(state: State, key: Key) -> State:
    return state._replace(inbox=state.inbox | {key})


# --- places for planted mistakes ----------------------------------------------------------------------------


def counted(state: State) -> State:
    """Return the state after a delivery was counted, if a planted mistake needs the number."""
    return state


def inbox_key(state: State, m: int) -> Key:
    """Return the key of the inbox row: the message, whichever delivery it is."""
    return (m,)


def before_begin(state: State, c: int, task: Task) -> State:
    """Return the state before a consumer looks at the inbox: it has done nothing."""
    return state


def begun(state: State, task: Task) -> State:
    """Return the state after the database transaction has begun. Its rows are not visible to others."""
    return state


def at_commit(state: State, c: int, task: Task) -> State:
    """Return the state after the commit of the effect, the inbox row and the outbox row together."""
    state = with_inbox_row(with_effect(state, task.message), task.key)
    return at_stage(with_outbox_row(state, task.message), c, COMMITTED)


def after_days(task: Task | None) -> Task | None:
    """Return a task after days: a delivery that was not begun is held for too long."""
    return task._replace(delivery=HELD_LONG) if task and task.stage == RECEIVED else task
