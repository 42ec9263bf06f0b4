"""Checks order: subscribers receive messages in order, and are notified of gaps."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from math import inf

from tools.simulator.checks.facts import (
    Facts,
    Id,
    Violation,
    answers,
    by_subscription,
    final,
    is_excused,
    published,
    restarts,
    shortly,
    spans,
    wants,
    was_between,
)
from tools.simulator.checks.late import BACK, LateByWay, Missed, backs_of, ways_of
from tools.simulator.history import Event, History


def in_order(history: History, facts: Facts) -> list[Violation]:
    """C1.2: the messages of a stream arrive in order, those of a key with its own rules in order of that key.

    So do direct messages to one name, and retained values of one topic. Excused are expired messages,
    transient ones after the end of a process, and messages in progress on a failing disk. Messages whose next
    hop was unreachable, and after the first end of a process messages with several masters, may be late.
    """
    found: list[Violation] = []
    pubs, ends = published(history), [event.at for event in restarts(history)]
    failed = [event.at for event in history.of("stop") if event.text == "disk"]
    backs = backs_of(history)
    first_end = min((event.at for event in restarts(history)), default=inf)
    for _, given in by_subscription(history).values():
        last: dict[tuple[str, str, str, str], Event] = {}
        for event in given:
            masters, line = facts.masters_of(event.domain, event.keys[0]), facts.line_of(event.keys[0])
            several = len(masters) > 1 and (event.at > first_end or "i" in event.flags)
            if "e" in event.flags or several:
                continue
            to = pubs[event.id].to if event.id in pubs else ""
            lane, topic = (
                (event.stream, event.domain, to, line),
                (event.stream, event.domain, f"{to} {event.keys[0]}", line),
            )
            before = [last.get(topic)] + ([] if "i" in event.flags else [last.get(lane)])
            for other in before:
                is_late = other is not None and other.first >= event.first and other.id != event.id
                pub = pubs.get(event.id, event)
                excused = is_excused(pub, event.at, ends) or was_between(failed, pub.at, event.at)
                excused = excused or event.at - pub.at > facts.void_after
                excused = excused or (is_late and _was_away(event, other, pub.at, backs))
                if is_late and not excused:
                    found.append(
                        Violation("C1.2", "the later one came first", (*filter(None, (other,)), event))
                    )
                    break
            last[topic] = event
            if "i" not in event.flags:
                last[lane] = event
    return found


def _was_away(late: Event, other: Event | None, since: float, backs: dict[str, list[float]]) -> bool:
    """Return whether a node that only `late` passed has become reachable again since about `since`.

    Persistent messages for an unreachable node follow when it returns.
    """
    ways = set(ways_of(late)) - set(ways_of(other) if other is not None else ())
    return "p" in late.flags and any(was_between(backs.get(way, []), since - BACK, late.at) for way in ways)


class Owed:
    """The messages that a subscription must receive or be notified of.

    The messages were published after the subscription was confirmed, and answered OK. A subscription from
    before the first fault is known to all nodes that its own node had met by then. Later ones may be unknown
    to a master; in a mesh without rules its `accept` event names the subscribers.
    """

    def __init__(self, history: History, facts: Facts) -> None:
        said = answers(history)
        self._pubs = [
            pub for known, pub in published(history).items() if not pub.to and final(said.get(known)) == "OK"
        ]
        self._times = [pub.at for pub in self._pubs]
        self._first_fault = min((event.at for event in history.of("fault", "crash", "stop")), default=inf)
        self._facts = facts
        full = [(begin, end, fault.who) for begin, end, fault in spans(history) if fault.text == "full"]
        asked = {(e.who, e.sub): e.at for e in history.of("sub")}
        # A full disk stores no new subscription, so the subscription may be gone after a crash.
        self._confirmed = {
            (e.who, e.sub): e
            for e in history.of("confirmed")
            if e.sub
            and not any(
                begin <= e.at and asked.get((e.who, e.sub), e.at) <= end and who == e.to.split("/")[2]
                for begin, end, who in full
            )
        }
        self._ended: dict[tuple[str, int], float] = {}
        for event in history.of("unsub", "down"):
            subs = (
                [event.sub]
                if event.kind == "unsub"
                else [n for who, n in self._confirmed if who == event.who]
            )
            for number in subs:
                self._ended.setdefault((event.who, number), event.at)
        self._taken: dict[Id, Event] = {}
        for event in history.of("accept"):
            for number in event.numbers if facts.rules == "plain" else ():
                self._taken[event.stream, event.domain, number] = event
        self._met: dict[tuple[str, str], float] = {}
        for event in history.of("view"):
            self._met.setdefault((event.who, event.to), event.at)

    def subscriptions(self) -> Iterator[tuple[str, int]]:
        yield from self._confirmed

    def to(self, client: str, number: int, sub: Event) -> Iterator[Event]:
        confirmed = self._confirmed[client, number]
        is_early = confirmed.at < self._first_fault
        home = confirmed.to.split("/")[2]  # /node/NAME/client/…
        for pub in self._pubs[bisect_left(self._times, confirmed.at) :]:
            if pub.at > self._ended.get((client, number), inf):
                break
            is_known = is_early and self._had_met(home, pub, sub.at)
            if wants(sub, pub.keys[0], pub.domain) and (is_known or self._was_for(pub, home)):
                yield pub

    def _had_met(self, home: str, pub: Event, at: float) -> bool:
        """Return whether `home` had met the master of `pub` by the time `at`.

        A node that has just started may be alone, because adverts are lost.
        """
        taken = self._taken.get(pub.id)
        return taken is None or self._met.get((home, taken.who), 0.0) <= at

    def _was_for(self, pub: Event, home: str) -> bool:
        taken = self._taken.get(pub.id)
        if taken is None or taken.who == home:
            return taken is not None
        place = str(pub.first - taken.first)
        peers = (taker.partition(":")[::2] for taker in taken.route)
        return any(name == home and (not some or place in some.split(",")) for name, some in peers)

    def home(self, client: str, number: int) -> str:
        return self._confirmed[client, number].to

    def is_over(self, client: str, number: int) -> bool:
        return (client, number) in self._ended


def gaps_are_told(history: History, facts: Facts) -> list[Violation]:
    """C1.3: a subscriber that receives a message has received all earlier ones, or was notified of the gap.

    Transient messages may be lost with a process, and so may a gap that it had not yet reported. Late
    messages (see in_order) are reported when they arrive, which C1.4 checks; so are those of a node that has
    just returned.
    """
    late = LateByWay(history if facts.rules == "drawn" else History())  # other rules have a single route
    found, owed, ends = [], Owed(history, facts), [event.at for event in restarts(history)]
    silenced = list(history.of("untold"))
    given_to = by_subscription(history, "gap")
    for client, number in owed.subscriptions():
        sub, given = given_to[client, number]
        lanes, home = _lanes(owed.to(client, number, sub), facts), owed.home(client, number)

        def silent(at: float, home: str = home, number: int = number) -> int:
            return lost_gaps(silenced, home, number, at)

        missed = Missed(late, silent)
        if _is_silent(missed, given, lanes, facts, ends):
            what = f"{client} misses {len(missed.due)} in silence, and was told of {missed.told}"
            found.append(Violation("C1.3", what, (*shortly(reversed(missed.due)), *missed.later[-1:])))
    return found


def _is_silent(
    missed: Missed, given: list[Event], lanes: dict[Lane, list[Event]], facts: Facts, ends: list[float]
) -> bool:
    """Return whether a subscription misses more than was reported when it had to know.

    Side effect: `missed` is filled.
    """
    got = {event.id for event in given if event.kind == "deliver"}
    for event in given:
        if missed.has_due(event.at) and missed.are_untold(event.at):
            return True
        missed.told += event.gap
        lane = lanes.get((event.stream, event.domain, facts.line_of(event.keys[0]) if event.keys else ""))
        if event.kind == "gap" or "i" in event.flags or "e" in event.flags or lane is None:
            continue
        news = list[Event]()
        while lane and lane[-1].first < event.first:
            pub = lane.pop()
            is_void = event.at - pub.at > facts.void_after
            if pub.id not in got and not is_void and not is_excused(pub, event.at, ends):
                news.append(pub)
        missed.skip(event, news)
        if news and missed.are_untold(event.at):
            return True
    return missed.are_untold(inf)


def lost_gaps(silenced: list[Event], session: str, number: int, until: float) -> int:
    """Return the number of messages in gaps that were never reported because their process ended."""
    home = session.split("/")[2]  # /node/NAME/client/…
    return sum(
        event.gap
        for event in silenced
        if event.at <= until
        and ((event.to, event.sub) == (session, number) if event.sub else event.who != home)
    )


Lane = tuple[str, str, str]  # stream, domain, and key with its own rule


def _lanes(pubs: Iterator[Event], facts: Facts) -> dict[Lane, list[Event]]:
    """Return the messages by stream, domain and key, the first one at the end of its list."""
    lanes: dict[Lane, list[Event]] = defaultdict(list)
    for pub in pubs:
        lanes[pub.stream, pub.domain, facts.line_of(pub.keys[0])].append(pub)
    return {lane: sorted(events, key=lambda e: -e.first) for lane, events in lanes.items()}


def owed_arrives(history: History, facts: Facts) -> list[Violation]:
    """C1.4: when all is healed and nothing is in transit, each subscription has its messages or a gap."""
    found, owed, ends = [], Owed(history, facts), [event.at for event in restarts(history)]
    silenced = list(history.of("untold"))
    given_to = by_subscription(history, "gap")
    for client, number in owed.subscriptions():
        if owed.is_over(client, number):
            continue
        sub, given = given_to[client, number]
        got, told = (
            {event.id for event in given if event.kind == "deliver"},
            sum(event.gap for event in given),
        )
        lacks = [p for p in owed.to(client, number, sub) if p.id not in got and not is_excused(p, inf, ends)]
        if len(lacks) > told + lost_gaps(silenced, owed.home(client, number), number, inf):
            what = f"{client} lacks {len(lacks)} at the end, and was told of {told}"
            found.append(Violation("C1.4", what, shortly(lacks)))
    return found
