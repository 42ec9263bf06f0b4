"""Checks retained values: the newest stored one everywhere, and never an erased one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from math import inf

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
from tools.simulator.history import Event, History

Topic = tuple[str, str]
EARLY, LAST = 1, 2  # rounds of reading: before the last publishes, after
FRESH, CACHED = "fresh", "cached"
ERASING = ("accept", "log", "answer", "erase", "erased", "value", "read", "fault", "crash", "stop")


def topic_of(event: Event) -> Topic:
    return event.keys[0], event.domain


@dataclass
class Known:
    """The values that each node has accepted so far, in order.

    `newest` has the newest value of each topic that was answered OK. `taken` and `ended` have the position of
    the last event of each message and erasure. An answer to a message of a stream in `roaming` may be that of
    another node: it counts for a node that has `logged` the message.
    """

    # A message that a process accepted before it died without a commit was never a value, and its timestamp
    # is invalid: it is resent, and the next process assigns a new timestamp, even a lower one if the clock
    # was set back. The last `accept` of each node therefore counts.
    taken: dict[Id, dict[str, tuple[int, Event]]] = field(default_factory=lambda: defaultdict(dict))
    newest: dict[str, dict[Topic, tuple[int, Event]]] = field(default_factory=lambda: defaultdict(dict))
    ended: dict[tuple[str, Topic], int] = field(default_factory=dict)
    roaming: Set[str] = frozenset()
    logged: set[tuple[str, Id]] = field(default_factory=set)

    def hear(self, place: int, event: Event) -> None:
        if event.kind == "accept" and "e" in event.flags:
            self.ended[event.who, topic_of(event)] = place
            self.newest[event.who].pop(topic_of(event), None)
        elif event.kind == "accept" and not event.to:
            for number in event.numbers:
                self.taken[event.stream, event.domain, number][event.who] = place, event
        elif event.kind == "log" and event.stream in self.roaming:
            self.logged |= {(event.who, (event.stream, event.domain, number)) for number in event.numbers}
        elif event.kind == "answer" and event.text == "OK":
            for number in event.numbers:
                name = (event.stream, event.domain, number)
                for at, accept in self.taken[name].values():
                    is_stored = event.stream not in self.roaming or (accept.who, name) in self.logged
                    if "p" in accept.flags and is_stored:
                        self._pass(at, accept, number)

    def forget_ends(self, who: str, but: Set[tuple[str, Topic]]) -> None:
        """Forget the erasures of a node whose process ended, except `but`."""
        for end in [end for end in self.ended if end[0] == who and end not in but]:
            del self.ended[end]

    def _pass(self, at: int, accept: Event, number: int) -> None:
        topic = (accept.keys[number - accept.first], accept.domain)
        if at < self.ended.get((accept.who, topic), -1):
            return
        known = self.newest[accept.who].get(topic)
        is_later = known is not None and known[1].stream == accept.stream and number > known[0]
        if known is None or is_later or accept.stamp > known[1].stamp:
            self.newest[accept.who][topic] = (number, accept)

    def places(self, value: Event) -> dict[str, int]:
        """Return the position at which each node accepted the value last."""
        return {who: at for who, (at, _) in self.taken.get(value.id, {}).items()}


def is_older(value: Event | None, number: int, accept: Event) -> bool:
    """Return whether `value` is older than `accept`.

    Of one publisher's messages the one with the higher number is newer, at any timestamp.
    """
    if value is None:
        return True
    is_later = value.stream == accept.stream and value.first >= number
    return not is_later and value.stamp < accept.stamp


def last_values(history: History, facts: Facts) -> list[Violation]:
    """V1: after a start and in the end no master's retained value is older than a stored one.

    A later message of one publisher is newer, at any timestamp.
    """
    known, found = Known(roaming=roaming_streams(history)), list[Violation]()
    kept: dict[str, dict[Topic, Event]] = defaultdict(dict)
    for place, event in enumerate(history.of("accept", "log", "answer", "value", "values")):
        known.hear(place, event)
        if event.kind == "value":
            kept[event.who][topic_of(event)] = event
        elif event.kind == "values":
            there = kept.pop(event.who, {})
            for topic, (number, accept) in known.newest[event.who].items():
                value = there.get(topic)
                if not topic[0].startswith("__sys__") and is_older(value, number, accept):
                    what = f"{event.who} has {'no' if value is None else 'an older'} last value of"
                    found.append(Violation("V1", f"{what} {topic[0]!r}", (accept, value or event)))
    return found


def read_alike(history: History, facts: Facts) -> list[Violation]:
    """V2: after all is healed and quiet, `get` returns the same on all nodes, cached or not.

    The value is not older than any that was answered OK. The cache of a node with an unreported gap may be
    behind. Several masters may differ: a restarted one has lost transient messages; a master that refused a
    message or erased the topic first has another value, and a publisher's restarted node gives the message
    another timestamp.
    """
    known, found = Known(roaming=roaming_streams(history)), list[Violation]()
    said: dict[tuple[int, Topic], list[Event]] = defaultdict(list)
    untold = {event.to for event in history.of("untold yet")}
    for place, event in enumerate(history.of("accept", "log", "answer", "read")):
        known.hear(place, event)
        is_behind = event.sub == EARLY and event.text == CACHED and event.to in untold
        if event.kind == "read" and event.flags == "refused":
            found.append(Violation("V2", f"get() is refused: {event.text}", (event,)))
        elif event.kind == "read" and not is_behind:
            said[event.sub, topic_of(event)].append(event)
            found += _older(event, known, facts)
    lost, wrong = _lost(history), any(event.text == "clock" for event in history.of("fault"))
    for (_, topic), events in said.items():
        one, other = events[0], next((e for e in events if e.id != events[0].id), None)
        several = len(facts.masters_of(topic[1], topic[0])) > 1
        ids = {event.id for event in events}
        apart = any(_is_stamped_apart(known, each) for each in ids)
        excused = several and (wrong or apart or not ids.isdisjoint(lost) or _has_ended(known, topic))
        if other is not None and not excused:
            what = f"{topic[0]!r} is not the same at {one.to} ({one.text}) and at {other.to} ({other.text})"
            found.append(Violation("V2", what, (one, other)))
    return found


def _older(read: Event, known: Known, facts: Facts) -> Iterator[Violation]:
    topic = topic_of(read)
    value = read if read.first else None
    masters = facts.masters_of(topic[1], topic[0])
    asked = masters or tuple(known.newest)
    newest = [known.newest[who][topic] for who in asked if topic in known.newest.get(who, ())]
    passed = [accept for number, accept in newest if is_older(value, number, accept)]
    ended = any((who, topic) in known.ended and topic not in known.newest.get(who, ()) for who in masters)
    if value is None and ended:
        return  # the masters' orders differ
    if passed and (len(passed) == len(newest) or not masters):
        what = f"get() at {read.to} ({read.text}) is behind what was answered OK"
        yield Violation("V2", what, (passed[0], read))


def _has_ended(known: Known, topic: Topic) -> bool:
    return any(ended == topic for _, ended in known.ended)


def _is_stamped_apart(known: Known, message: Id) -> bool:
    return len({accept.stamp for _, accept in known.taken.get(message, {}).values()}) > 1


def _lost(history: History) -> set[Id]:
    """Return the messages that one of several masters may have, and another one not."""
    said, ends = answers(history), [end.at for end in restarts(history)]
    return {
        known
        for known, pub in published(history).items()
        if final(said.get(known)) != "OK" or is_excused(pub, inf, ends)
    }


def erased_for_good(history: History, facts: Facts) -> list[Violation]:  # noqa: C901
    """V3: erased values never return to a node after it has answered the erasure.

    Before the first fault, erased values return to no node at all. A node that is not in view misses the
    erasure, and so does a node that ends before the erasure is on its disk.
    """
    known, found, asked = Known(), list[Violation](), defaultdict[tuple[str, Topic], list[int]](list)
    gone: dict[tuple[str, Topic], int] = {}  # (node, topic) -> last answered erasure
    on_disk = set[tuple[str, Topic]]()  # the last erasure of it
    has_failed = False
    for place, event in enumerate(history.of(*ERASING)):
        known.hear(place, event)
        has_failed = has_failed or event.kind in ("fault", "crash", "stop")
        if event.kind == "log" and "e" in event.flags:
            on_disk.add((event.who, topic_of(event)))
        elif event.kind == "accept" and "e" in event.flags:
            on_disk.discard((event.who, topic_of(event)))
        elif event.kind in ("crash", "stop"):
            answered = {end for end, at in gone.items() if at >= known.ended.get(end, 0)}
            known.forget_ends(event.who, on_disk | answered)
        if event.kind == "erase":
            asked[event.who, topic_of(event)].append(place)
        elif event.kind == "erased":
            since = asked[event.who, topic_of(event)].pop(0)
            for (who, topic), at in known.ended.items():
                if at > since and topic[0] == event.keys[0] and event.domain in ("", topic[1]):
                    gone[who, topic] = at
            if not has_failed:
                gone |= {
                    (who, topic_of(event)): max(since, gone.get((who, topic_of(event)), 0))
                    for who in facts.nodes
                    if event.domain or facts.rules == "plain"
                }
        elif event.kind in ("value", "read") and event.first:
            places = known.places(event)
            if event.kind == "value":
                places = {who: at for who, at in places.items() if who == event.who}
            back = [who for who, at in places.items() if at < gone.get((who, topic_of(event)), -1)]
            if back and len(back) == len(places):
                what = f"{event.who or event.to} has {event.keys[0]!r}, which {back[0]} had erased"
                found.append(Violation("V3", what, (known.taken[event.id][back[0]][1], event)))
    return found
