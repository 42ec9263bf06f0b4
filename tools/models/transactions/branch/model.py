"""The model of a branch: all steps from a state, and its invariants.

T1 all operations of a transaction are visible, or none
T2 an answered outcome holds, and a refused transaction has no effect
T3 a delivery is acknowledged by one transaction or delivered again; an answered acknowledgement is kept
T4 messages of a stream and of a log arrive once and in order
T5 a prepared transaction is neither lost nor visible before the decision, and keeps its deliveries
T6 at rest: no hidden row and no decision is left
P1 each transaction ends without a fault
"""

from __future__ import annotations

from collections.abc import Iterator

from mesh.routing.branches import PREPARED
from tools.models.search import Violation
from tools.models.transactions.branch.client import client_steps
from tools.models.transactions.branch.disk import disk_steps
from tools.models.transactions.branch.node import is_row_busy, start
from tools.models.transactions.branch.state import (
    ACKS,
    DONE,
    DOWN,
    FIRST,
    NEXT,
    NOT_YET,
    OTHER_MESSAGE,
    OWN,
    REQUESTED,
    SECOND,
    SERVING,
    STARTING,
    A,
    B,
    Job,
    Limits,
    M,
    State,
    after_crash,
    first_state,
    queued,
)
from tools.models.transactions.progress import stuck
from tools.models.transactions.rules import COMMITTED, IDLE, REFUSED, is_delivery_held

Step = tuple[str, State]


class BranchModel:
    """A transaction of one client at one node, with crashes, full stores and lost connections.

    A plain acknowledgement in the same envelope, the stream's next message, another publisher's message and
    the end of the delivery's lease happen at any time.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.first = first_state(limits)

    def steps(self, state: State) -> Iterator[Step]:
        if state.node == DOWN:
            yield "node starts", state._replace(node=STARTING)
        else:
            if state.node == STARTING and (after := start(state)):
                yield "node recovers", after
            yield from disk_steps(self.limits, state)
            if state.node == SERVING:
                yield from _others(self.limits, state)
        yield from client_steps(self.limits, state)
        if state.crashes and state.node != DOWN:
            yield "crash", after_crash(state)

    def violation(self, state: State) -> Violation | None:
        found = _disorder(self.limits, state)
        if found or state.node != SERVING:
            return found
        return _partial(self.limits, state) or _unsettled(self.limits, state) or _unprepared(state)

    def violation_at_rest(self, state: State) -> Violation | None:
        if state.client in (COMMITTED, REFUSED) and state.node == SERVING:
            return None
        return stuck(self.steps(state))


def _others(limits: Limits, state: State) -> Iterator[Step]:
    """Yield the steps of other consumers and publishers at the serving node."""
    if not state.is_taken and not state.known_row & FIRST and not is_delivery_held(state.phase):
        yield "the lease ends", state._replace(is_taken=True)
    if state.plain_ack == NOT_YET:
        after = state._replace(plain_ack=REQUESTED, known_row=state.known_row | SECOND)
        if is_row_busy(state):
            yield "plain ack waits for the row", after._replace(ack_waits=True)
        else:
            yield "plain ack", queued(after, A, Job(ACKS, row_to_write(after.known_row)))
    if limits.stores == 3 and state.other == NOT_YET:
        yield "another client publishes", queued(state._replace(other=REQUESTED), M, Job(OTHER_MESSAGE))


# --- invariants ---------------------------------------------------------------------------------------------


def _disorder(limits: Limits, state: State) -> Violation | None:
    if state.log.count(OWN) > 1 or state.log.count(NEXT) > 1:
        return Violation("T4", "a message is stored twice")
    if state.log == NEXT + OWN and not limits.is_outer:  # a prepared one takes its place at the decision
        return Violation("T4", "the next message overtakes the transaction")
    if state.is_missed:
        return Violation("T4", "a peer takes the transaction's message for a repeat")
    return None


def _partial(limits: Limits, state: State) -> Violation | None:
    if state.visible not in (0, limits.all_stores):
        return Violation("T1", "a part of the transaction is visible")
    if state.finished & limits.message_store and OWN not in state.log:
        return Violation("T1", "the transaction's message is lost as a repeat")
    if state.visible and state.is_taken:
        return Violation("T3", "another consumer has a delivery that the transaction acknowledges")
    return None


def _unsettled(limits: Limits, state: State) -> Violation | None:
    """Return a violation if outcome, acknowledgements and visible operations differ."""
    is_acked, is_visible = bool(state.known_row & FIRST), state.visible == limits.all_stores
    if state.client == REFUSED and (state.visible or is_acked):
        return Violation("T2", "the transaction is refused, and has an effect")
    if state.client == COMMITTED and not (is_visible and is_acked):
        return Violation("T2", "the transaction is answered, and a part of it is missing")
    if state.phase == IDLE and not any(state.jobs):
        outcome = state.outcome or state.client  # the row may go once the client has the answer
        if not (state.row & FIRST != 0) == (outcome == COMMITTED) == is_visible:
            return Violation("T1", "outcome, acknowledgement and messages differ")
        if state.hidden or state.branch:
            return Violation("T6", "a row of the branch is left")
    if state.plain_ack == DONE and not state.row & SECOND:
        return Violation("T3", "an answered acknowledgement is lost")
    return None


def _unprepared(state: State) -> Violation | None:
    if state.client != PREPARED:
        return None
    is_kept = state.branch == PREPARED and state.hidden == A | B
    if is_kept and not state.visible and not state.is_taken:
        return None
    return Violation("T5", "a prepared transaction is lost, visible or without its delivery")


# --- places for planted mistakes ----------------------------------------------------------------------------


def row_to_write(row: int) -> int:
    """Return the envelope's row for a plain acknowledgement: with all acknowledgements under way."""
    return row
