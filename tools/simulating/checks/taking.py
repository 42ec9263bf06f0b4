"""Is what was answered true: is it taken, stored, once, in order, and is everything answered?"""

from __future__ import annotations

from collections import Counter, defaultdict

from tools.simulating.checks.facts import (
    Facts,
    Id,
    Violation,
    answers,
    final,
    is_excused,
    published,
    restarts,
)
from tools.simulating.checks.integrity import known_answers
from tools.simulating.history import Event, History


def no_false_ok(history: History, facts: Facts) -> list[Violation]:
    """G2: a persistent message that is answered OK is on the disks of its masters by then; one that is to
    wait is on some disk."""
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
    masters = () if pub.to else facts.masters_of(event.domain)
    return event.text == "OK" and not (places and places >= set(masters))


def taken_by_masters(history: History, facts: Facts) -> list[Violation]:
    """C2.1: what is persistent and was answered OK is at every master of it, and nowhere else."""
    pubs, said, found = published(history), answers(history), []
    takers: dict[Id, dict[str, Event]] = defaultdict(dict)
    for event in history.of("known"):
        for number in event.numbers:
            takers[event.stream, event.domain, number][event.who] = event
    for known, pub in pubs.items():
        if pub.to or "p" not in pub.flags or final(said.get(known)) != "OK":
            continue
        masters, places = facts.masters_of(pub.domain), takers[known]
        if set(masters) - places.keys() or not places:
            found.append(Violation("C2.1", f"OK, and only {sorted(places)} have it", (pub,)))
        elif (set(places) - set(masters) and masters) or len(places) > max(1, len(masters)):
            found.append(Violation("C2.1", f"taken at {sorted(places)}", (pub, *places.values())))
    return found


def taken_in_order(history: History, facts: Facts) -> list[Violation]:
    """C2.2: a master's process takes a publisher's messages in their order, and likewise its letters to one
    receiver. But a transient one that waited for it when another process died may come late, and so may
    what a node with a wrong clock does not know to be void."""
    pubs, ends = published(history), [event.at for event in restarts(history)]
    found, last = [], dict[tuple[str, int, str, str, str], Event]()
    for event in history.of("accept"):
        if "e" in event.flags:
            continue
        lane = (event.who, event.boot, event.stream, event.domain, event.to)
        before = last.get(lane)
        pub = pubs.get(event.id, event)
        excused = is_excused(pub, event.at, ends) or event.at - pub.at > facts.void_after
        if before is not None and before.last >= event.first and not excused:
            found.append(Violation("C2.2", "the later one was taken first", (before, event)))
        last[lane] = event
    return found


def answered(history: History, facts: Facts) -> list[Violation]:
    """C2.3: every answer has a name that the pages know, and every question is answered in the end."""
    found = [Violation("C2.3", f"answered {e.text}", (e,)) for e in known_answers(history)]
    return found + [Violation("C2.3", "never answered", (e,)) for e in history.of("open call")]


def last_word(history: History, facts: Facts) -> list[Violation]:
    """C2.4: what waited has a last word when its master is there, and so has everything else."""
    said, pubs, found = answers(history), published(history), []
    if facts.has_moved:
        return []  # answers go to the node that asked last
    open_clients = {event.who for event in history.of("open publish")}
    for known, pub in pubs.items():
        if pub.who in open_clients and not final(said.get(known)):
            state = "waits for ever" if said.get(known) else "has no answer"
            found.append(Violation("C2.4", state, (pub, *said.get(known, [])[:1])))
    return found


def stored_once(history: History, facts: Facts) -> list[Violation]:
    """C3.7: a message has one place in the log of a master, for ever."""
    counted: Counter[tuple[str, str, str, int, str]] = Counter()
    first: dict[tuple[str, str, str, int, str], Event] = {}
    found = []
    for event in history.of("log"):
        for number in event.numbers:
            place = (event.who, event.stream, event.domain, number, event.to)
            counted[place] += 1
            if counted[place] == 2:
                found.append(Violation("C3.7", f"number {number} was stored twice", (first[place], event)))
            first.setdefault(place, event)
    return found


def last_values(history: History, facts: Facts) -> list[Violation]:
    """V1: after a start and in the end a master's last value of a topic is none that a stored one went past.
    What one publisher said later counts, whatever its clock shows."""
    # What a process took that died before the commit was nobody's value, and the stamp that it gave is void:
    # it comes again, and the next process stamps it anew, even lower if the clock was set back. So of each
    # node the last `accept` counts.
    erased = {(event.keys[0], event.domain) for event in history.of("erase")}
    takers: dict[Id, dict[str, Event]] = defaultdict(dict)
    newest: dict[str, dict[Topic, tuple[int, Event]]] = defaultdict(dict)
    kept: dict[str, dict[Topic, Event]] = defaultdict(dict)
    found: list[Violation] = []
    for event in history.of("accept", "answer", "value", "values"):
        if event.kind == "accept" and "p" in event.flags and "e" not in event.flags and not event.to:
            for number in event.numbers:
                takers[event.stream, event.domain, number][event.who] = event
        elif event.kind == "answer" and event.text == "OK":
            for number in event.numbers:
                for taken in takers[event.stream, event.domain, number].values():
                    _passes(newest[taken.who], taken, number)
        elif event.kind == "value":
            kept[event.who][event.keys[0], event.domain] = event
        elif event.kind == "values":
            found += _lost_values(event, newest[event.who], kept.pop(event.who, {}), erased)
    return found


Topic = tuple[str, str]


def _passes(newest: dict[Topic, tuple[int, Event]], taken: Event, number: int) -> None:
    topic = (taken.keys[number - taken.first], taken.domain)
    known = newest.get(topic)
    is_later = known is not None and known[1].stream == taken.stream and number > known[0]
    if known is None or is_later or taken.stamp > known[1].stamp:
        newest[topic] = (number, taken)


def _lost_values(
    now: Event, newest: dict[Topic, tuple[int, Event]], kept: dict[Topic, Event], erased: set[Topic]
) -> list[Violation]:
    found = []
    for topic, (number, event) in newest.items():
        value = kept.get(topic)
        is_later = value is not None and value.stream == event.stream and value.first >= number
        is_fine = value is not None and (is_later or value.stamp >= event.stamp)
        if topic not in erased and not topic[0].startswith("__sys__") and not is_fine:
            what = f"{now.who} has {'no' if value is None else 'an older'} last value of {topic[0]!r}"
            found.append(Violation("V1", what, (event, value or now)))
    return found
