"""The model of an outbox: all steps from a state, and its invariants.

DB2 each row arrives once, none is lost, and rows arrive in order: a row that was committed before another one
was begun comes first
P1 each row arrives without a fault
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import replaced
from tools.models.search import Violation
from tools.models.transactions.outbox.sender import sender_steps
from tools.models.transactions.outbox.state import (
    DONE,
    NOT_BEGUN,
    OPEN,
    RENAMED,
    SENDERS,
    Answer,
    Entry,
    Limits,
    Row,
    Sender,
    State,
    buffered,
    first_state,
    with_rows,
    with_sender,
)
from tools.models.transactions.progress import stuck
from tools.models.transactions.rules import is_repeat

Step = tuple[str, State]


class OutboxModel:
    """Producers, senders, a node and a master, with crashes, stolen leases, refusals and a restore."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.first = first_state(limits)

    def steps(self, state: State) -> Iterator[Step]:
        for producer in range(self.limits.rows):
            yield from _produce(self.limits, state, producer)
        for i in range(self.limits.senders):
            yield from sender_steps(self.limits, state, i)
        for i in SENDERS:
            if state.senders[i].wire:
                yield _store(state, i)
        if state.buffer:
            yield from _at_master(state)
        if state.crashes:
            yield from _crashes(state)
        if state.backups and not state.backup:
            yield "backup of the database", state._replace(backup=state.database)
        if state.backups and state.backup:
            yield "restore of the database", _restored(self.limits, state)

    def violation(self, state: State) -> Violation | None:
        rows = {row.id for row in state.database.rows}
        for row in range(self.limits.rows):
            if state.log.count(row) > 1 + (row in state.repeatable):
                return Violation("DB2", "a row arrives twice")
            if row in state.database.committed and row not in rows and row not in state.log:
                return Violation("DB2", "a row is lost")
        if self.limits.refusals or self.limits.backups:
            return None
        return _disorder(state)

    def violation_at_rest(self, state: State) -> Violation | None:
        is_complete = not state.database.rows and all(one == DONE for one in state.database.producers)
        if is_complete or (self.limits.is_begun and not state.thefts):
            return None
        return stuck(self.steps(state))


def _disorder(state: State) -> Violation | None:
    log = state.log
    for a, b in state.database.earlier:
        is_missing = a in state.database.committed and a not in log
        if b in log and (is_missing or (a in log and log.index(a) > log.index(b))):
            return Violation("DB2", "a row overtakes an earlier one")
    return None


# --- producers and faults -----------------------------------------------------------------------------------


def _produce(limits: Limits, state: State, row: int) -> Iterator[Step]:
    """Yield the begin or the commit of a producer's transaction, which takes its id at the begin."""
    database = state.database
    if database.producers[row] == NOT_BEGUN:
        done = {(other, row) for other in range(limits.rows) if database.producers[other] == DONE}
        begun = database._replace(
            producers=replaced(database.producers, row, OPEN),
            ids=(*database.ids, row),
            earlier=database.earlier | done,
        )
        yield f"producer {row} begins", state._replace(database=begun)
    elif database.producers[row] == OPEN:
        written = (*database.rows, Row(row, number_at_insert(database.ids, row)))
        committed = database._replace(
            producers=replaced(database.producers, row, DONE),
            rows=tuple(sorted(written, key=lambda one: database.ids.index(one.id))),
            committed=database.committed | {row},
        )
        yield f"producer {row} commits", state._replace(database=committed)


def _crashes(state: State) -> Iterator[Step]:
    if any(sender.wire or sender.answers for sender in state.senders):
        senders = tuple(one._replace(wire=(), answers=(), sent=0) for one in state.senders)
        yield "crash of the node", state._replace(senders=senders, crashes=state.crashes - 1)
    for i in SENDERS:
        if state.senders[i].has_stream:
            gone = with_sender(state, i, Sender(left_at=state.senders[i].left_at))
            yield f"crash of sender {i}", gone._replace(crashes=state.crashes - 1)


def _restored(limits: Limits, state: State) -> State:
    """Return the state after the backup was restored. Senders go on, and read the table from its beginning.

    Open transactions of the backup are rolled back. A row that is not in the backup is written again, as
    another row.
    """
    backup = state.backup
    assert backup
    producers = tuple(NOT_BEGUN if one == OPEN else one for one in backup.producers)
    undone = {row for row in range(limits.rows) if producers[row] != DONE}
    ids = tuple(row for row in backup.ids if row not in undone)

    def renamed(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(one._replace(id=one.id + RENAMED * (one.id in undone)) for one in entries)

    return state._replace(
        database=backup._replace(producers=producers, ids=ids),
        senders=tuple(one._replace(wire=renamed(one.wire), sent=0) for one in state.senders),
        buffer=renamed(state.buffer),
        log=tuple(row + RENAMED * (row in undone) for row in state.log),
        backups=0,
        repeatable=frozenset(row.id for row in backup.rows if not row.number),
    )


# --- node and master ----------------------------------------------------------------------------------------


def _store(state: State, i: int) -> Step:
    sender = state.senders[i]
    entry, *rest = sender.wire
    after = buffered(with_sender(state, i, sender._replace(wire=tuple(rest))), entry)
    rows = rows_after_storing(after.database.rows, entry)
    return f"node stores {entry.number}", with_rows(after, rows)


def _at_master(state: State) -> Iterator[Step]:
    """Yield how the master accepts or refuses the first entry of the buffer, or repeats its answer."""
    entry, *rest = state.buffer
    number, low = entry.number, max(entry.low, state.low)
    after = state._replace(
        buffer=tuple(rest),
        low=low,
        known=frozenset(one for one in state.known if one >= low),
        refused=frozenset(one for one in state.refused if one >= low),
    )
    if is_repeat(number, low, after.known):
        yield f"master answers {number} again", _answered(after, Answer(number, number in after.refused))
        return
    learned = after._replace(known=after.known | {number})
    accepted = learned._replace(log=(*state.log, entry.id))
    yield f"master accepts {number}", _answered(accepted, Answer(number, False))
    if state.refusals:
        refused = learned._replace(refused=after.refused | {number}, refusals=state.refusals - 1)
        yield f"master refuses {number}", _answered(refused, Answer(number, True))


def _answered(state: State, answer: Answer) -> State:
    """Return the state after an answer was sent to each sender that has sent its number."""
    answer = as_answer(answer)
    for i, sender in enumerate(state.senders):
        if sender.has_stream and sender.sent >= answer.number and answer not in sender.answers:
            state = with_sender(state, i, sender._replace(answers=(*sender.answers, answer)))
    return state


# --- places for planted mistakes ----------------------------------------------------------------------------


def number_at_insert(ids: tuple[int, ...], row: int) -> int:
    """Return the number of a row when it is inserted: none, since ids are not in the order of commits."""
    return 0


def rows_after_storing(rows: tuple[Row, ...], entry: Entry) -> tuple[Row, ...]:
    """Return the rows after the node has stored an entry, which is no final answer."""
    return rows


def as_answer(answer: Answer) -> Answer:
    """Return the answer as senders receive it: for the number that they have sent."""
    return answer
