"""Checks answers: each message has a true and final one, and is stored once and in order."""

from __future__ import annotations

from collections import Counter, defaultdict

from tools.simulator.checks.facts import (
    Facts,
    Id,
    Violation,
    answers,
    final,
    is_excused,
    published,
    restarts,
    roaming_streams,
)
from tools.simulator.checks.integrity import known_answers
from tools.simulator.history import Event, History


def no_false_ok(history: History, facts: Facts) -> list[Violation]:
    """G2: a persistent message that is answered OK is on the disks of its masters by then.

    A message that is answered FORWARD_WARNING is on some disk.
    """
    pubs, found = published(history), []
    on_disk: dict[Id, set[str]] = defaultdict(set)
    waiting: set[Id] = set()
    for event in history.of("known", "tail", "answer"):
        for number in event.numbers:
            known = (event.stream, event.domain, number)
            if event.kind == "known":
                on_disk[known].add(event.who)
            elif event.kind == "tail":
                waiting.add(known)
            elif known in pubs and "p" in pubs[known].flags:
                pub = pubs[known]
                if _is_false(event, pub, on_disk[known], known in waiting, facts):
                    found.append(Violation("G2", f"answered {event.text}, and not on disk", (pub, event)))
    return found


def _is_false(event: Event, pub: Event, places: set[str], waits: bool, facts: Facts) -> bool:
    if event.text == "FORWARD_WARNING":
        return not places and not waits
    masters = () if pub.to else facts.masters_of(event.domain, pub.keys[0])
    return event.text == "OK" and not (places and places >= set(masters))


def taken_by_masters(history: History, facts: Facts) -> list[Violation]:
    """C2.1: a persistent message that was answered OK is at each of its masters, and at no other node.

    Without a rule, each node to which its publisher moves may accept the message.
    """
    pubs, said, found = published(history), answers(history), []
    roaming = roaming_streams(history)
    takers: dict[Id, dict[str, Event]] = defaultdict(dict)
    for event in history.of("known"):
        for number in event.numbers:
            takers[event.stream, event.domain, number][event.who] = event
    for known, pub in pubs.items():
        if pub.to or "p" not in pub.flags or final(said.get(known)) != "OK":
            continue
        masters, places = facts.masters_of(pub.domain, pub.keys[0]), takers[known]
        if set(masters) - places.keys() or not places:
            found.append(Violation("C2.1", f"OK, and only {sorted(places)} have it", (pub,)))
        elif not masters and pub.stream in roaming:
            continue
        elif (set(places) - set(masters) and masters) or len(places) > max(1, len(masters)):
            found.append(Violation("C2.1", f"taken at {sorted(places)}", (pub, *places.values())))
    return found


def taken_in_order(history: History, facts: Facts) -> list[Violation]:
    """C2.2: a process of a master accepts messages of a publisher in order, direct ones per receiver.

    A transient message that waited for the master when another process ended may be late. So may a message
    that a node with a wrong clock does not know to be expired.
    """
    pubs, ends = published(history), [event.at for event in restarts(history)]
    found, last = [], dict[tuple[str, int, str, str, str, str], Event]()
    for event in history.of("accept"):
        if "e" in event.flags:
            continue
        lane = (event.who, event.boot, event.stream, event.domain, event.to, facts.line_of(event.keys[0]))
        before = last.get(lane)
        pub = pubs.get(event.id, event)
        excused = is_excused(pub, event.at, ends) or event.at - pub.at > facts.void_after
        if before is not None and before.last >= event.first and not excused:
            found.append(Violation("C2.2", "the later one was taken first", (before, event)))
        last[lane] = event
    return found


def answered(history: History, facts: Facts) -> list[Violation]:
    """C2.3: each answer has a documented code, and each call is answered in the end."""
    found = [Violation("C2.3", f"answered {e.text}", (e,)) for e in known_answers(history)]
    return found + [Violation("C2.3", "never answered", (e,)) for e in history.of("open call")]


def last_word(history: History, facts: Facts) -> list[Violation]:
    """C2.4: in the end each message has a final answer, even after waiting for its master.

    Runs in which a publisher moved are not checked, because answers go to the last node that sent.
    """
    said, pubs = answers(history), published(history)
    found: list[Violation] = []
    if facts.has_moved:
        return []  # answers go to the last node that sent
    open_clients = {event.who for event in history.of("open publish")}
    unsent = "never left, though all before it is through"
    found += [Violation("C2.4", unsent, (e,)) for e in history.of("unsent")]
    for known, pub in pubs.items():
        if pub.who in open_clients and not final(said.get(known)):
            state = "waits for ever" if said.get(known) else "has no answer"
            found.append(Violation("C2.4", state, (pub, *said.get(known, [])[:1])))
    return found


def stored_once(history: History, facts: Facts) -> list[Violation]:
    """C3.7: a message has one place in the log of a master, forever.

    Messages of streams that moved to another node are not checked here, but by Q1.
    """
    counted: Counter[tuple[str, str, str, int, str]] = Counter()
    first: dict[tuple[str, str, str, int, str], Event] = {}
    found = []
    moved = {(event.stream, event.domain) for event in history.of("goes")}  # stored anew with each move: Q1
    for event in history.of("log"):
        if (event.stream, event.to or event.domain) in moved:
            continue
        for number in event.numbers:
            place = (event.who, event.stream, event.domain, number, event.to)
            counted[place] += 1
            if counted[place] == 2:
                found.append(Violation("C3.7", f"number {number} was stored twice", (first[place], event)))
            first.setdefault(place, event)
    return found
