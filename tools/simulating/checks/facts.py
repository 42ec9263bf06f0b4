"""What must a checker know beside what happened?"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf

from mesh.patterns import matches
from tools.simulating.history import Event, History
from tools.simulating.places import Place

Id = tuple[str, str, int]
REFUSED = ("FORWARD_WARNING", "OK")  # every other answer is a refusal
# The publisher is told that it failed, and yet subscribers may have it: one of several masters took it, or
# its way back was lost, or nobody knows what the disk holds.
UNSURE = ("PARTLY_REFUSED", "EXPIRED", "REFUSED")
# The same of a letter whose node was lost sight of while it was on its way.
UNSURE_OF_LETTERS = ("UNKNOWN_NODE", "CIRCULAR_LOOP")
LOUD = ("FORWARD_WARNING", "STORE_FULL", "TAILBACK_FULL", "SITE_FULL", "NOT_CONNECTED", "UNKNOWN_NODE",
        "INBOX_FULL", "STALE_SEQUENCE", "MASTER_AWAY", "CIRCULAR_LOOP", *UNSURE)  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """The facts of a story. `masters`: of each domain, "*" for any other that has a name, and `keys` of
    single keys; without any it is the node where a message was published."""

    nodes: tuple[str, ...]
    masters: dict[str, tuple[str, ...]]
    rules: str = "plain"
    feed_cap: float = inf  # bytes
    tail_cap: float = inf  # messages
    letters_wait: bool = True  # for as long as a story lasts
    has_moved: bool = False  # did a publisher go to another node?
    void_after: float = inf  # s after which some hold void what others do not
    may_wait: bool = False  # may anything be left waiting: see resources.nothing_left
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    has_room: bool = False  # for all that may be under way to a reader at once
    liar: str = ""  # a node that says any number to the others,
    deceived: frozenset[str] = frozenset()  # and the clients that were ever at it, or behind it:
    apart: frozenset[str] = frozenset()  # at these nodes, for which it is the way
    twisted: frozenset[str] = frozenset()  # domains of which it is master
    in_memory: frozenset[tuple[str, str]] = frozenset()  # (node, domain) of queues that are on no disk
    staying: frozenset[str] = frozenset()  # domains of queues in which what waits never moves
    before: int = 0  # nodes that were made before these
    outdated: bool = False  # may a node that stood still bring what went by rules that nobody remembers?
    sites: tuple[SiteFacts, ...] = ()  # of which each is a mesh of its own

    def masters_of(self, domain: str, key: str) -> tuple[str, ...]:
        other = self.masters.get("*", ()) if domain else ()
        return self.keys.get(key) or self.masters.get(domain) or other

    def line_of(self, key: str) -> str:
        """Messages of one publisher in one domain go one way, but for those with keys that have their own."""
        return key if key in self.keys else ""

    @cached_property
    def uuids(self) -> dict[str, str]:
        """Of the nodes, in the order in which they were made."""
        return {name: (i.to_bytes(2) * 8).hex() for i, name in enumerate(self.nodes, self.before + 1)}


@dataclass(frozen=True)
class SiteFacts:
    """The facts of one site. `members`: its nodes and the clients that are at them."""

    place: Place
    facts: Facts
    members: frozenset[str]

    @property
    def name(self) -> str:
        return self.place.name


@dataclass(frozen=True)
class Violation:
    """A violation of an invariant. `events` are those that show it."""

    invariant: str
    what: str
    events: tuple[Event, ...] = ()

    def __str__(self) -> str:
        return "\n      ".join([f"{self.invariant}: {self.what}", *map(str, self.events)])


def published(history: History) -> dict[Id, Event]:
    return {event.id: event for event in history.of("pub")}


def answers(history: History) -> dict[Id, list[Event]]:
    """Every answer of each message, in order."""
    found: dict[Id, list[Event]] = defaultdict(list)
    for event in history.of("answer"):
        for number in event.numbers:
            found[event.stream, event.domain, number].append(event)
    return found


def final(given: list[Event] | None) -> str:
    """The last word; "" without one."""
    last = given[-1].text if given else ""
    return "" if last == "FORWARD_WARNING" else last


def wants(sub: Event, key: str, domain: str) -> bool:
    """Does a subscription ask for it?"""
    return sub.domain in ("", domain) and bool(sub.keys) and matches(sub.keys[0], key)


def by_subscription(history: History, *also: str) -> dict[tuple[str, int], tuple[Event, list[Event]]]:
    """(client, number) -> (its `sub`, all it was given, but for what was retracted); `also`: events of these
    kinds beside `deliver`."""
    retracted = {(event.who, event.sub, event.id) for event in history.of("retracted")}
    found: dict[tuple[str, int], tuple[Event, list[Event]]] = {}
    for event in history.of("sub", "deliver", *also):
        if event.kind == "sub":
            found[event.who, event.sub] = (event, [])
        elif (event.who, event.sub) in found and (event.who, event.sub, event.id) not in retracted:
            found[event.who, event.sub][1].append(event)
    return found


def restarts(history: History) -> list[Event]:
    """Whenever a process ended."""
    return list(history.of("crash", "stop"))


def is_excused(pub: Event, until: float, ends: list[float]) -> bool:
    """A transient message, and a process ended before that: it may be lost, or sent again behind later ones
    that were stored while it waited in memory."""
    return "p" not in pub.flags and was_between(ends, pub.at, until)


def was_between(times: list[float], begin: float, end: float) -> bool:
    place = bisect_left(times, begin)
    return place < len(times) and times[place] <= end


Span = tuple[float, float, Event]


@lru_cache(maxsize=1)
def spans(history: History) -> tuple[Span, ...]:
    """When which fault began and ended, in a story that is over: several judges ask for it."""
    return tuple(_spans(history))


def _spans(history: History) -> Iterator[Span]:
    healed = next((event.at for event in history.of("healed")), inf)
    ends: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for over in history.of("over"):
        ends[over.text, over.who, over.to].append(over.at)
    for fault in history.of("fault"):
        kind = "cut" if fault.text == "one way" else fault.text
        later = (at for at in ends[kind, fault.who, fault.to] if at >= fault.at)
        end = min(later, default=healed)
        if fault.text == "pause":  # is not healed: it passes
            yield fault.at, end, fault
        elif fault.text in ("cut", "one way", "wire", "slow disk", "full", "sites parted"):
            yield fault.at, min(end, healed), fault
        else:
            yield fault.at, fault.at, fault


def shortly(events: Iterable[Event], most: int = 3) -> tuple[Event, ...]:
    """The first few."""
    return tuple(events)[:most]
