"""Histories of transactions that keep each promise, and some that break it."""

from dataclasses import replace

from tests.tools.queue_cases import FACTS, JOBS, S, gives, put
from tools.simulator.history import Event

ACKED = (f"{S} {JOBS} 1",)
COMMIT = Event(4.0, "commit", "ann", stream=S, first=1, keys=ACKED, route=(" 1", " 2"), text="ack", flags="p")


def log(number: int, at: float = 5.0) -> Event:
    return Event(at, "log", "a", 1, stream=S, first=number, last=number)


def outcome(text: str = "OK", at: float = 5.0, number: int = 1) -> Event:
    return Event(at, "outcome", "a", 1, stream=S, first=number, text=text)


def said(text: str = "OK", at: float = 5.5) -> Event:
    return Event(at, "commit said", "ann", stream=S, first=1, text=text)


def unfinished(count: int) -> Event:
    return Event(9.0, "unfinished", "a", text="transactions under way", stamp=count)


FULL = outcome("QUEUE_FULL")
SECOND = (replace(COMMIT, first=2, route=()), outcome(number=2, at=6.0))
TRANSACTIONS = {
    "T1": (FACTS, (COMMIT, log(1), log(2), outcome()), (COMMIT, log(1), log(2, at=5.1), outcome())),
    "T2": (FACTS, (COMMIT, FULL, said("QUEUE_FULL")), (COMMIT, FULL, said("QUEUE_FULL"), log(2, at=7.0))),
    "T3": (FACTS, (put(), COMMIT, outcome("LEASE_OVER"), *SECOND), (put(), COMMIT, outcome(), *SECOND)),
    "T4": (FACTS, (COMMIT, log(1), log(2)), (COMMIT, log(2), log(1, at=6.0))),
    "T6": (FACTS, (unfinished(0),), (unfinished(1),)),
}
GIVEN_AGAIN = (put(), COMMIT, outcome(), gives(at=6.0, tries=1))
