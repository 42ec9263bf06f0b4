"""Checks transactions: all of one happens or nothing, and its outcome holds."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from tools.simulator.checks.facts import Facts, Id, Violation, spans
from tools.simulator.checks.losing import Unsure
from tools.simulator.history import Event, History

Transaction = tuple[str, int]  # stream, number
FREED = 1.0  # s after which a store notices that its disk has room again, and writes
TAKEN = ("log", "tail", "gives", "deliver", "got")  # proof that a node has accepted a message


def messages_of(commit: Event) -> list[Id]:
    """Return the messages that a transaction puts and publishes."""
    found = []
    for text in commit.route:
        domain, _, number = text.rpartition(" ")
        found.append((commit.stream, domain, int(number)))
    return found


def settled_by(commit: Event) -> list[Id]:
    """Return the deliveries that a transaction settles."""
    found = []
    for text in commit.keys:
        stream, domain, number = text.split(" ")
        found.append((stream, domain, int(number)))
    return found


@lru_cache(maxsize=4)
def _first(history: History, *kinds: str) -> dict[Id, Event]:
    """Return the first event of these kinds for each message.

    "log" and "tail" tell when a persistent message is on a disk, at its master or at another node; "known",
    when its number is at the master's, also without subscribers.
    """
    found: dict[Id, Event] = {}
    for e in history.of(*kinds) if any(history.of("commit")) else ():
        for number in e.numbers:
            found.setdefault((e.stream, e.domain, number), e)
    return found


@lru_cache(maxsize=1)
def _outcomes(history: History) -> dict[Transaction, Event]:
    """Return the first outcome of each transaction on a disk."""
    found: dict[Transaction, Event] = {}
    for e in history.of("outcome"):
        found.setdefault((e.stream, e.first), e)
    return found


def acked_by_transactions(history: History) -> set[Id]:
    """Return the messages that a transaction has acked, or may have: it is not known to be refused."""
    refused = {
        (e.stream, e.first) for e in history.of("outcome", "commit said") if e.text not in ("OK", "IN_DOUBT")
    }
    acks = (e for e in history.of("commit") if e.text == "ack" and (e.stream, e.first) not in refused)
    return {name for commit in acks for name in settled_by(commit)}


def all_or_none(history: History, facts: Facts) -> list[Violation]:
    """T1: all persistent messages of a transaction, and its outcome, are on the disk in one moment."""
    stored, known = _first(history, "log", "tail"), _first(history, "known")
    outcomes = _outcomes(history)
    found = list[Violation]()
    for commit in history.of("commit"):
        if "p" not in commit.flags:
            continue
        outcome = outcomes.get((commit.stream, commit.first))
        if outcome is None or outcome.text != "OK":
            there = [stored[name] for name in messages_of(commit) if name in stored]
            if there and outcome is None:
                found.append(Violation("T1", "messages without the outcome", (commit, there[0])))
            continue
        for name in messages_of(commit):
            e = stored.get(name) or known.get(name)
            if e is None or (e.who, e.at) != (outcome.who, outcome.at):
                shown = (commit, outcome, *filter(None, [e]))
                found.append(Violation("T1", f"{name[1]} {name[2]} is not in the same commit", shown))
    return found


def outcome_holds(history: History, facts: Facts) -> list[Violation]:
    """T2: a transaction has one outcome, on the disk when it is answered. A refused one has no effect.

    A refusal that meets a full disk is stored later.
    """
    full = [(begin, end + FREED) for begin, end, fault in spans(history) if fault.text == "full"]
    outcomes, found = dict[Transaction, Event](), list[Violation]()
    commits = {(e.stream, e.first): e for e in history.of("commit")}
    refused: dict[Id, Event] = {}
    for e in history.of("outcome", "commit said"):
        name = e.stream, e.first
        known = outcomes.get(name)
        if e.kind == "outcome":
            if known is not None and known.text != e.text:
                found.append(Violation("T2", "it has two outcomes", (known, e)))
            outcomes.setdefault(name, e)
        elif e.text == "IN_DOUBT":
            continue
        elif known is None and e.text != "OK" and any(begin <= e.at <= end for begin, end in full):
            outcomes[name] = e
        elif known is None or known.text != e.text:
            found.append(Violation("T2", "it is answered without that outcome", (e, *filter(None, [known]))))
        if e.text != "OK" and name in commits:
            refused.update(dict.fromkeys(messages_of(commits[name]), e))
    for e in history.of(*TAKEN) if refused else ():
        for number in e.numbers or (e.first,):
            if (e.stream, e.domain, number) in refused:
                why = refused[e.stream, e.domain, number]
                found.append(Violation("T2", "it was refused, and has an effect", (why, e)))
    return found


def settled_once(history: History, facts: Facts) -> list[Violation]:
    """T3: a delivery is settled by one transaction, or given again, but not both."""
    done, found = dict[Id, Event](), list[Violation]()
    commits = {(e.stream, e.first): e for e in history.of("commit") if e.text == "ack"}
    unsure, seen = Unsure(history, facts), set[Transaction]()
    persistent = {e.id for e in history.of("put") if "p" in e.flags}
    for e in history.of("outcome", "gives") if commits else ():
        if e.kind == "gives":
            if e.id in done and e.id in persistent and e.at < unsure.since(e.id):
                found.append(Violation("T3", "it is given, and was done", (done[e.id], e)))
            continue
        name = e.stream, e.first
        if e.text != "OK" or name not in commits or name in seen:
            continue
        seen.add(name)
        for one in settled_by(commits[name]):
            if one in done and one in persistent:
                found.append(Violation("T3", "two transactions have settled it", (done[one], e)))
            done[one] = e
    return found


def stored_in_order(history: History, facts: Facts) -> list[Violation]:
    """T4: the persistent messages of a client in a domain are stored in order."""
    found, last = list[Violation](), defaultdict[tuple[str, str], list[Event]](list)
    committing = {e.stream for e in history.of("commit")}
    persistent = {(e.stream, e.domain, n) for e in history.of("accept") if "p" in e.flags for n in e.numbers}
    for (stream, domain, number), e in _first(history, "log", "tail", "known").items():
        if e.kind == "known" and (stream, domain, number) not in persistent:
            continue
        lane = last[stream, domain]
        if stream in committing and lane and lane[-1].first > number and number not in lane[-1].numbers:
            found.append(Violation("T4", "the later one was stored first", (lane[-1], e)))
        lane.append(e)
    return found


def none_under_way(history: History, facts: Facts) -> list[Violation]:
    """T6: in the end no transaction is under way, and at most the allowed number of outcomes is kept."""
    return [
        Violation("T6", f"{e.who}: {e.text}: {e.stamp}", (e,)) for e in history.of("unfinished") if e.stamp
    ]
