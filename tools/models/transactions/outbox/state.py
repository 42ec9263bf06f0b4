"""The state of the model of an outbox, and changes of parts of it.

Two producers write a row each into a table of a database. Two senders number the rows of its stream and send
them to a node, whose outbound buffer passes them to a remote master.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tools.models.bits import replaced

SENDERS = (0, 1)
NOBODY = -1
NOT_BEGUN, OPEN, DONE = range(3)  # database transactions of producers
TAKEN, LOST = (
    0,
    -1,
)  # values of `State.left_at`: the stream was just taken; the lease is over by the own clock
RENAMED = 10  # added to a row that a restore takes back: its producer writes another row


class Row(NamedTuple):
    """A committed row; number 0: it has none."""

    id: int
    number: int = 0


class Entry(NamedTuple):
    """A row in transit, with `low` of its sender."""

    number: int
    id: int
    low: int


class Answer(NamedTuple):
    """The final answer for a number."""

    number: int
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a scenario.

    `thefts` is how often a sender takes the stream although the other one believes it has it. With
    `is_begun`, sender 0 has numbered row 0 and has the stream, `thefts` bounds all takings, and nothing is
    delayed.
    """

    rows: int = 2
    senders: int = 2
    crashes: int = 1
    refusals: int = 0
    backups: int = 0
    thefts: int = 1
    is_begun: bool = False


class Database(NamedTuple):
    """The database, which a backup copies."""

    rows: tuple[Row, ...] = ()  # in the order of their ids
    next_number: int = 1
    owner: int = NOBODY  # sender with the lease of the stream
    producers: tuple[int, ...] = ()
    ids: tuple[int, ...] = ()  # of begun transactions, in order
    earlier: frozenset[tuple[int, int]] = frozenset()  # (a, b): row a was committed before row b was begun
    committed: frozenset[int] = frozenset()


class Sender(NamedTuple):
    """A sender with its connection to the node."""

    has_stream: bool = False  # as it believes
    sent: int = 0  # highest number on this connection
    left_at: int = 0  # next number as it wrote it, TAKEN or LOST
    wire: tuple[Entry, ...] = ()
    answers: tuple[Answer, ...] = ()
    memory: tuple[tuple[int, int], ...] = ()  # numbers by row, filled only by a planted mistake


class State(NamedTuple):
    """A state of the model."""

    database: Database
    senders: tuple[Sender, ...]
    buffer: tuple[Entry, ...]  # outbound buffer of the node, durable
    # of the master, durable
    low: int
    known: frozenset[int]  # numbers
    refused: frozenset[int]  # those of them that it has refused
    log: tuple[int, ...]  # rows
    # around them
    clock: int
    backup: Database | None
    repeatable: frozenset[int]  # rows without a number in a backup that was restored
    crashes: int
    refusals: int
    backups: int
    thefts: int


def first_state(limits: Limits) -> State:
    database, first, clock = Database(producers=(NOT_BEGUN,) * limits.rows), Sender(), 1
    if limits.is_begun:
        database = Database((Row(0, 1),), 2, 0, (DONE, NOT_BEGUN), (0,), frozenset(), frozenset({0}))
        first, clock = Sender(has_stream=True, left_at=2), 2
    return State(
        database,
        (first, Sender()),
        (),
        low=1,
        known=frozenset(),
        refused=frozenset(),
        log=(),
        clock=clock,
        backup=None,
        repeatable=frozenset(),
        crashes=limits.crashes,
        refusals=limits.refusals,
        backups=limits.backups,
        thefts=limits.thefts,
    )


def with_sender(state: State, i: int, sender: Sender) -> State:
    return state._replace(senders=replaced(state.senders, i, sender))


def with_rows(state: State, rows: tuple[Row, ...]) -> State:
    return state._replace(database=state.database._replace(rows=rows))


def buffered(state: State, entry: Entry) -> State:
    """Return the state after the node has stored an entry, unless it has that number."""
    if any(other.number == entry.number for other in state.buffer):
        return state
    return state._replace(buffer=(*state.buffer, entry))


def without_row(rows: tuple[Row, ...], row: int) -> tuple[Row, ...]:
    return tuple(one for one in rows if one.id != row)


def without_number(rows: tuple[Row, ...], number: int) -> tuple[Row, ...]:
    return tuple(one for one in rows if one.number != number)
