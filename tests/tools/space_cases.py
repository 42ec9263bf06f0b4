"""Histories of calls for shared data that keep each promise, and some that break it."""

from dataclasses import replace

from tests.tools.queue_cases import FACTS
from tools.simulator.checks.facts import Facts
from tools.simulator.history import Event

MAP = "map/prices"


def asks(
    number: int, word: str, at: float, to: str = "", stamp: int = -1, space: str = MAP, key: str = "k"
) -> Event:
    return Event(at, "op", "ann", domain=space, keys=(key,), first=number, text=word, to=to, stamp=stamp)


def said(
    number: int, at: float, code: str = "OK", stamp: int = 0, to: str = "", space: str = MAP, key: str = "k"
) -> Event:
    return Event(at, "op said", "ann", domain=space, keys=(key,), first=number, text=code, to=to, stamp=stamp)


PUT = (asks(1, "put", 1.0, "x"), said(1, 2.0, stamp=5, to="x"))
READ = (asks(2, "get", 3.0), said(2, 4.0, stamp=5, to="x"))
NOTHING = replace(READ[1], stamp=0, to="")

PUT_IF = (asks(3, "put_if", 3.0, "y", stamp=5), said(3, 4.0, stamp=6, to="y"))
LATER = (replace(PUT_IF[0], first=4, at=5.0), replace(PUT_IF[1], first=4, at=6.0, stamp=7))
LOWER = replace(PUT_IF[1], stamp=4)
HELD = Event(1.0, "held", "ann", domain="lock/shop", keys=("nightly",), first=1, stamp=8)
OVER = Event(2.0, "held over", "ann", first=1)
NEXT = replace(HELD, at=2.1, who="joe", first=2, stamp=9)
TALLY, KEY = "tally/clicks", "clicks"
ADDED = (
    asks(1, "add", 1.0, stamp=7, space=TALLY, key=KEY),
    said(1, 2.0, stamp=7, space=TALLY, key=KEY),
    asks(2, "add", 3.0, stamp=4, space=TALLY, key=KEY),
    said(2, 4.0, "TIMEOUT", space=TALLY, key=KEY),
    Event(5.0, "healed", ""),
    asks(3, "value", 6.0, space=TALLY, key=KEY),
)
SUM = said(3, 7.0, stamp=11, space=TALLY, key=KEY)

SPACES: dict[str, tuple[Facts, tuple[Event, ...], tuple[Event, ...]]] = {
    "K1": (FACTS, (*PUT, *READ), (*PUT, READ[0], NOTHING)),
    "K2": (FACTS, (*PUT, *PUT_IF), (*PUT, PUT_IF[0], LOWER)),
    "K3": (FACTS, PUT_IF, (*PUT_IF, *LATER)),
    "K4": (FACTS, (HELD, OVER, NEXT), (HELD, replace(NEXT, at=1.9), OVER)),
    "K5": (FACTS, PUT, (*PUT, Event(9.0, "op open", "ann", domain=MAP, first=2))),
    "TALLY": (FACTS, (*ADDED, SUM), (*ADDED, replace(SUM, stamp=4))),
    "BOUND": (FACTS, (), (Event(9.0, "out of bounds", "a", text="it has too many promises"),)),
}
