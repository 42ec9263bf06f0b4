"""Checks site relay: another site accepts a message once, in order, as it was published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf

from mesh.features.sites.node.aliases import Aliases
from tools.simulator.checks import order
from tools.simulator.checks.facts import Facts, Id, SiteFacts, Violation, answers, final
from tools.simulator.checks.members import Lives
from tools.simulator.checks.sites import within
from tools.simulator.history import Event, History
from tools.simulator.places import destinations, path, secret_of

PROMPT = 5.0  # s until the answer without faults at home
CALM = 30.0  # s without faults before
OF_CLIENTS = ("sub", "confirmed", "unsub", "down", "gap", "untold")
OF_THE_WORLD = ("fault", "over", "start", "crash", "stop", "healed")


class Relayed:
    """The messages that sites published for others, by their ids at each site."""

    def __init__(self, history: History, facts: Facts) -> None:
        self.sites = {site.name: site for site in facts.sites}
        self.home = {who: site.name for site in facts.sites for who in site.members}
        self._places = [site.place for site in facts.sites]
        self._aliases = {name: Aliases(secret_of(name, "node")) for name in self.sites}
        self.pubs = [e for e in history.of("pub") if e.who in self.home and not e.to]
        self._said = answers(history)
        self.dropped = {(e.to, e.stream, e.domain, n) for e in history.of("unrelayed") for n in e.numbers}
        self._sources = {(self.home[pub.who], pub.stream): self.home[pub.who] for pub in self.pubs}
        for pub in self.pubs:
            for site in self.goes_to(pub):
                self._sources[site, self.name(pub, site)[0]] = self.home[pub.who]
        # (site, domain, key, timestamp) -> the last message of that topic accepted there with that timestamp,
        # of each stream: publishers at several masters may have the same timestamp.
        self.values: dict[tuple[str, str, str, int], dict[str, Id]] = defaultdict(dict)
        for event in history.of("accept"):
            home = self.home.get(event.who, "")
            if self.came_from(event) == home:
                for number, key in zip(event.numbers, event.keys, strict=True):
                    id = event.stream, event.domain, number
                    self.values[home, event.domain, key, event.stamp][event.stream] = id

    def sent_from(self, site: str, domain: str, key: str) -> frozenset[str]:
        return destinations(self._places, site, domain, key)

    def goes_to(self, pub: Event) -> frozenset[str]:
        return self.sent_from(self.home[pub.who], pub.domain, pub.keys[0])

    def name(self, pub: Event, site: str) -> Id:
        """Return the id of a message at another site."""
        before, stream = self.home[pub.who], bytes.fromhex(pub.stream)
        for step in path(self._places, before, site):
            before, stream = step, self._aliases[step].here(before, stream)
        return stream.hex(), pub.domain, pub.first

    def came_from(self, event: Event) -> str | None:
        """Return the site where an accepted message was published, or None for no site."""
        if "i" in event.flags:
            return event.text
        return self._sources.get((self.home.get(event.who, ""), event.stream))

    def strays(self, history: History) -> Iterator[Event]:
        """Yield accepted messages of streams that no client has at home or at another site.

        Messages that a site dead-lettered because of a forged sender are included.
        """
        yield from (event for event in history.of("buried") if event.text == "FORGED_SENDER")
        for event in history.of("accept"):
            is_own = "e" in event.flags or event.to or event.keys[0].startswith("__sys__")
            if not is_own and (self.came_from(event) is None or not self._is_known(event)):
                yield event

    def _is_known(self, event: Event) -> bool:
        """Return whether the event is an ordinary message, or a retained value that its site had."""
        if "i" not in event.flags:
            return True
        return all((event.text, event.domain, key, event.stamp) in self.values for key in event.keys)

    def is_owed(self, pub: Event, site: str) -> bool:
        """Return whether the message is persistent, accepted, and was not dropped on its route to `site`."""
        return (
            (site, *pub.id) not in self.dropped and "p" in pub.flags and final(self._said.get(pub.id)) == "OK"
        )


def taken_once(history: History, facts: Facts) -> list[Violation]:
    """C6.1: a persistent message that was answered OK is in the end at each master of each receiving site.

    No other node there has it, no node accepts it twice, and no other site has it; its own site does not
    accept it anew. Where no rule names a master, the gateways have it, both if one took over from the other.
    """
    told, relayed, found = _Taken(history), Relayed(history, facts), list[Violation]()
    for pub in relayed.pubs:
        wanted, home = relayed.goes_to(pub), relayed.home[pub.who]
        for name, site in relayed.sites.items():
            known = relayed.name(pub, name)
            places = told.places.get(known, {})
            if name == home or name not in wanted:
                found += [Violation("C6.1", f"taken at {name}", (pub, e)) for e in places.values()]
            elif what := _misplaced(pub, site, set(places), relayed.is_owed(pub, name)):
                found.append(Violation("C6.1", what, (pub, *places.values())))
            found += [Violation("C6.1", "taken once more", (pub, e)) for e in told.again.get(known, ())]
    return found + [Violation("C6.1", "nobody sent that here", (e,)) for e in relayed.strays(history)]


def _misplaced(pub: Event, site: SiteFacts, places: set[str], is_owed: bool) -> str:
    masters = set(site.facts.masters_of(pub.domain, pub.keys[0]))
    if places - (masters or set(site.place.gateways)):
        return f"taken at {sorted(places)} of {site.name}"
    lacking = masters - places if masters else not places
    return f"OK, and of {site.name} only {sorted(places)} have it" if is_owed and lacking else ""


class _Taken:
    """The nodes that have each message on disk, and the messages that they accepted again."""

    def __init__(self, history: History) -> None:
        self.places: dict[Id, dict[str, Event]] = defaultdict(dict)
        self.again: dict[Id, list[Event]] = defaultdict(list)
        for event in history.of("known", "accept"):
            for number in event.numbers if "e" not in event.flags else ():
                known = event.stream, event.domain, number
                if event.kind == "known":
                    self.places[known].setdefault(event.who, event)
                elif event.who in self.places.get(known, ()):
                    self.again[known].append(event)


class Far(History):
    """The deliveries of other sites' messages at one site, by the ids at the sending site."""

    def __init__(self, history: History, facts: Facts, site: SiteFacts) -> None:
        super().__init__()
        self._name = site.name
        self._originals: dict[Event, Event] = {}
        relayed = Relayed(history, facts)
        sent = [pub for pub in relayed.pubs if site.name in relayed.goes_to(pub)]
        sent = [pub for pub in sent if (site.name, *pub.id) not in relayed.dropped]
        names = {relayed.name(pub, site.name): pub.id for pub in sent}
        ids = set(names.values())
        for event in history.events:
            if event.kind == "deliver" and event.who in site.members and event.id in names:
                self.add(renamed := replace(event, stream=names[event.id][0]))
                self._originals[renamed] = event
            elif event.kind == "pub" and event.id in ids:
                self.add(event)
            elif event.kind == "answer":
                here = [n for n in event.numbers if (event.stream, event.domain, n) in ids]
                self.events += [replace(event, first=n, last=n) for n in here]
            elif event.kind in OF_THE_WORLD or (event.kind in OF_CLIENTS and event.who in site.members):
                self.add(event)

    def told(self, law: str, violations: Iterable[Violation]) -> Iterator[Violation]:
        """Yield the violations with their original events, attributed to `law`."""
        for each in violations:
            events = tuple(self._originals.get(event, event) for event in each.events)
            yield Violation(law, f"at {self._name}: {each.what}", events)


def in_order(history: History, facts: Facts) -> list[Violation]:
    """S-order: messages of one publisher in one domain arrive in order at each other site.

    A site without masters but with several gateways is not checked: each gateway is master of a part. After
    the first fault, messages with several masters at home are not checked: an unreachable master's part may
    be late.
    """
    first_fault = min((e.at for e in history.of("fault")), default=inf)
    found = list[Violation]()
    for site in facts.sites:
        if site.facts.masters or len(site.place.gateways) == 1:
            there = Far(history, facts, site)
            there.events = [e for e in there.events if e.at < first_fault or not _has_several(e, facts)]
            found += there.told("S-order", order.in_order(there, site.facts))
    return found


def _has_several(given: Event, facts: Facts) -> bool:
    home = next((site for site in facts.sites if given.to.startswith(f"/site/{site.name}/")), None)
    is_so = home is not None and len(home.facts.masters_of(given.domain, given.keys[0])) > 1
    return given.kind == "deliver" and is_so


def arrives(history: History, facts: Facts) -> list[Violation]:
    """S-arrives: in the end a subscriber at another site has its messages, or was notified of a gap."""
    found = list[Violation]()
    for site in facts.sites:
        there = Far(history, facts, site)
        found += there.told("S-arrives", order.owed_arrives(there, site.facts))
    return found


def as_published(history: History, facts: Facts) -> list[Violation]:
    """S-sender: a delivery at another site has the published content and sender, and occurs once."""
    relayed, found = Relayed(history, facts), list[Violation]()
    for site in facts.sites:
        pubs = {relayed.name(pub, site.name): pub for pub in relayed.pubs}
        given = set[tuple[str, int, Id]]()
        for event in history.of("deliver"):
            pub = pubs.get(event.id)
            if pub is None or event.who not in site.members or relayed.home[pub.who] == site.name:
                continue
            one = (event.who, event.sub, event.id)
            why = "it is given twice" if one in given else _unlike(event, pub, relayed.home[pub.who])
            given.add(one)
            if why:
                found.append(Violation("S-sender", why, (pub, event)))
    return found


def _unlike(event: Event, pub: Event, home: str) -> str:
    if (event.text, event.keys) != (pub.text, pub.keys):
        return "it is not what was published"
    client = pub.who.removeprefix("client ")
    is_his = event.to.startswith(f"/site/{home}/node/") and f"/client/{client}/" in event.to
    return "" if is_his else f"it says that it comes from {event.to}"


def stamps_of(history: History) -> dict[Id, set[int]]:
    """Return the timestamps with which each message was accepted."""
    found: dict[Id, set[int]] = defaultdict(set)
    for event in history.of("accept"):
        for number in event.numbers:
            found[event.stream, event.domain, number].add(event.stamp)
    return found


def stamped_alike(history: History, facts: Facts) -> list[Violation]:
    """S-stamp: at other sites a message has a timestamp of its home site, as timestamps decide conflicts."""
    relayed, found = Relayed(history, facts), list[Violation]()
    stamps = stamps_of(history)
    for pub in relayed.pubs:
        for site in relayed.goes_to(pub):
            if stamps[relayed.name(pub, site)] - stamps[pub.id]:
                found.append(Violation("S-stamp", f"it has another stamp at {site} than at home", (pub,)))
    return found


def is_prompt(history: History, facts: Facts) -> list[Violation]:
    """C6.3: while only wires to other sites fail, a publish is answered within 5 s."""
    found = list[Violation]()
    for site in facts.sites:
        own = within(history, site)
        lives, said = Lives(own, site.facts), answers(own)
        for pub in own.of("pub"):
            first = said.get(pub.id, [])[:1]
            at = first[0].at if first else lives.last
            if at > pub.at + PROMPT and _is_well(pub, site, lives):
                found.append(Violation("C6.3", f"no answer for {at - pub.at:.1f} s", (pub, *first)))
    return found


def _is_well(pub: Event, site: SiteFacts, lives: Lives) -> bool:
    begin, end = pub.at - CALM, pub.at + PROMPT
    ails = any(lives.is_ill(who, begin, end) for who in (*site.place.nodes, pub.who))
    return not ails and all(lives.was_up(who, begin, end) for who in site.place.nodes)
