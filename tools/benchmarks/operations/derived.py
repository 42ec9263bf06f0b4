"""Figures of ours that have a goal of their own: ratios of durations, and the rate of outboxes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.benchmarks.operations.cases import CASES, MAPS, STORES, TRANSACTIONS
from tools.benchmarks.operations.contestants import OURS

# by part and case: the median duration (s) of a run of it in one round
Halves = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Duration:
    """A median duration of ours, relative to other durations of the same round.

    `of` gets a function that returns the median duration (s) of a case, and the duration of an fsync.
    """

    part: str
    name: str
    what: str
    limit: float
    cases: tuple[tuple[str, str], ...]  # case and contestant that it needs
    of: Callable[[Sequence[float], float], float]  # of their medians (s) and of a raw fsync's (s)


DURATIONS = (
    Duration(
        TRANSACTIONS,
        "transactions, commit by put",
        "a commit of an ack and a put, of a put alone, median",
        1.3,
        (("commit 1, 1", OURS), ("put, 1", OURS)),
        lambda halves, _: halves[0] / halves[1],
    ),
    Duration(
        TRANSACTIONS,
        "transactions, stores by fsync",
        "a commit in three stores, of a raw fsync, median",
        4.5,
        (("commit 1, 1", STORES),),
        lambda halves, fsync: halves[0] / fsync,
    ),
    Duration(
        MAPS,
        "maps, put by publish",
        "a put, of a persistent publish and a round trip, median",
        1.0,
        (("put, 1", OURS), ("publish, 1", OURS), ("get, 1", OURS)),
        lambda halves, _: halves[0] / (halves[1] + halves[2]),
    ),
    Duration(
        MAPS,
        "maps, lock by publish",
        "acquire and release, of two publishes and two round trips, median",
        1.0,
        (("lock, 1", OURS), ("publish, 1", OURS), ("get, 1", OURS)),
        lambda halves, _: halves[0] / 2 / (halves[1] + halves[2]),
    ),
)
assert all(case in CASES[each.part] for each in DURATIONS for case, _ in each.cases)
# database: least rows a second
OUTBOXES = {"postgresql": 5000.0, "sqlite": 2000.0}


def outbox_of(database: str) -> str:
    return f"transactions, outbox: {database}"
