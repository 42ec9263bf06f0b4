"""The decisions about transactions and shared data, as functions without state, which the models call.

A time is a remaining time, in any unit, unless it is an age.
"""

# Law 1: a transaction has one outcome, durable before it is answered, refusals included.
# Law 2: nothing of a transaction over several stores is visible before every store has its operations.
# Law 3: an outbox number is given once, although the table may be restored from a backup.
# Law 4: each reign at another node has a generation of its own, and a token is above all tokens before it.

from __future__ import annotations

from mesh.features.transactions.model.rules import Verdict, commit_verdict
from mesh.routing.branches import PREPARED

# --- phases of a transaction at its node --------------------------------------------------------------------

IDLE = ""  # not begun, or over
PREPARING = "prepare"  # hidden rows are being written
DECIDING = "decide"  # the decision, or the whole transaction in one store, is being written
FINISHING = "finish"  # decided: the stores make their rows visible
REMOVING = "remove"  # all are visible: the decision is being removed
REFUSING = "refuse"  # the refusal is being written

# --- values of the rows of a transaction --------------------------------------------------------------------

COMMITTED, REFUSED = "committed", "refused"  # outcomes


# --- transactions -------------------------------------------------------------------------------------------


def question_verdict(outcome: str, is_under_way: bool) -> Verdict:
    """Return the verdict about a question: it decides, so a later copy of the COMMIT is refused."""
    return commit_verdict(outcome, is_under_way, may_run=False)


def is_delivery_held(phase: str) -> bool:
    """Return whether a delivery that a transaction acknowledges outlives its lease."""
    return phase not in (IDLE, REFUSING)


def stream_waits(phase: str) -> bool:
    """Return whether later messages of the stream wait: not for a prepared transaction."""
    return phase not in (IDLE, PREPARED)


# --- outbox -------------------------------------------------------------------------------------------------


def lowest_number(numbers: tuple[int, ...], next_number: int) -> int:
    """Return `low` of a sender: all numbers below it have their final answer."""
    return min(numbers, default=next_number)


def is_repeat(number: int, low: int, known: frozenset[int]) -> bool:
    """Return whether a master has already answered a number."""
    return number < low or number in known


# --- homes --------------------------------------------------------------------------------------------------


def next_generation(promised: int) -> int:
    """Return the generation that a node claims, hand-overs included."""
    return promised + 1


def quiet_time(lease: int, is_handed_over: bool) -> int:
    """Return the time without grants of a new home: older leases may run, and only a hand-over names them."""
    return 0 if is_handed_over else lease


def lease_at_client(lease: int, age: int) -> int:
    """Return the rest of a lease when its answer arrives `age` after the request was sent."""
    return lease - age


def lease_at_start(lease: int) -> int:
    """Return the lease of a lock's owner after a restart of its home: no monotonic clock survives."""
    return lease


def version_after_force(generation: int, version: tuple[int, int]) -> tuple[int, int]:
    """Return the version of a key after a forced move, which keeps the value of a cached copy."""
    return generation, 0
