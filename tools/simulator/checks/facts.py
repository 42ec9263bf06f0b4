"""The facts that checks need in addition to the history, and functions that several checks share."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf

from mesh.patterns import matches
from tools.simulator.history import Event, History
from tools.simulator.places import Place

Id = tuple[str, str, int]
REFUSED = ("FORWARD_WARNING", "OK")  # every other answer is a refusal
# Subscribers may have received a message with one of these answers: one of several masters accepted it, its
# answer was lost, or the content of the disk is unknown.
UNSURE = ("PARTLY_REFUSED", "EXPIRED", "REFUSED", "IN_DOUBT")
# The same holds for a direct message whose node became unreachable while the message was in transit.
UNSURE_OF_LETTERS = ("UNKNOWN_NODE", "CIRCULAR_LOOP")
LOUD = ("FORWARD_WARNING", "STORE_FULL", "TAILBACK_FULL", "SITE_FULL", "NOT_CONNECTED", "UNKNOWN_NODE",
        "INBOX_FULL", "STALE_SEQUENCE", "MASTER_AWAY", "CIRCULAR_LOOP", *UNSURE)  # fmt: skip

LOUD_TOGETHER = ("LEASE_OVER", "QUEUE_FULL", "NO_QUEUE", "MASTER_ELSEWHERE")  # of a whole transaction


@dataclass(frozen=True)
class Facts:
    """The facts of a scenario.

    `masters` has the masters of each domain ("*": any other named one), `keys` those of single keys. Without
    an entry the master is the node where a message is published.
    """

    nodes: tuple[str, ...]
    masters: dict[str, tuple[str, ...]]
    rules: str = "plain"
    feed_cap: float = inf  # bytes
    tail_cap: float = inf  # messages
    letters_wait: bool = True  # for the whole run
    has_moved: bool = False  # whether a publisher moved to another node
    void_after: float = inf  # s after which nodes may disagree about expiry
    may_wait: bool = False  # whether messages may remain: resources.nothing_left
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    room: int = -1  # bytes that the windows of all sources leave of the backlog of a reader
    liar: str = ""  # node that sends arbitrary numbers
    deceived: frozenset[str] = frozenset()  # clients that were ever at or behind it
    apart: frozenset[str] = frozenset()  # nodes that are reached only through it
    twisted: frozenset[str] = frozenset()  # domains of which the liar is master
    in_memory: frozenset[tuple[str, str]] = frozenset()  # (node, domain) of memory-only queues
    staying: frozenset[str] = frozenset()  # queue domains whose waiting messages never move
    before: int = 0  # number of nodes created earlier
    outdated: bool = False  # whether a paused node may use forgotten rules
    sites: tuple[SiteFacts, ...] = ()  # each is a mesh of its own

    def masters_of(self, domain: str, key: str) -> tuple[str, ...]:
        other = self.masters.get("*", ()) if domain else ()
        return self.keys.get(key) or self.masters.get(domain) or other

    def line_of(self, key: str) -> str:
        """Return the key if it has a route of its own, else "".

        Other keys of a stream share one route.
        """
        return key if key in self.keys else ""

    @cached_property
    def uuids(self) -> dict[str, str]:
        """The uuids of the nodes, by name, in the order of their creation."""
        return {name: (i.to_bytes(2) * 8).hex() for i, name in enumerate(self.nodes, self.before + 1)}


@dataclass(frozen=True)
class SiteFacts:
    """The facts of one site, whose nodes and clients are its `members`."""

    place: Place
    facts: Facts
    members: frozenset[str]

    @property
    def name(self) -> str:
        return self.place.name


@dataclass(frozen=True)
class Violation:
    """A violation of an invariant, with the events that prove it."""

    invariant: str
    what: str
    events: tuple[Event, ...] = ()

    def __str__(self) -> str:
        return "\n      ".join([f"{self.invariant}: {self.what}", *map(str, self.events)])


def published(history: History) -> dict[Id, Event]:
    return {event.id: event for event in history.of("pub")}


def answers(history: History) -> dict[Id, list[Event]]:
    """Return the answers to each message, in order."""
    found: dict[Id, list[Event]] = defaultdict(list)
    for event in history.of("answer"):
        for number in event.numbers:
            found[event.stream, event.domain, number].append(event)
    return found


def final(given: list[Event] | None) -> str:
    """Return the final answer, or "" without one."""
    last = given[-1].text if given else ""
    return "" if last == "FORWARD_WARNING" else last


def wants(sub: Event, key: str, domain: str) -> bool:
    return sub.domain in ("", domain) and bool(sub.keys) and matches(sub.keys[0], key)


def by_subscription(history: History, *also: str) -> dict[tuple[str, int], tuple[Event, list[Event]]]:
    """Return (`sub` event, deliveries that were not retracted afterwards) by client and subscription number.

    `also` names further kinds of events to include.
    """
    found: dict[tuple[str, int], tuple[Event, list[Event]]] = {}
    for event in history.of("sub", "deliver", "retracted", *also):
        if event.kind == "sub":
            found[event.who, event.sub] = (event, [])
        elif (event.who, event.sub) in found:
            given = found[event.who, event.sub][1]
            if event.kind == "retracted":
                given[:] = [each for each in given if each.id != event.id]
            else:
                given.append(event)
    return found


def restarts(history: History) -> list[Event]:
    """Return the events that end a process."""
    return list(history.of("crash", "stop"))


Moves = Mapping[str, list[tuple[float, float]]]  # by client: begin and end of each move


def moves(history: History) -> Moves:
    """Return the times at which each client came to another node, and was released by its former ones.

    A client that comes again goes on with the move: the node sends the resumed log before transient messages.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    at: dict[str, str] = {}
    for event in history.of("came to", "released"):
        if event.kind == "released":
            found[event.who] = [(begin, min(end, event.at)) for begin, end in found.get(event.who, ())]
        elif at.setdefault(event.who, event.to) != event.to or event.who in found:
            at[event.who] = event.to
            found.setdefault(event.who, []).append((event.at, inf))
    return found


def was_moving(moved: Moves, pub: Event, until: float, *clients: str) -> bool:
    """Return whether `pub` is transient, and one of the clients moved between its publication and `until`.

    Former nodes may have dropped the message then.
    """
    spans = [span for client in clients for span in moved.get(client, ())]
    return "p" not in pub.flags and any(begin <= until and end >= pub.at for begin, end in spans)


def roaming_streams(history: History) -> frozenset[str]:
    """Return the streams of the clients that moved, which have several masters where no rule names one."""
    moved = moves(history)
    return frozenset(event.stream for event in history.of("came to") if event.who in moved)


def is_excused(pub: Event, until: float, ends: list[float]) -> bool:
    """Return whether `pub` is transient, and a process ended before `until`.

    It may then be lost, or resent behind later messages that were stored while it waited in memory.
    """
    return "p" not in pub.flags and was_between(ends, pub.at, until)


def was_between(times: list[float], begin: float, end: float) -> bool:
    place = bisect_left(times, begin)
    return place < len(times) and times[place] <= end


Span = tuple[float, float, Event]


@lru_cache(maxsize=1)
def spans(history: History) -> tuple[Span, ...]:
    """Return begin, end and event of each fault of a finished run.

    The result is cached, because several checks need it.
    """
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
        if fault.text == "pause":  # ends by itself, not by healing
            yield fault.at, end, fault
        elif fault.text in ("cut", "one way", "wire", "slow disk", "full", "sites parted"):
            yield fault.at, min(end, healed), fault
        else:
            yield fault.at, fault.at, fault


def shortly(events: Iterable[Event], most: int = 3) -> tuple[Event, ...]:
    return tuple(events)[:most]
