"""The steps in which a node leaves the mesh without a loss, and the rest of each step."""

# Law 1: the steps follow one another in the order of `Step`. A step ends when nothing of it can move.
# Law 2: QUIET ends after its limit even if calls are in progress; their clients finish them before they go.

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum, StrEnum
from math import inf
from typing import NamedTuple


class Step(IntEnum):
    """The step of a drain that a node has reached."""

    STAYING = 0  # the node is not drained
    CLOSED = 1  # no new sessions, and other nodes name this one no longer
    QUIET = 2  # no new deliveries to consumers and services; calls in progress end
    CLIENTS = 3  # clients are sent to other nodes
    QUEUES = 4  # the last messages of queues move
    OUTBOUND = 5  # the outbound buffer empties
    LOG = 6  # peers receive what they are owed of the log
    DONE = 7  # the node may be stopped


LIMITS = {Step.QUIET: 10.0}  # s


class Fate(StrEnum):
    """The fate of the things that are left."""

    MOVES = "moves"  # a step waits for them
    STAYS = "stays"  # they cannot move, and the drain is never complete
    WAITS = "waits"  # they wait on disk for a node that is down, or for a client


class Left(NamedTuple):
    """Things of one kind that are still at a node that is drained."""

    step: Step
    what: str  # such as "clients"
    amount: int
    fate: Fate = Fate.MOVES
    node: str = ""  # for which they wait
    why: str = ""


def next_step(step: Step, since: float, now: float, moving: Collection[Step]) -> Step:
    """Return the step at the time `now` of a node that entered `step` at the time `since`.

    `moving` has the steps of which something can still move. A node that is not drained stays so.
    """
    while Step.STAYING < step < Step.DONE:
        if step in moving and now - since < LIMITS.get(step, inf):
            return step
        step, since = Step(step + 1), now
    return step


class Leaving:
    """The step of this node's drain, which components ask for the things that they may still do."""

    def __init__(self) -> None:
        self.step = Step.STAYING
        self.since = 0.0  # time at which the step began
        self.is_on = False  # whether this node is drained with its clients
        self.is_quiet = False  # whether consumers and services of this node receive nothing new

    def enter_step(self, step: Step, now: float) -> None:
        self.step, self.since = step, now
        self.is_on, self.is_quiet = step is not Step.STAYING, step >= Step.QUIET
