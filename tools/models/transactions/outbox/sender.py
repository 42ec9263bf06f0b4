"""Steps of a sender: the lease of the stream, numbers, entries on the wire, and final answers."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.transactions.model.outbox_rules import first_number, may_use_stream
from tools.models.transactions.outbox.state import (
    LOST,
    NOBODY,
    TAKEN,
    Answer,
    Entry,
    Limits,
    Row,
    Sender,
    State,
    buffered,
    with_rows,
    with_sender,
    without_number,
)
from tools.models.transactions.rules import lowest_number

Step = tuple[str, State]


def sender_steps(limits: Limits, state: State, i: int) -> Iterator[Step]:
    """Yield the steps of sender `i`. A lease may end at any time by the database's clock."""
    sender, database = state.senders[i], state.database
    is_theft = database.owner not in (NOBODY, i) and state.senders[database.owner].has_stream
    is_counted = is_theft or limits.is_begun
    if not sender.has_stream and database.rows and (state.thefts or not is_counted):
        thefts = state.thefts - is_counted
        yield f"sender {i} takes the stream", _taken(state, i, is_theft)._replace(thefts=thefts)
    if not sender.has_stream:
        return
    if not may_use(state, i):
        idle = sender._replace(has_stream=False, wire=(), answers=())
        yield f"sender {i} finds the stream taken", with_sender(state, i, idle)
    yield from owner_steps(limits, state, i)


def may_use(state: State, i: int) -> bool:
    return may_use_stream(state.database.owner, i, state.senders[i].left_at == LOST)


def _taken(state: State, i: int, is_theft: bool) -> State:
    state = with_sender(state, i, Sender(has_stream=True, left_at=TAKEN))
    if is_theft:
        other = state.senders[1 - i]
        state = with_sender(state, 1 - i, other._replace(left_at=left_after_lease(other.left_at)))
    return state._replace(database=state.database._replace(owner=i))


def number_rows(state: State, i: int) -> Iterator[Step]:
    """Yield the step that numbers all rows without a number."""
    rows, start = [], following(state, i)
    if not may_use(state, i) or all(row.number for row in state.database.rows):
        return
    for row in state.database.rows:
        rows.append(Row(row.id, row.number or start))
        start += not row.number
    yield f"sender {i} numbers", with_next(with_rows(state, tuple(rows)), i, start)


def following(state: State, i: int) -> int:
    """Return the number that sender `i` gives next."""
    return first_number(state.database.next_number, state.clock, state.senders[i].left_at)


def with_next(state: State, i: int, number: int) -> State:
    """Return the state after sender `i` has written the next number of the stream."""
    state = with_sender(state, i, state.senders[i]._replace(left_at=number))
    database = state.database._replace(next_number=number)
    return state._replace(database=database, clock=max(state.clock, number))


def send(limits: Limits, state: State, i: int) -> Iterator[Step]:
    """Yield the sending of the lowest number that was not sent on this connection."""
    sender, rows = state.senders[i], numbered(state, i)
    low = lowest_number(tuple(row.number for row in rows), state.database.next_number)
    due = sorted((row.number, row.id) for row in rows if row.number > sender.sent)
    for number, row in sendable(due):
        entry = as_entry(i, Entry(number, row, low))
        after = with_sender(state, i, sender._replace(sent=max(number, sender.sent)))
        after = after._replace(database=after_sending(after, row).database)
        if limits.is_begun:  # without a delay on the connection
            after = buffered(after, entry)
        else:
            after = with_sender(after, i, after.senders[i]._replace(wire=(*sender.wire, entry)))
        yield f"sender {i} sends {number}", after


def receive_answer(state: State, i: int) -> Iterator[Step]:
    """Yield how sender `i` deletes the row of an accepted number, or gives a refused row another number."""
    if not state.senders[i].answers:
        return
    answer, *rest = state.senders[i].answers
    after = with_sender(state, i, state.senders[i]._replace(answers=tuple(rest)))
    if not answer.is_refused:
        yield f"sender {i} deletes {answer.number}", with_rows(after, rows_after_answer(after, i, answer))
    elif (renewed := after_refusal(after, i, answer)) is not None:
        yield f"sender {i} renews {answer.number}, which is refused", renewed


# --- places for planted mistakes ----------------------------------------------------------------------------


def owner_steps(limits: Limits, state: State, i: int) -> Iterator[Step]:
    """Yield the steps of a sender that believes it has the stream."""
    yield from number_rows(state, i)
    yield from send(limits, state, i)
    yield from receive_answer(state, i)


def left_after_lease(left_at: int) -> int:
    """Return `left_at` of a sender whose lease is over, by its own clock too: it numbers nothing."""
    return LOST


def numbered(state: State, i: int) -> tuple[Row, ...]:
    """Return the rows with a number."""
    return tuple(row for row in state.database.rows if row.number)


def sendable(due: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the numbers, with their rows, of which one is sent next: the lowest one."""
    return due[:1]


def as_entry(i: int, entry: Entry) -> Entry:
    """Return the entry as sender `i` sends it: all senders use one stream."""
    return entry


def after_sending(state: State, row: int) -> State:
    """Return the state after a row was sent. The row stays until its final answer."""
    return state


def rows_after_answer(state: State, i: int, answer: Answer) -> tuple[Row, ...]:
    return without_number(state.database.rows, answer.number)


def after_refusal(state: State, i: int, answer: Answer) -> State | None:
    """Return the state after a refused row has another number; `None`: the next owner does that."""
    if not may_use(state, i):
        return None
    rows = state.database.rows
    if all(row.number != answer.number for row in rows):
        return state
    number = following(state, i)
    renewed = tuple(Row(row.id, number) if row.number == answer.number else row for row in rows)
    return with_next(with_rows(state, renewed), i, number + 1)
