"""Histories of calls for shared data that keep each promise, and some that break it."""

from dataclasses import replace

from tests.tools.queue_cases import FACTS
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

SPACES = {"K1": (FACTS, (*PUT, *READ), (*PUT, READ[0], NOTHING))}
