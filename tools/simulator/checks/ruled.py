"""Checks shared rules: all nodes use the newest signed list, and no message is lost or doubled meanwhile."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import inf

from tools.simulator.checks.facts import (
    Facts,
    Violation,
    answers,
    by_subscription,
    final,
    published,
    restarts,
    shortly,
    spans,
)
from tools.simulator.checks.order import Owed, lost_gaps
from tools.simulator.history import Event, History
from tools.simulator.wording import master_of

# Time after a change of rules, or after a cut during one, until new nodes have been queried.
AFTER = 20.0  # s
WRITTEN = 1.0  # s until received rules are on disk,
PAUSED = 60.0  # and s of a pause meanwhile
BOTH_WAYS = ("cut", "one way", "wire")


def signed(history: History, facts: Facts) -> list[Violation]:
    """R-signed: a node has only rules that the administrator has signed, from any source."""
    put = {(e.stamp, e.text) for e in history.of("rules put")}
    return [
        Violation("R-signed", f"{e.who} has rules that nobody has signed", (e,))
        for e in history.of("has rules")
        if (e.stamp, e.text) not in put
    ]


def newest(history: History, facts: Facts) -> list[Violation]:
    """R-newest: after all is healed all nodes use the list with the highest timestamp.

    A list that was never answered may be gone if its node ended.
    """
    put = max(_kept(history), key=lambda e: e.stamp, default=None)
    if put is None or not any(history.of("end")):
        return []
    found = []
    for kind in ("has rules", "goes by"):
        last = {e.who: e for e in history.of(kind)}
        wrong = [last.get(node) for node in facts.nodes if node not in last or last[node].text != put.text]
        found += [
            Violation("R-newest", f"not what it {kind} is the last", (put, *filter(None, (e,))))
            for e in wrong
        ]
    return found


def _kept(history: History) -> list[Event]:
    """Return the lists that were put, without unanswered ones that no node has in the end."""
    heard = {e.stamp for e in history.of("rules said") if e.text != "nothing"}
    heard |= {e.stamp for e in {e.who: e for e in history.of("has rules")}.values()}
    silent = {e.stamp for e in history.of("rules said")} - heard
    return [e for e in history.of("rules put") if e.stamp not in silent]


def never_back(history: History, facts: Facts) -> list[Violation]:
    """R-back: no node returns to older rules, even after a restart.

    Rules that arrived just before a crash were perhaps not on disk.
    """
    found, last, ends = [], dict[str, Event](), restarts(history)
    for event in history.of("has rules"):
        before = last.get(event.who)
        last[event.who] = event
        if before is None or before.stamp <= event.stamp:
            continue
        until = min(event.at, before.at + WRITTEN + _stood(history, event.who, before.at))
        if not any(e.who == event.who and before.at <= e.at <= until for e in ends):
            found.append(Violation("R-back", f"{event.who} goes back to older rules", (before, event)))
    return found


def _stood(history: History, node: str, since: float) -> float:
    """Return how many of the PAUSED seconds after `since` the node was paused."""
    spent = (min(end, since + PAUSED) - max(begin, since) for begin, end, fault in spans(history)
             if fault.text == "pause" and fault.who == node and end > since)  # fmt: skip
    return sum(max(0.0, each) for each in spent)


def admin_is_heard(history: History, facts: Facts) -> list[Violation]:
    """R-admin: a list that is signed on top of the current one is accepted.

    The node may end before it answers, and another list may be newer by then.
    """
    puts, ends = list(history.of("rules put")), [*history.of("crash", "stop")]
    stood = [(begin, end, fault.who) for begin, end, fault in spans(history) if fault.text == "pause"]
    found = []
    for said in history.of("rules said"):
        put = next(e for e in puts if e.stamp == said.stamp)
        others = any(e is not put and put.at - AFTER <= e.at <= said.at for e in puts)
        ended = any(e.who == put.who and put.at <= e.at <= said.at for e in ends)
        ended |= any(who == put.who and begin <= said.at and end >= put.at for begin, end, who in stood)
        if (
            said.text != "OK"
            and not (said.text == "STALE" and others)
            and not (said.text == "nothing" and ended)
        ):
            found.append(Violation("R-admin", f"the admin is answered {said.text}", (put, said)))
    return found


def once(history: History, facts: Facts) -> list[Violation]:
    """R-once: each subscriber receives a message once."""
    pubs, found = published(history), []
    for _, given in by_subscription(history).values():
        counted = Counter(e.id for e in given if "e" not in e.flags)
        for twice in [known for known, times in counted.items() if times > 1]:
            events = tuple(e for e in given if e.id == twice)
            found.append(Violation("R-once", f"given {len(events)} times", (pubs[twice], *events)))
    return found


def arrives(history: History, facts: Facts) -> list[Violation]:
    """R-arrives: a subscriber receives persistent messages that were answered OK.

    A subscriber whose node was cut off or down while rules changed may miss messages that were accepted then.
    """
    found, owed, away = [], Owed(history, facts), _Away(history, facts)
    silenced, given_to = list(history.of("untold")), by_subscription(history, "gap")
    for client, number in owed.subscriptions():
        if owed.is_over(client, number):
            continue
        sub, given = given_to[client, number]
        got, told = {e.id for e in given if e.kind == "deliver"}, sum(e.gap for e in given)
        home = owed.home(client, number)
        lacks = [
            pub
            for pub in owed.to(client, number, sub)
            if "p" in pub.flags and pub.id not in got and not away.may_miss(home.split("/")[2], pub.at)
        ]
        if len(lacks) > told + lost_gaps(silenced, home, number, inf):
            found.append(Violation("R-arrives", f"{client} lacks {len(lacks)}", shortly(lacks)))
    return found


class _Away:
    """The nodes that could not query others, or be queried, when rules changed."""

    def __init__(self, history: History, facts: Facts) -> None:
        self._masters = facts.nodes[:3]
        self._changes = [e.at for e in history.of("rules put", "rules read")]
        self._spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for begin, end, fault in spans(history):
            if fault.text in (*BOTH_WAYS, "pause"):
                for name in filter(None, (fault.who, fault.to)):
                    self._spans[name].append((begin, end))
        starts = list(history.of("start"))
        for event in restarts(history):
            back = (e.at for e in starts if e.who == event.who and e.at >= event.at)
            self._spans[event.who].append((event.at, min(back, default=inf)))

    def may_miss(self, home: str, at: float) -> bool:
        """Return whether `home` or a master was unreachable around a change of rules, about the time `at`."""
        return any(
            begin - AFTER <= change <= end + AFTER and begin - AFTER <= at <= end + 2 * AFTER
            for begin, end in (span for who in {home, *self._masters} for span in self._spans[who])
            for change in self._changes
        )


def by_its_master(history: History, facts: Facts) -> list[Violation]:
    """R-master: in the end only the master that the last rules name accepts a message."""
    last = next((e.at for e in history.of("last")), inf)
    puts, read = _kept(history), list(history.of("rules read"))
    shared = max(puts, key=lambda e: e.stamp).keys[0] if puts else ""
    own = read[-1].keys[0] if read else ""
    said, places = answers(history), _places(history)
    found = []
    for known, pub in published(history).items():
        if pub.at < last or pub.to or "p" not in pub.flags:
            continue
        master = master_of(own, shared, pub.domain, pub.keys[0]) or _home(pub)
        if final(said.get(known)) != "OK" or places[known] != {master}:
            who = sorted(places[known])
            found.append(Violation("R-master", f"{who} took what {master} should", (pub,)))
    return found


def _home(pub: Event) -> str:
    """Return the node of a publisher, which is named after it."""
    return pub.who.rpartition("pub-")[2]


def _places(history: History) -> dict[tuple[str, str, int], set[str]]:
    found: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    for event in history.of("known"):
        for number in event.numbers:
            found[event.stream, event.domain, number].add(event.who)
    return found


LAWS = {
    "R-signed": signed,
    "R-newest": newest,
    "R-back": never_back,
    "R-admin": admin_is_heard,
    "R-once": once,
    "R-arrives": arrives,
    "R-master": by_its_master,
}
