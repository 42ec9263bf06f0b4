"""Decides whether a history of operations on one object is linearizable (Wing and Gong)."""

# Law: an operation takes effect at one moment between its begin and its end, and the results are those of the
#      operations one after the other. One that is in doubt may also have no effect.

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeVar

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its result. `end` is inf if its effect may come at any later time."""

    begin: float
    end: float
    word: str
    content: str = ""  # put, or read
    version: int = 0  # put, or read; of a counter: its value
    expected: int = -1  # of `put_if` and `remove`; of `add`: the amount
    is_doubtful: bool = False


def is_linearizable(
    operations: Sequence[Operation], start: State, step: Callable[[State, Operation], Iterable[State]]
) -> bool:
    """Return whether the operations have an order. `step` returns the possible states after an operation."""
    required = sum(1 << i for i, each in enumerate(operations) if not each.is_doubtful)
    seen, open_ = set[tuple[int, State]](), [(0, start)]
    while open_:
        done, state = open_.pop()
        if done & required == required:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        for i in _next(operations, done):
            open_ += [(done | 1 << i, after) for after in step(state, operations[i])]
    return False


def _next(operations: Sequence[Operation], done: int) -> list[int]:
    """Return the operations that may be next: no other one that must come before has ended earlier."""
    left = [i for i in range(len(operations)) if not done >> i & 1]
    first_end = min((operations[i].end for i in left if not operations[i].is_doubtful), default=inf)
    last_begin = max((each.begin for i, each in enumerate(operations) if done >> i & 1), default=-inf)
    return [i for i in left if operations[i].begin <= first_end and operations[i].end >= last_begin]


# --- maps -------------------------------------------------------------------------------------------------

Value = tuple[str, int]  # content and version
ABSENT: Value = ("", 0)
UNKNOWN = -1  # version of a write without an answer, or of a copy after a forced move


def map_step(contents: Sequence[str]) -> Callable[[Value, Operation], Iterable[Value]]:
    """Return the steps of a key of a map; after a loss, it has one of the `contents`, or none."""

    def step(state: Value, op: Operation) -> Iterable[Value]:
        match op.word:
            case "loss":
                return [ABSENT, *((each, UNKNOWN) for each in contents)]
            case "get":
                return _read(state, op)
            case "put" | "put_if":
                return [(op.content, op.version)] if _fits(state, op.expected) else []
            case "remove":
                is_there = op.is_doubtful or state != ABSENT
                return [ABSENT] if is_there and _fits(state, op.expected) else []
            case _:  # another value was there
                return [state] if not _must_fit(state, op.expected) else []

    return step


def _read(state: Value, op: Operation) -> Iterable[Value]:
    content, version = state
    if state == ABSENT or op.version == 0:
        return [state] if state == ABSENT and op.version == 0 else []
    return [(content, op.version)] if content == op.content and version in (op.version, UNKNOWN) else []


def _fits(state: Value, expected: int) -> bool:
    """Return whether a state can have the expected version; -1 expects none."""
    _, version = state
    return expected < 0 or version == expected or (version == UNKNOWN and expected > 0)


def _must_fit(state: Value, expected: int) -> bool:
    """Return whether a state surely has the expected version, or any value if -1 is expected."""
    return state != ABSENT if expected < 0 else state[1] == expected


# --- counters ---------------------------------------------------------------------------------------------


def counter_step(state: int | None, op: Operation) -> Iterable[int | None]:
    """Yield the values of a counter after an operation; `None` after a loss: any."""
    match op.word:
        case "loss":
            yield None
        case "value" if state in (None, op.version):
            yield op.version
        case "add" if op.is_doubtful:
            yield None if state is None else state + op.expected
        case "add" if state is None or state + op.expected == op.version:
            yield op.version
