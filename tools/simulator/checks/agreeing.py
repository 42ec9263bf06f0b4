"""Checks conflicts: all sites agree on the value of a topic, and the value that lost is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from mesh.features.sites.model.conflicts import conflict_key
from mesh.reserved import CONFLICTS
from tools.simulator.checks.facts import Facts, Id, Violation, answers, final, is_excused, restarts
from tools.simulator.checks.relayed import Relayed, stamps_of
from tools.simulator.checks.values import LAST
from tools.simulator.history import Event, History

STOOD = 10.0  # s until a value is surely on disk
Place = tuple[str, int, tuple[str, str]]  # node, boot, and topic as (domain, key)


def one_value(history: History, facts: Facts) -> list[Violation]:
    """S-conflict: in the end a topic that sites exchange has one value at all of their nodes.

    Exceptions are runs with a changed clock, and transient messages, which a crash may lose at one site. A
    message may also have two timestamps at home, if it was resent to its masters after a crash. Lastly, only
    some of several masters may have accepted a message.
    """
    if any(e.text == "clock" for e in history.of("fault")):
        return []
    relayed = Relayed(history, facts)
    names = {pub.id: pub.id for pub in relayed.pubs}
    names |= {relayed.name(pub, site): pub.id for pub in relayed.pubs for site in relayed.goes_to(pub)}
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
        id = names.get(event.id) or _transferred(event, relayed)
        if event.sub == LAST and home and id and event.flags != "refused" and topic not in excused:
            said[topic][home].setdefault(id, event)
    partly = {id for id, each in answers(history).items() if final(each) == "PARTLY_REFUSED"}
    return [each for topic, values in said.items() for each in _unequal(topic, values, partly, relayed)]


def _transferred(read: Event, relayed: Relayed) -> Id | None:
    """Return the id of the message that another site sent as a retained value, or its own id.

    The result is None if that site had several messages with that timestamp.
    """
    known = ((site, read.domain, read.keys[0], read.stamp) for site in relayed.sites)
    ids = next((relayed.values[each] for each in known if each in relayed.values), {"": read.id})
    return next(iter(ids.values())) if len(ids) == 1 else None


def _unequal(
    topic: tuple[str, str], values: dict[str, dict[Id, Event]], partly: set[Id], relayed: Relayed
) -> Iterator[Violation]:
    """Yield the differences between sites that receive the topic from the same sites."""
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
    """S-kept: a value that is older than another site's standing value is kept as a conflict by its master.

    The values of one publisher are ordered by sequence number, so runs with a changed clock are not checked.
    """
    if any(e.text == "clock" for e in history.of("fault")):
        return []
    relayed, found = Relayed(history, facts), list[tuple[Place, str, Violation]]()
    accepts = list(history.of("accept"))
    kept = {(e.who, e.boot, e.keys[0]) for e in accepts if e.keys[0].startswith(CONFLICTS)}
    standing: dict[Place, _Standing] = defaultdict(_Standing)
    known: dict[tuple[str, tuple[str, str], str], int] = {}  # newest timestamp by node, topic and site
    for event in accepts:
        home = relayed.came_from(event)
        for key in event.keys if not event.to else ():
            place = event.who, event.boot, (event.domain, key)
            if "e" in event.flags or home is None:
                standing.pop(place, None)
                continue
            newest = event.who, place[2], home  # perhaps on disk since an earlier process
            before = known.get(newest, -1)
            known[newest] = max(before, event.stamp)
            is_lost = standing[place].lost(event, home) and event.stamp > before
            if is_lost and home != relayed.home[event.who]:
                is_kept = (event.who, event.boot, conflict_key(key, event.domain)) in kept
                what = f"{key!r} of {home} lost at {event.who}, and is not kept"
                found += [] if is_kept else [(place, home, Violation("S-kept", what, (event,)))]
            elif standing[place].value == (event.stamp, home):  # another value may have overtaken it
                found = [one for one in found if one[:2] != (place, home) or _is_before(one[2], event)]
    return [violation for _, _, violation in found]


def _is_before(lost: Violation, came: Event) -> bool:
    """Return whether the value was lost, for good, before `came`."""
    return came.at > lost.events[0].at + STOOD


@dataclass
class _Standing:
    """The value of one topic in one process.

    `value` is its timestamp and site. `taken` has the recent values of that site: timestamp, and time of
    acceptance.
    """

    value: tuple[int, str] = (-1, "")
    taken: list[tuple[int, float]] = field(default_factory=list)

    def lost(self, came: Event, home: str) -> bool:
        """Accept a value, and return whether a newer one, known for STOOD seconds, excludes it."""
        value, site = (came.stamp, home), self.value[1]
        if value >= self.value:
            self.taken = [*(self.taken if site == home else ()), (came.stamp, came.at)]
            self.value = value
            return False
        newer = (at for stamp, at in self.taken if (stamp, site) > value)
        return site != home and came.at > min(newer) + STOOD
