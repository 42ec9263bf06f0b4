"""Steps of the client and of its connections."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.routing.branches import PREPARED
from tools.models.transactions.branch.node import receive
from tools.models.transactions.branch.state import (
    ASK,
    COMMIT,
    DECIDE,
    NEW,
    NEXT,
    PREPARE,
    ROLLBACK,
    SENT,
    SERVING,
    Limits,
    State,
)
from tools.models.transactions.rules import COMMITTED, IDLE, REFUSED

Step = tuple[str, State]


def client_steps(limits: Limits, state: State) -> Iterator[Step]:
    first = PREPARE if limits.is_outer else COMMIT
    command = {SENT: first, COMMIT: DECIDE, ROLLBACK: ROLLBACK}.get(state.client, "")
    if state.client == NEW and state.node == SERVING:
        yield f"client sends {first}", state._replace(client=SENT, wire=(first,), is_carried=True)
    if command and state.node == SERVING:
        yield from _repeats(limits, state, command)
    if state.client == PREPARED:
        yield "coordinator decides: commit", state._replace(client=COMMIT, wire=(DECIDE,))
        yield "coordinator decides: rollback", state._replace(client=ROLLBACK, wire=(ROLLBACK,))
    if state.client == SENT and state.is_carried and not state.is_next_sent and not limits.can_ask:
        yield "client sends the next message", state._replace(is_next_sent=True, wire=(*state.wire, NEXT))
    if state.node == SERVING:
        yield from _arrivals(limits, state)
    yield from settlements(state)
    if state.answer and state.client not in (COMMITTED, REFUSED):
        yield f"client receives: {state.answer}", _answered(state)


def _repeats(limits: Limits, state: State, command: str) -> Iterator[Step]:
    """Yield the repeats of a command, after a crash or on a new connection, and the question instead."""
    if not state.wire and not state.answer and state.phase in (IDLE, PREPARED):
        yield f"client repeats {command}", _resent(state, command)
    if state.breaks:
        copy = state.wire[0] if state.wire and state.wire[0] != NEXT else ""
        broken = state._replace(breaks=state.breaks - 1, late_copy=copy, answer="")
        yield f"connection breaks; client repeats {command}", _resent(broken, command)
        if limits.can_ask and command == COMMIT:
            yield "connection breaks; client asks for the outcome", broken._replace(wire=(ASK,))


def _resent(state: State, command: str) -> State:
    command = repeated(command)
    has_next = state.is_next_sent and NEXT not in state.log
    return state._replace(wire=(command, NEXT) if has_next else (command,), answer="", is_carried=True)


def _arrivals(limits: Limits, state: State) -> Iterator[Step]:
    if state.wire:
        command, *rest = state.wire
        after = state._replace(wire=tuple(rest))
        yield f"node receives: {command}", receive(limits, after, command)
    if state.late_copy:
        after = state._replace(late_copy="")
        yield f"node receives late: {state.late_copy}", receive(limits, after, state.late_copy)


def _answered(state: State) -> State:
    answer, state = state.answer, state._replace(answer="")
    if answer == PREPARED:
        return state._replace(client=PREPARED) if state.client == SENT else state
    return state._replace(client=answer)


# --- places for planted mistakes ----------------------------------------------------------------------------


def repeated(command: str) -> str:
    """Return the command that a client sends after a reconnect: a COMMIT as a COMMIT."""
    return command


def settlements(state: State) -> Iterator[Step]:
    """Yield the steps by which a later transaction settles this one: none, as `low` refuses late copies."""
    yield from ()
