"""Do all sites keep one value of a topic that several have set, and is the one that lost kept?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from mesh.reserved import CONFLICTS
from mesh.sites.conflicts import conflict_key
from tools.simulating.checks.facts import Facts, Id, Violation, answers, final, is_excused, restarts
from tools.simulating.checks.relayed import Relayed, stamps_of
from tools.simulating.checks.values import LAST
from tools.simulating.history import Event, History

STOOD = 10.0  # s for which a value stood that another site's is in conflict with: it is on the disk by then
Place = tuple[str, int, tuple[str, str]]  # a process, and a topic: domain and key


def one_value(history: History, facts: Facts) -> list[Violation]:
    """S-conflict: at the end a topic that sites send to each other has one value at all their nodes.

    But what was transient may have been lost with a process at one of them; and with a clock that was set
    back a publisher may say later what is older than what others have said meanwhile. Nor may a message have
    two times at home: it has, where it was divided between masters once more after a crash. And what is
    refused by one of several masters, and taken by another one, is the value of some of them, as was said.
    """
    if any(e.text == "clock" for e in history.of("fault")):
        return []
    relayed = Relayed(history, facts)
    names = {relayed.name(pub, site): pub.id for pub in relayed.pubs for site in relayed.goes_to(pub)}
    ends, last = [end.at for end in restarts(history)], history.events[-1].at
    stamps = stamps_of(history)
    excused = {
        (pub.domain, pub.keys[0])
        for pub in relayed.pubs
        if is_excused(pub, last, ends) or len(stamps[pub.id]) > 1
    }
    said: dict[tuple[str, str], dict[str, dict[Id, Event]]] = defaultdict(lambda: defaultdict(dict))
    for event in history.of("read"):
        topic, home = (event.domain, event.keys[0]), relayed.home.get(event.who)
        if event.sub == LAST and home and event.flags != "refused" and topic not in excused:
            said[topic][home].setdefault(names.get(event.id) or _transferred(event, relayed), event)
    partly = {id for id, each in answers(history).items() if final(each) == "PARTLY_REFUSED"}
    return [each for topic, values in said.items() for each in _unequal(topic, values, partly, relayed)]


def _transferred(read: Event, relayed: Relayed) -> Id:
    """Which message it was that another site sent as a last value, by its time; else its own name."""
    known = ((site, read.domain, read.keys[0], read.stamp) for site in relayed.sites)
    return next((relayed.values[each] for each in known if each in relayed.values), read.id)


def _unequal(
    topic: tuple[str, str], values: dict[str, dict[Id, Event]], partly: set[Id], relayed: Relayed
) -> Iterator[Violation]:
    """Of two sites that have the same from everybody."""
    domain, key = topic
    sources = {
        name: {name, *(other for other in relayed.sites if name in relayed.sent_from(other, domain, key))}
        for name in values
    }
    for one, other in combinations(sorted(values), 2):
        found = values[one] | values[other]
        if sources[one] == sources[other] and len(found) > 1 and partly.isdisjoint(found):
            what = f"{key!r} of {domain} is not the same everywhere at {one} and at {other}"
            yield Violation("S-conflict", what, tuple(found.values()))


def lost_are_kept(history: History, facts: Facts) -> list[Violation]:
    """S-kept: what comes from another site, and is older than what a third one or ours had set there a while
    ago, is kept as what lost by the node that took it.

    What one publisher says counts by its numbers: of one whose clock was set back nobody says which is older.
    """
    if any(e.text == "clock" for e in history.of("fault")):
        return []
    relayed, found = Relayed(history, facts), list[tuple[Place, str, Violation]]()
    accepts = list(history.of("accept"))
    kept = {(e.who, e.boot, e.keys[0]) for e in accepts if e.keys[0].startswith(CONFLICTS)}
    standing: dict[Place, _Standing] = defaultdict(_Standing)
    known: dict[tuple[str, tuple[str, str], str], int] = {}  # the newest of each site, at each node
    for event in accepts:
        home = relayed.came_from(event)
        for key in event.keys if not event.to else ():
            place = event.who, event.boot, (event.domain, key)
            if "e" in event.flags or home is None:
                standing.pop(place, None)
                continue
            newest = event.who, place[2], home  # that may be on its disk since an earlier process
            before = known.get(newest, -1)
            known[newest] = max(before, event.stamp)
            is_lost = standing[place].lost(event, home) and event.stamp > before
            if is_lost and home != relayed.home[event.who]:
                is_kept = (event.who, event.boot, conflict_key(key, event.domain)) in kept
                what = f"{key!r} of {home} lost at {event.who}, and is not kept"
                found += [] if is_kept else [(place, home, Violation("S-kept", what, (event,)))]
            elif standing[place].value == (event.stamp, home):  # perhaps it came past one on its way to disk
                found = [one for one in found if one[:2] != (place, home) or _is_before(one[2], event)]
    return [violation for _, _, violation in found]


def _is_before(lost: Violation, came: Event) -> bool:
    """Was it lost, for good, before that came?"""
    return came.at > lost.events[0].at + STOOD


@dataclass
class _Standing:
    """What one process has of one topic: the value that stands, by its stamp and site, and that site's of
    late: stamps, and when each was taken."""

    value: tuple[int, str] = (-1, "")
    taken: list[tuple[int, float]] = field(default_factory=list)

    def lost(self, came: Event, home: str) -> bool:
        """Another site's that is newer stands in its way, for a while."""
        value, site = (came.stamp, home), self.value[1]
        if value >= self.value:
            self.taken = [*(self.taken if site == home else ()), (came.stamp, came.at)]
            self.value = value
            return False
        newer = (at for stamp, at in self.taken if (stamp, site) > value)
        return site != home and came.at > min(newer) + STOOD
