"""Checks each site as a mesh of its own, and its view of the other sites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from mesh.names import OTHERS
from tools.simulator.checks.facts import Facts, SiteFacts, Violation, spans
from tools.simulator.checks.members import Lives
from tools.simulator.history import Event, History
from tools.simulator.places import path

# Other sites may have the same message; their events are checked with all sites together.
OF_A_MESSAGE = ("pub", "answer", "accept", "log", "known", "tail", "deliver", "got", "buried")
OF_A_HANDLER = ("came", "arrived")  # requests, of this site or another one
OF_AN_ASK = ("asked", "ended", "gathered")
OF_BOTH_ENDS = ("fault", "over")
UP, UNREACHABLE = "up", "unreachable"  # states of a visible site
GONE = 30.0  # s until an unreachable site is lost
QUIET = 25.0  # s without faults before a loss is wrong


def within(history: History, site: SiteFacts) -> History:
    """Return the events of one site and of its own messages.

    Faults of wires to other sites are left out, because they excuse nothing within the site.
    """
    streams = {e.stream for e in history.of("pub") if e.who in site.members}
    away = {e.id for e in history.of("pub", "asked") if e.to.startswith(OTHERS)}
    asking = {e.stream for e in history.of("asked") if e.who in site.members}
    kept = History()
    for e in history.events:
        if e.kind in OF_A_MESSAGE:
            is_own = e.who in site.members and (e.stream in streams or "e" in e.flags) and e.id not in away
        elif e.kind in OF_A_HANDLER:
            is_own = e.who in site.members and e.stream in asking and e.id not in away
        elif e.kind in OF_AN_ASK:
            is_own = e.who in site.members and e.id not in away
        elif e.kind in OF_BOTH_ENDS:
            is_own = {e.who, e.to} <= {*site.members, ""}
        else:
            is_own = e.who in site.members or not e.who
        if is_own:
            kept.add(e)
    return kept


def is_anothers(violation: Violation, site: SiteFacts, history: History) -> bool:
    """Return whether the violation is an effect of another site, which checks of all sites together cover.

    Examples are a retained value of the other site, gaps after a fault anywhere, and gaps after one site had
    no space for messages. Transient messages of the other site may be late or lost.
    """
    is_wrong = any(e.text == "clock" and e.who not in site.members for e in history.of("fault"))
    if is_wrong and violation.invariant[0] == "V":  # older values have later numbers there
        return True
    if violation.invariant == "C1.5":
        begin = min((e.at for e in history.of("fault", "crash", "stop", "unrelayed")), default=inf)
        return all(e.at > begin for e in violation.events)
    streams = {e.stream for e in history.of("pub") if e.who in site.members}
    return any(e.kind in ("value", "read") and e.first and e.stream not in streams for e in violation.events)


def views(history: History, facts: Facts) -> list[Violation]:
    """S-views: after all is healed some gateway of each site sees each known site, with all of its nodes.

    One of two gateways may have no link of its own.
    """
    nodes = {site.name: set(site.facts.nodes) for site in facts.sites}
    last = {(e.who, e.to): e for e in history.of("saw")}
    found = [
        Violation("S-views", f"{e.who} sees the site {e.to} {e.text}, with {sorted(e.keys)}", (e,))
        for e in last.values()
        if (e.text != UNREACHABLE or e.keys) and (e.text, set(e.keys)) != (UP, nodes.get(e.to))
    ]
    for site in facts.sites if any(history.of("end")) else ():
        for to in site.place.knows:
            seen = {last[who, to].text for who in site.place.gateways if (who, to) in last}
            if not seen - {UNREACHABLE}:
                found.append(Violation("S-views", f"no gateway of the site {site.name} sees the site {to}"))
    return found


def seen(history: History, facts: Facts) -> list[Violation]:
    """S-seen: a site is lost 30 s after its wires or gateways fail, and stays visible without faults."""
    lives, ways = Lives(history, facts), _Ways(history, facts)
    return [*_seen_for_ever(lives, ways), *_lost_for_nothing(history, lives, ways)]


class _Ways:
    """The views that gateways have of other sites, and the times at which no view is possible."""

    def __init__(self, history: History, facts: Facts) -> None:
        self.gateways = {site.name: site.place.gateways for site in facts.sites}
        self.site_of = {node: site.name for site in facts.sites for node in site.facts.nodes}
        self.said: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in history.of("sees"):
            self.said[event.who, event.to].append(event)
        self._paths = {
            (site.name, to): [site.name, *path([each.place for each in facts.sites], site.name, to)]
            for site in facts.sites
            for to in site.place.knows
        }
        self._parted = [span for span in spans(history) if span[2].text == "sites parted"]
        self._ends = list(history.of("crash", "stop"))

    def watchers(self, site: str) -> Iterator[str]:
        return (who for who, to in self.said if to == site)

    def last(self, who: str, site: str, at: float) -> Event | None:
        return next((e for e in reversed(self.said[who, site]) if e.at <= at), None)

    def between(self, one: str, other: str) -> list[str]:
        """Return the gateways of all sites on the route except the first site."""
        return [
            each
            for site in self._paths.get((one, other), [one, other])[1:]
            for each in self.gateways.get(site, ())
        ]

    def are_parted(self, one: str, other: str, begin: float, end: float) -> bool:
        """Return whether the route between two sites was cut anywhere, at any time from `begin` to `end`."""
        steps = self._steps(one, other)
        return any(a <= end and b >= begin and {e.who, e.to} in steps for a, b, e in self._parted)

    def _steps(self, one: str, other: str) -> list[set[str]]:
        way = self._paths.get((one, other), [one, other])
        return [{a, b} for a, b in pairwise(way)]

    def broken(self, lives: Lives) -> Iterator[tuple[Event, str, tuple[str, ...]]]:
        """Yield (event, site, gateways): for GONE seconds from the event on, no gateway can see the site."""
        for begin, end, fault in self._parted:
            for home, to in self._paths if end >= begin + GONE else ():
                if {fault.who, fault.to} in self._steps(home, to):
                    yield fault, to, self.gateways[home]
        for gone in self._ends:
            site = self.site_of.get(gone.who, "")
            if all(_is_down(lives, each, gone.at) for each in self.gateways.get(site, ("",))):
                yield gone, site, tuple(self.watchers(site))
                for home, to in self._paths:
                    if site in self._paths[home, to][1:-1]:
                        yield gone, to, self.gateways[home]


def _is_down(lives: Lives, who: str, at: float) -> bool:
    """Return whether the node is down from `at` on for at least GONE seconds."""
    ends = [end.at for end in lives.ends[who] if end.at <= at]
    starts = [start.at for start in lives.starts[who] if start.at < at + GONE]
    return bool(ends) and max(ends) > max(starts, default=0.0)


def _seen_for_ever(lives: Lives, ways: _Ways) -> Iterator[Violation]:
    for since, site, watchers in ways.broken(lives):
        limit = since.at + GONE
        for who in watchers if limit <= lives.last else ():
            said = ways.last(who, site, limit)
            well = lives.was_up(who, since.at, limit) and not lives.is_ill(who, since.at, limit)
            if well and said is not None and said.text == UP:
                yield Violation("S-seen", f"{who} sees the site {site} {GONE:g} s later", (since, said))


def _lost_for_nothing(history: History, lives: Lives, ways: _Ways) -> Iterator[Violation]:
    before = dict[tuple[str, str], Event]()
    for event in history.of("sees"):
        was, before[event.who, event.to] = before.get((event.who, event.to)), event
        begin, home = event.at - QUIET, ways.site_of[event.who]
        ends = (event.who, *ways.between(home, event.to))
        if was is None or was.text != UP or event.text == UP or was.boot != event.boot:
            continue
        ails = ways.are_parted(home, event.to, begin, event.at)
        ails = ails or any(lives.is_ill(each, begin, event.at) for each in ends)
        if not ails and all(lives.was_up(each, begin, event.at) for each in ends):
            yield Violation("S-seen", f"{event.who} lost the site {event.to}, and nothing ailed it", (event,))
