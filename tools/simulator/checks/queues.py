"""Checks queues: a message stays until it is settled, and a repeated delivery is marked."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from math import inf

from mesh.names import PUTS
from tools.simulator.checks.facts import Facts, Id, Violation
from tools.simulator.checks.losing import Lost, Unsure, put_anew
from tools.simulator.checks.transactions import acked_by_transactions
from tools.simulator.history import Event, History

REFUSED = ("QUEUE_FULL", "NO_QUEUE")  # proof that it is in no queue
DONE = ("ack", "reject")  # settlements that exclude another delivery
FEWEST = 3  # smallest max_attempts of any queue
Process = tuple[str, int]  # node, and boot


@lru_cache(maxsize=1)
def puts_of(history: History) -> dict[Id, Event]:
    return {e.id: e for e in history.of("put")}


def _node_of(session: str) -> str:
    return session.split("/")[2] if session else ""


def _said(history: History) -> dict[Id, Event]:
    return {e.id: e for e in history.of("put said")}


def none_lost(history: History, facts: Facts) -> list[Violation]:
    """Q2: a message that was put and answered OK is settled, a dead letter or discarded in the end.

    Each put of a client that stays is answered, and a refused persistent message is not delivered. The
    exceptions are those of `Lost`.
    """
    said, found = _said(history), list[Violation]()
    done = {e.id for e in history.of("buried", "purged")}
    done |= {e.id for e in history.of("says") if e.text in DONE} | set(acked_by_transactions(history))
    asking = {e.who for e in history.of("open publish")}
    given = {e.id: e for e in history.of("gives")}
    lost = Lost(history, facts)
    for name, put in puts_of(history).items():
        answer = said.get(name)
        if answer is None:
            if put.who in asking:
                found.append(Violation("Q2", "it was never answered", (put,)))
        elif answer.text == "OK" and name not in done:
            if not lost.is_excused(put, inf):
                shown = (put, answer, given[name]) if name in given else (put, answer)
                found.append(Violation("Q2", "it is lost", shown))
        elif answer.text in REFUSED and name in given and "p" in put.flags and not lost.is_excused(put, inf):
            found.append(Violation("Q2", f"answered {answer.text}", (put, answer, given[name])))
    return found


def acked_is_final(history: History, facts: Facts) -> list[Violation]:
    """Q4: a message is not delivered again after its ack was stored.

    After a node or memory was lost, one of the two deliveries is marked redelivered.
    """
    done, found = dict[Id, Event](), []
    unsure, said, anew = Unsure(history, facts), set[Id](), put_anew(history, facts)
    for e in history.of("settled", "gives", "crash", "stop"):
        if e.id in anew:
            continue
        if e.kind == "gives" and e.gap:
            said.add(e.id)
        if e.kind == "settled" and e.text == "ack":
            done[e.id] = e
        elif e.kind == "gives" and e.id in done and not (e.at >= unsure.since(e.id) and e.id in said):
            found.append(Violation("Q4", "it is given, and was done", (done[e.id], e)))
        elif e.kind in ("crash", "stop"):
            _forget_transient(done, puts_of(history))
    return found


def _forget_transient(known: dict[Id, Event], puts: dict[Id, Event]) -> None:
    """Forget transient messages at the end of a process.

    A message that was put again without an answer is new then.
    """
    for name in [name for name in known if name not in puts or "p" not in puts[name].flags]:
        del known[name]


def redelivered_is_said(history: History, facts: Facts) -> list[Violation]:
    """Q5: a message that a consumer has begun is marked when it is redelivered.

    The same process counts one more attempt. After a node or memory was lost, one of the two deliveries is
    marked.
    """
    begun, given, found = dict[Id, Event](), dict[tuple[Id, str, int], Process](), []
    least: dict[Id, int] = {}  # attempts, in the process of the last delivery
    processes: dict[Id, Process] = {}
    unsure, anew = Unsure(history, facts), put_anew(history, facts)
    for e in history.of("began", "gives", "crash", "stop"):
        if e.id in anew:
            continue
        if e.kind == "began":
            begun[e.id], least[e.id] = e, e.gap + 1
            processes[e.id] = given.get((e.id, e.keys[0], e.gap), ("", 0))
        elif e.kind == "gives":
            given[e.id, e.to, e.gap] = e.who, e.boot
            known = least[e.id] if e.id in begun and processes[e.id] == (e.who, e.boot) else 1
            if e.at >= unsure.since(e.id):
                known = 0 if e.id in begun and begun[e.id].gap else 1
            is_last = e.id in begun and e.gap == begun[e.id].gap >= FEWEST - 1  # perhaps its last attempt
            if e.id in begun and e.gap < known and not is_last:
                what = f"it is said to be given for the {'first time' if not e.gap else f'{e.gap + 1}. time'}"
                found.append(Violation("Q5", what, (begun[e.id], e)))
        else:
            _forget_transient(begun, puts_of(history))
    return found


def in_order(history: History, facts: Facts) -> list[Violation]:
    """Q6: a producer's messages in a queue are first delivered in order.

    Excepted are messages with a priority, delay or group, moved ones, and consumers with a selector. Messages
    that a leaving consumer had not seen come late.
    """
    puts, found = puts_of(history), []
    choosy = {(e.who, e.domain) for e in history.of("takes") if e.text}
    left: dict[tuple[str, str], float] = defaultdict(lambda: -inf)
    last: dict[tuple[str, int, str, str, bool], Event] = {}
    given: set[Id] = set()
    for e in history.of("takes", "gives"):
        if e.kind == "takes":
            if "e" in e.flags:
                left[e.who, e.domain] = e.at
            continue
        is_first, put = e.id not in given, puts.get(e.id)
        given.add(e.id)
        if (
            put is None
            or not is_first
            or e.gap
            or "m" in e.flags
            or e.keys != ("",)
            or (e.who, e.domain) in choosy
        ):
            continue
        lane = (e.who, e.boot, e.stream, e.domain, "p" in e.flags)
        before = last.get(lane)
        if before is not None and before.first > e.first and left[e.who, e.domain] < put.at:
            found.append(Violation("Q6", "the later one was given first", (put, before, e)))
        last[lane] = max(e, before or e, key=lambda each: each.first)
    return found


def as_it_was_put(history: History, facts: Facts) -> list[Violation]:
    """Q10: a consumer receives messages as they were put, and only matches of its selector."""
    puts, found = puts_of(history), list[Violation]()
    selectors: dict[tuple[str, str, int], Event] = {}
    for e in history.of("takes", "gives", "began"):
        put = puts.get(e.id)
        if e.kind == "takes":
            selectors[e.who, e.to, e.sub] = e
        elif put is None:
            continue  # a dead letter, or a durable subscription's copy
        elif e.kind == "began":
            if e.text != put.text:
                found.append(Violation("Q10", "that was not put", (put, e)))
        elif not _wants(selectors[e.who, e.to, e.sub].text, put):
            found.append(Violation("Q10", "he does not want it", (selectors[e.who, e.to, e.sub], put, e)))
    return found


def _wants(selector: str, put: Event) -> bool:
    """Return whether `selector`, a text of name, sign and value, matches the message."""
    if not selector:
        return True
    name, sign, value = selector.split(" ", 2)
    how, kind = put.keys
    known = {"kind": repr(kind), "priority": how.split(" ")[0] or "5"}[name]
    return {"==": known == value, "!=": known != value, ">": known > value}[sign]


def sums(history: History, facts: Facts) -> list[Violation]:
    """Q9: each message is in one state only, such as ready, out, delayed, in transit, acked, dead or purged.

    The figures that a node reports agree with these states.
    """
    found = [Violation("Q9", f"{e.who} {e.domain}: {e.text}", (e,)) for e in history.of("wrong sum")]
    came = 0
    times = 2 if any(history.of("goes")) else 1  # a moving message may count at two nodes
    for e in history.of("put", "queue info"):
        came += e.kind == "put"
        if e.kind == "queue info":
            words = e.text.split()
            row = dict(zip(words[::2], map(int, words[1::2]), strict=True))
            there = row["ready"] + row["out"] + row["delayed"]
            if min(row.values()) < 0 or there > came * times or (there and not row["bytes"]):
                found.append(Violation("Q9", "that cannot be", (e,)))
    return found


def nothing_stays(history: History, facts: Facts) -> list[Violation]:
    """Q7: in the end nothing waits if consumers accept everything; nothing of deleted queues is on disk."""
    return [Violation("Q7", f"{e.who}: {e.text}: {e.stamp}", (e,)) for e in history.of("left") if e.stamp]


__all__ = [
    "PUTS", "acked_is_final", "as_it_was_put", "in_order", "none_lost", "nothing_stays",
    "redelivered_is_said", "sums",
]  # fmt: skip
