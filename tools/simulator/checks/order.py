"""Checks order: subscribers receive messages in order, and are notified of gaps."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from functools import partial
from math import inf

from tools.simulator.checks.facts import (
    Facts,
    Id,
    Violation,
    answers,
    by_subscription,
    final,
    is_excused,
    moves,
    published,
    restarts,
    roaming_streams,
    shortly,
    spans,
    wants,
    was_between,
    was_moving,
)
from tools.simulator.checks.late import BACK, LateByWay, Missed, backs_of, master_of, ways_of
from tools.simulator.history import Event, History


def in_order(history: History, facts: Facts) -> list[Violation]:
    """C1.2: the messages of a stream arrive in order, those of a key with its own rules in order of that key.

    So do direct messages to one name, and retained values of one topic. Excused are expired messages, those
    that were retracted once, transient ones after the end of a process or a move of a client, and messages
    in progress on a failing disk. Messages whose next hop was unreachable, and after the first end of a
    process messages with several masters, may be late. Without a rule, each node to which a publisher moves
    is another master.
    """
    found: list[Violation] = []
    pubs, ends = published(history), [event.at for event in restarts(history)]
    moved, roaming = moves(history), roaming_streams(history)
    failed = [event.at for event in history.of("stop") if event.text == "disk"]
    backs = backs_of(history)
    first_end = min((event.at for event in restarts(history)), default=inf)
    retracted = {(event.who, event.sub, event.id) for event in history.of("retracted")}
    for (client, number), (_, given) in by_subscription(history).items():
        last: dict[tuple[str, str, str, str], Event] = {}
        for event in given:
            if (client, number, event.id) in retracted:
                continue
            masters, line = facts.masters_of(event.domain, event.keys[0]), _line_of(event, facts, roaming)
            several = len(masters) > 1 and (event.at > first_end or "i" in event.flags)
            if "e" in event.flags or several:
                continue
            pub = pubs.get(event.id, event)
            to = pub.to if event.id in pubs else ""
            lane, topic = (
                (event.stream, event.domain, to, line),
                (event.stream, event.domain, f"{to} {event.keys[0]}", line),
            )
            before = [last.get(topic)] + ([] if "i" in event.flags else [last.get(lane)])
            for other in before:
                if other is None or other.first < event.first or other.id == event.id:
                    continue
                excused = is_excused(pub, event.at, ends) or was_between(failed, pub.at, event.at)
                excused = excused or was_moving(moved, pub, event.at, client, pub.who)
                excused = excused or event.at - pub.at > facts.void_after
                may_be_late = facts.rules != "tree" or "p" not in pub.flags  # a refill sends those in order
                if not (excused or (may_be_late and _was_away(event, other, pub.at, backs))):
                    found.append(Violation("C1.2", "the later one came first", (other, event)))
                    break
            last[topic] = event
            if "i" not in event.flags:
                last[lane] = event
    return found


def _line_of(given: Event, facts: Facts, roaming: Set[str]) -> str:
    """Return what distinguishes the orders of one stream: a key with its own rules, or the master."""
    if given.stream in roaming and not facts.masters_of(given.domain, given.keys[0]):
        return master_of(given)
    return facts.line_of(given.keys[0])


def _was_away(late: Event, other: Event, since: float, backs: dict[str, list[float]]) -> bool:
    """Return whether a node that only `late` passed has become reachable again since about `since`.

    Persistent messages for an unreachable node follow when it returns.
    """
    ways = set(ways_of(late)) - set(ways_of(other))
    return "p" in late.flags and any(was_between(backs.get(way, []), since - BACK, late.at) for way in ways)


class Owed:
    """The messages that a subscription must receive or be notified of.

    The messages were published after the subscription was confirmed, and answered OK. A subscription from
    before the first fault is known to all nodes that its own node had met by then. Later ones may be unknown
    to a master; in a mesh without rules its `accept` event names the nodes of subscribers that do not move.
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
        self.moved, self.roaming = moves(history), roaming_streams(history)
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
        self._masters: dict[Id, set[str]] = defaultdict(set)
        for event in history.of("accept"):
            for number in event.numbers if facts.rules == "plain" else ():
                self._taken[event.stream, event.domain, number] = event
                self._masters[event.stream, event.domain, number].add(event.who)
        self._met: dict[tuple[str, str], float] = {}
        for event in history.of("view"):
            self._met.setdefault((event.who, event.to), event.at)

    def subscriptions(self) -> Iterator[tuple[str, int]]:
        yield from self._confirmed

    def to(self, client: str, number: int, sub: Event) -> Iterator[Event]:
        confirmed = self._confirmed[client, number]
        is_early, roams = confirmed.at < self._first_fault, client in self.moved
        home = confirmed.to.split("/")[2]  # /node/NAME/client/…
        for pub in self._pubs[bisect_left(self._times, confirmed.at) :]:
            if pub.at > self._ended.get((client, number), inf):
                break
            is_known = is_early and self._had_met(home, pub, sub.at)
            was_for = not roams and self._was_for(pub, home)
            if wants(sub, pub.keys[0], pub.domain) and (is_known or was_for):
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

    def line_of(self, pub: Event) -> str:
        """Return the line of a message, as `_line_of` does for a delivery; "?" if two nodes accepted it."""
        masters = self._masters.get(pub.id, set()) if pub.stream in self.roaming else set()
        return (
            ("".join(masters) if len(masters) == 1 else "?") if masters else self._facts.line_of(pub.keys[0])
        )

    def home(self, client: str, number: int) -> str:
        return self._confirmed[client, number].to

    def end_of(self, client: str, number: int) -> float:
        """Return when the subscription ended; inf: it did not."""
        return self._ended.get((client, number), inf)

    def is_over(self, client: str, number: int) -> bool:
        return (client, number) in self._ended


def gaps_are_told(history: History, facts: Facts) -> list[Violation]:
    """C1.3: a subscriber that receives a message has received all earlier ones, or was notified of the gap.

    Transient messages may be lost with a process, and so may a gap that it had not yet reported. Late
    messages (see in_order) are reported when they arrive, which C1.4 checks; so are those of a node that has
    just returned.
    """
    late = LateByWay(history if facts.rules in ("drawn", "tree") else History(), facts.rules == "tree")
    found, owed, ends = [], Owed(history, facts), [event.at for event in restarts(history)]
    silenced = list(history.of("untold"))
    given_to = by_subscription(history, "gap")
    for client, number in owed.subscriptions():
        sub, given = given_to[client, number]
        lanes, home = _lanes(owed.to(client, number, sub), owed.line_of), owed.home(client, number)

        def silent(at: float, home: str = home, number: int = number) -> int:
            return lost_gaps(silenced, home, number, at)

        missed = Missed(late, silent)
        is_lost = partial(_is_lost, owed, client, ends)
        until = owed.end_of(client, number)
        if _is_silent(missed, given, lanes, facts, owed.roaming, is_lost, until):
            what = f"{client} misses {len(missed.due)} in silence, and was told of {missed.told}"
            found.append(Violation("C1.3", what, (*shortly(reversed(missed.due)), *missed.later[-1:])))
    return found


def _is_lost(owed: Owed, client: str, ends: list[float], pub: Event, until: float) -> bool:
    return is_excused(pub, until, ends) or was_moving(owed.moved, pub, until, client)


def _is_silent(
    missed: Missed,
    given: list[Event],
    lanes: dict[Lane, list[Event]],
    facts: Facts,
    roaming: Set[str],
    is_lost: Callable[[Event, float], bool],
    until: float,
) -> bool:
    """Return whether a subscription that ended at `until` misses more than was reported when it had to know.

    Side effect: `missed` is filled.
    """
    got = {event.id for event in given if event.kind == "deliver"}
    for event in given:
        missed.told += event.gap
        if event.kind != "gap" and missed.has_due(event.at) and missed.are_untold(event.at):
            return True
        line = _line_of(event, facts, roaming) if event.keys else ""
        lane = lanes.get((event.stream, event.domain, line))
        if event.kind == "gap" or "i" in event.flags or "e" in event.flags or lane is None:
            continue
        news = list[Event]()
        while lane and lane[-1].first < event.first:
            pub = lane.pop()
            is_void = event.at - pub.at > facts.void_after
            if pub.id not in got and not is_void and not is_lost(pub, event.at):
                news.append(pub)
        missed.skip(event, news)
        if news and missed.are_untold(event.at):
            return True
    return missed.are_untold(until)


def lost_gaps(silenced: list[Event], session: str, number: int, until: float) -> int:
    """Return the number of messages in gaps that were never reported because their process ended."""
    home = session.split("/")[2]  # /node/NAME/client/…
    return sum(
        event.gap
        for event in silenced
        if event.at <= until
        and ((event.to, event.sub) == (session, number) if event.sub else event.who != home)
    )


Lane = tuple[str, str, str]  # stream, domain, and line


def _lanes(pubs: Iterator[Event], line_of: Callable[[Event], str]) -> dict[Lane, list[Event]]:
    """Return the messages by stream, domain and line, the first one at the end of its list."""
    lanes: dict[Lane, list[Event]] = defaultdict(list)
    for pub in pubs:
        lanes[pub.stream, pub.domain, line_of(pub)].append(pub)
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
        lacks = [
            pub
            for pub in owed.to(client, number, sub)
            if not (pub.id in got or _is_lost(owed, client, ends, pub, inf))
        ]
        if len(lacks) > told + lost_gaps(silenced, owed.home(client, number), number, inf):
            what = f"{client} lacks {len(lacks)} at the end, and was told of {told}"
            found.append(Violation("C1.4", what, shortly(lacks)))
    return found
