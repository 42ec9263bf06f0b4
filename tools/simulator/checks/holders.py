"""Checks locks: who holds one, and which tokens and versions are given."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import inf

from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.checks.spaces import calls
from tools.simulator.history import Event, History

GIVING = ("put", "put_if", "lock")  # words of calls that give a version or token


def versions_grow(history: History, facts: Facts) -> list[Violation]:
    """K2: a token or version is above those that were answered before its call. A generation has one home."""
    found, highest = list[Violation](), dict[str, Event]()  # highest answer by space
    writes = dict[int, Event | None]()  # calls that give one, with the highest answer before them
    homes = dict[tuple[str, int], Event]()
    for e in history.of("op", "op said", "held", "defined"):
        if e.kind == "defined":
            known = homes.setdefault((e.domain, e.first), e)
            if (known.to, known.stamp) != (e.to, e.stamp):
                found.append(Violation("K2", "a generation has two homes", (known, e)))
        elif e.kind == "op" and e.text in GIVING:
            writes[e.first] = highest.get(e.domain)
        elif e.first in writes and e.stamp:
            earlier, last = writes[e.first], highest.get(e.domain)
            if earlier is not None and earlier.stamp >= e.stamp:
                found.append(Violation("K2", "a token or version is not above an earlier one", (earlier, e)))
            if last is None or last.stamp < e.stamp:
                highest[e.domain] = e
    return found


def replaced_once(history: History, facts: Facts) -> list[Violation]:
    """K3: no two answered `put_if` have replaced one version of a key."""
    found, replaced = list[Violation](), dict[tuple[str, str, int], Event]()
    for call, said in calls(history):
        if call.text != "put_if" or call.stamp <= 0 or said is None or said.text != "OK":
            continue
        first = replaced.setdefault((call.domain, call.keys[0], call.stamp), call)
        if first is not call:
            found.append(Violation("K3", f"version {call.stamp} is replaced twice", (first, call)))
    return found


def one_holder(history: History, facts: Facts) -> list[Violation]:
    """K4: one client has a lock, by the clocks of the clients."""
    ends = {e.first: e.at for e in history.of("held over")}
    held: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for e in history.of("held"):
        held[e.domain, e.keys[0]].append(e)
    found = list[Violation]()
    for of_lock in held.values():
        last, end = of_lock[0], ends.get(of_lock[0].first, inf)
        for e in of_lock[1:]:
            if e.at < end:
                found.append(Violation("K4", f"{last.who} and {e.who} have it", (last, e)))
            if ends.get(e.first, inf) > end:
                last, end = e, ends.get(e.first, inf)
    return found


def answered(history: History, facts: Facts) -> list[Violation]:
    """K5: at the end, each call has an answer, and no lock waits for its next holder."""
    return [Violation("K5", "a call has no answer in the end", (e,)) for e in history.of("op open")]


def tallied(history: History, facts: Facts) -> list[Violation]:
    """TALLY: at the end, each node knows the sum of all answered additions, and of some without an answer."""
    sums, doubtful = Counter[str](), defaultdict[str, list[int]](list)
    healed = next((e.at for e in history.of("healed")), inf)
    found = list[Violation]()
    for call, said in calls(history):
        if not call.domain.startswith("tally/"):
            continue
        if call.text == "add" and said is not None and said.text == "OK":
            sums[call.domain] += call.stamp
        elif call.text == "add":
            doubtful[call.domain].append(call.stamp)
        elif call.at > healed and said is not None:
            possible = _sums(sums[call.domain], doubtful[call.domain])
            if said.text != "OK" or said.to or said.stamp not in possible:
                what = f"the sum is one of {sorted(possible)[:20]}"
                found.append(Violation("TALLY", what, (said,)))
    return found


def _sums(certain: int, doubtful: list[int]) -> set[int]:
    found = {certain}
    for amount in doubtful:
        found |= {each + amount for each in found}
    return found


def bounded(history: History, facts: Facts) -> list[Violation]:
    """BOUND: tables stay below their limits, and the figures of a space are those of its values."""
    return [Violation("BOUND", e.text, (e,)) for e in history.of("out of bounds")]
