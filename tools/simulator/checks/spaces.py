"""Checks maps, counters, tallies and locks: their calls are linearizable, and a lock has one holder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from math import inf
from typing import NamedTuple

from mesh.features.spaces.model.batch import is_forced
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.checks.linear import ABSENT, UNKNOWN, Operation, counter_step, is_linearizable, map_step
from tools.simulator.history import Event, History

WRITES = ("put", "put_if", "remove", "add")
READS = ("get", "value")
NO_EFFECT = ("MAP_FULL", "OVERFLOW")
OTHERWISE = {"put_if": "not put", "remove": "not removed"}  # words of operations that did not fit


class Called(NamedTuple):
    """A call, and its answer if it has one."""

    call: Event
    said: Event | None

    @property
    def end(self) -> float:
        return inf if self.said is None else self.said.at

    @property
    def code(self) -> str:
        return "" if self.said is None else self.said.text


@lru_cache(maxsize=1)
def calls(history: History) -> list[Called]:
    """Return all calls for shared data, in order."""
    said = {e.first: e for e in history.of("op said")}
    return [Called(e, said.get(e.first)) for e in history.of("op")]


class Loss(NamedTuple):
    """A forced move, and when a node knew it first."""

    begin: float
    known: float


def losses(history: History) -> dict[str, list[Loss]]:
    """Return the forced moves that came into effect, by space."""
    asked, seen = dict[str, float](), set[tuple[str, int]]()
    found: dict[str, list[Loss]] = defaultdict(list)
    for e in history.of("op", "defined"):
        if e.kind == "op" and e.text == "force":
            asked.setdefault(e.domain, e.at)
        elif e.kind == "defined" and is_forced(e.stamp) and (e.domain, e.stamp) not in seen:
            seen.add((e.domain, e.stamp))
            found[e.domain].append(Loss(asked.pop(e.domain, 0.0), e.at))
    return found


def operation(each: Called, lost: Iterable[Loss]) -> Operation | None:
    """Return a call as an operation; `None` if it says nothing.

    A write that is under way during a forced move may be done twice, or at the old home only.
    """
    call, end = each.call, each.end
    is_done = each.code in ("OK", "NOT")
    is_done = is_done and not any(call.at <= loss.known and end >= loss.begin for loss in lost)
    if is_done and each.said is not None:
        word = call.text if each.code == "OK" else OTHERWISE[call.text]
        content = call.to or each.said.to
        return Operation(call.at, end, word, content, each.said.stamp, call.stamp)
    if call.text in READS or each.code in NO_EFFECT:
        return None
    return Operation(call.at, inf, call.text, call.to, UNKNOWN, call.stamp, is_doubtful=True)


def linearizable(history: History, facts: Facts) -> list[Violation]:
    """K1: the calls for one key have an order that fits their times and results.

    A forced move, which an operator asks for, may lose what the old home has written.
    """
    lost, keys, found = losses(history), defaultdict[tuple[str, str], list[Called]](list), list[Violation]()
    for each in calls(history):
        if each.call.text in (*WRITES, *READS) and not each.call.domain.startswith("tally/"):
            keys[each.call.domain, each.call.keys[0]].append(each)
    for (space, key), of_key in keys.items():
        own = lost.get(space, [])
        made = [made for each in of_key if (made := operation(each, own)) is not None]
        made += [Operation(loss.begin, inf, "loss", is_doubtful=True) for loss in own]
        if not _fits_together(space, made):
            shown = sorted({e for each in of_key for e in each if e is not None}, key=lambda e: e.at)
            found.append(Violation("K1", f"no order explains the calls for {key!r} of {space}", tuple(shown)))
    return found


def _fits_together(space: str, operations: list[Operation]) -> bool:
    if space.startswith("counter/"):
        start: int | None = 0
        return is_linearizable(operations, start, counter_step)
    contents = [each.content for each in operations if each.word in ("put", "put_if")]
    return is_linearizable(operations, ABSENT, map_step(contents))
