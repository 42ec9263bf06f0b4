"""The state of the model of a branch, and changes of parts of it.

A client acknowledges a delivery and publishes a message in one transaction. In one store, both are in A. In
three, the queue of the delivery is in A, a queue for the message in B, and a topic's log in M, the main
store. The delivery is the first of two messages of a stored envelope, whose row has a bit for each ack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mesh.routing.branches import NO_ROW
from tools.models.transactions.rules import IDLE

A, B, M = STORES = (1, 2, 4)
PLACE = {A: 0, B: 1, M: 2}  # of a store in `State.jobs`
NAME = {A: "A", B: "B", M: "M"}
FIRST, SECOND = 1, 2  # bits of the envelope's row; the transaction acknowledges the first message
OWN, NEXT = "t", "n"  # in `State.log`: the transaction's message, and the next one of its stream
DOWN, STARTING, SERVING = range(3)
NOT_YET, REQUESTED, DONE = range(3)
NEW, SENT = "new", "sent"  # states of the client, beside PREPARED, COMMIT, ROLLBACK and both outcomes
COMMIT, PREPARE, DECIDE, ROLLBACK, ASK = (
    "commit",
    "prepare",
    "decide",
    "rollback",
    "ask",
)  # commands, beside NEXT

# kinds of jobs
WHOLE = "whole transaction"
HIDE, DROP, FINISH = "hidden rows", "no hidden rows", "visible rows"
PREPARED_ROW, DECISION, NO_DECISION, REFUSAL = "prepared row", "decision", "no decision", "refusal"
ACKS, NEXT_MESSAGE, OTHER_MESSAGE = "envelope's row", "next message", "other message"


class Job(NamedTuple):
    """A job of a store: written as a whole, or lost in a crash."""

    kind: str
    row: int = 0  # of the envelope, in a job at A that writes it


Jobs = tuple[tuple[Job, ...], ...]
NO_JOBS: Jobs = ((), (), ())


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a scenario."""

    stores: int = 3  # or 1
    is_outer: bool = False  # prepared, then decided by an outer coordinator
    can_ask: bool = (
        False  # the client may ask for the outcome, since it has moved, instead of repeating COMMIT
    )
    crashes: int = 2
    fulls: int = 1  # how often a store is full
    breaks: int = 1  # lost connections

    @property
    def main(self) -> int:
        """The store with the outcome."""
        return M if self.stores == 3 else A

    @property
    def message_store(self) -> int:
        return B if self.stores == 3 else A

    @property
    def all_stores(self) -> int:
        return A | B | M if self.stores == 3 else A


class State(NamedTuple):
    """A state of the model. A set of stores has their bits."""

    # durable
    outcome: str = ""
    branch: str = NO_ROW  # row of store M
    hidden: int = 0  # stores with hidden rows
    finished: int = 0  # stores in which the operations are visible after a start
    row: int = 0  # of the envelope
    log: str = ""  # order of OWN and NEXT in their queue
    position: int = 0  # of the transaction's topic message
    next_position: int = 1
    # in the node's memory
    node: int = SERVING
    phase: str = IDLE
    jobs: Jobs = NO_JOBS  # that wait at A, B, M
    known_row: int = 0  # the envelope's row
    ack_waits: bool = False  # the plain acknowledgement waits for the job that writes the row
    next_waits: bool = False  # the stream's next message waits for the transaction
    visible: int = 0  # stores whose operations others can see
    # around the node
    is_taken: bool = False  # another consumer has the delivery
    plain_ack: int = NOT_YET  # of the second message
    other: int = NOT_YET  # another publisher's message in M
    peer_position: int = 0  # highest one that a peer has received
    is_at_peer: bool = False  # the transaction's topic message
    is_missed: bool = False  # the peer took it for a repeat
    client: str = NEW
    is_next_sent: bool = False
    is_carried: bool = False  # the present connection has carried the client's command
    wire: tuple[str, ...] = ()  # commands on the way to the node, in order
    late_copy: str = ""  # a command on an earlier connection
    answer: str = ""  # on the way to the client
    crashes: int = 0
    fulls: int = 0
    breaks: int = 0


def first_state(limits: Limits) -> State:
    return State(crashes=limits.crashes, fulls=limits.fulls, breaks=limits.breaks)


def queued(state: State, store: int, job: Job) -> State:
    """Return the state after a job was given to a store."""
    i, jobs = PLACE[store], state.jobs
    return state._replace(jobs=(*jobs[:i], (*jobs[i], job), *jobs[i + 1 :]))


def with_row(state: State, row: int) -> State:
    """Return the state after the envelope's row was written: the plain acknowledgement may be answered."""
    return state._replace(row=row, plain_ack=DONE if row & SECOND else state.plain_ack)


def shown(state: State, stores: int) -> State:
    """Return the state after operations of `stores` became visible; a peer receives the topic message."""
    if stores & M and not state.visible & M:
        is_new = state.is_at_peer or state.position > state.peer_position
        position = max(state.position, state.peer_position)
        state = state._replace(peer_position=position, is_at_peer=True, is_missed=not is_new)
    return state._replace(visible=state.visible | stores)


def after_crash(state: State) -> State:
    """Return the state after a crash: memory, waiting jobs and connections are lost."""
    return state._replace(
        node=DOWN,
        phase=IDLE,
        jobs=NO_JOBS,
        known_row=0,
        ack_waits=False,
        next_waits=False,
        visible=0,
        wire=(),
        is_carried=False,
        answer="",
        crashes=state.crashes - 1,
        plain_ack=NOT_YET if state.plain_ack == REQUESTED else state.plain_ack,
        other=NOT_YET if state.other == REQUESTED else state.other,
    )
