"""Checks direct messages and requests to other sites: delivered once, and only with permission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from mesh.names import OTHERS, SENDS
from tools.simulator.checks import addresses
from tools.simulator.checks.facts import (
    UNSURE,
    UNSURE_OF_LETTERS,
    Facts,
    Id,
    Violation,
    answers,
    by_subscription,
    final,
    is_excused,
    restarts,
    was_between,
)
from tools.simulator.checks.relayed import Relayed
from tools.simulator.history import Event, History

OF_SERVERS = ("serve", "unserve", "serving", "lapsed")
OF_ASKS = ("ended", "gathered")
OF_HANDLERS = ("came", "arrived")
UNREACHABLE = ("SITE_UNREACHABLE", "NO_RIGHT")  # also proof that nothing was delivered


def _split(to: str) -> tuple[str, str]:
    """Return the site of an address, and the rest of it."""
    site, _, rest = to.removeprefix(OTHERS).partition("/")
    return site, rest


class Asks(History):
    """The history of requests to other sites, as if all sites were one mesh.

    Each address is prefixed with the site that serves it.
    """

    def __init__(self, history: History, facts: Facts) -> None:
        super().__init__()
        relayed = self.relayed = Relayed(history, facts)
        self._asks = {(e.stream, e.first): e for e in history.of("asked") if e.to.startswith(OTHERS)}
        self._others = {(e.stream, e.first) for e in history.of("asked")} - self._asks.keys()
        self._names = {
            (site, relayed.name(ask, site)[0]): ask.stream
            for ask in self._asks.values()
            if (site := _split(ask.to)[0]) in relayed.sites
        }
        self._originals: dict[Event, Event] = {}
        for e in history.events:
            kept = self._as_of_all(e, relayed.home.get(e.who, ""))
            if kept is not None:
                self.add(kept)
                self._originals[kept] = e

    def told(self, law: str, each: Violation) -> Violation:
        """Return the violation with its original events, attributed to `law`."""
        events = tuple(self._originals.get(event, event) for event in each.events)
        return Violation(law, f"{each.invariant}: {each.what}" if each.invariant else each.what, events)

    def _as_of_all(self, e: Event, home: str) -> Event | None:
        if e.kind == "asked":
            return replace(e, to=e.to.removeprefix(OTHERS)) if (e.stream, e.first) in self._asks else None
        if e.kind in OF_ASKS:
            ask = self._asks.get((e.stream, e.first))
            return replace(e, to=e.to.removeprefix(f"{OTHERS}{_split(ask.to)[0]}")) if ask else None
        if e.kind in OF_HANDLERS and e.domain == SENDS:
            if (e.stream, e.first) in self._others:
                return None
            return replace(e, stream=self._names.get((home, e.stream), e.stream), to=f"{home}/{e.to}")
        if e.kind in OF_SERVERS:
            return replace(e, to=f"{home}/{e.to}")
        return e


def asked(history: History, facts: Facts) -> list[Violation]:
    """S-asked: a request to another site is handled by one server there, and ends once, in time.

    A refused request was delivered to no server; a server replies only to a request that it received, once.
    """
    there = Asks(history, facts)
    found = [
        violation
        for law in (
            addresses.given_once,
            addresses.answered_is_given,
            addresses.nobody_only_if_so,
            addresses.each_ends_once,
            addresses.refused_is_not_given,
            addresses.replies_answer,
        )
        for violation in law(there, facts)
    ]
    asks, came = addresses.asked(there), {(e.stream, e.first) for e in there.of("came") if e.domain == SENDS}
    for e in there.of("ended"):
        if e.text in UNREACHABLE and (e.stream, e.first) in came:
            found.append(Violation("AD8", f"it ended with {e.text}", (asks[e.stream, e.first], e)))
    return [there.told("S-asked", each) for each in found]


class Letters:
    """The direct messages to clients of other sites, with their ids at the receiving site."""

    def __init__(self, history: History, facts: Facts) -> None:
        self.relayed = relayed = Relayed(history, facts)
        self.sent: dict[tuple[str, Id], Event] = {}  # by site, and its id there
        for pub in history.of("pub"):
            site, _ = _split(pub.to) if pub.to.startswith(OTHERS) else ("", "")
            if site in relayed.sites and pub.who in relayed.home:
                self.sent[site, relayed.name(pub, site)] = pub
        names = {e.who: e.to for e in history.of("confirmed") if e.sub == 0}
        self.readers = {(relayed.home[who], name): who for who, name in names.items() if who in relayed.home}
        self._names = names
        inboxes = [each for each in by_subscription(history).values() if each[0].flags == "inbox"]
        self.given = [(e, names.get(e.who, "")) for _, given in inboxes for e in given]

    def came_from_afar(self) -> Iterator[tuple[Event, str, Event | None]]:
        """Yield (delivery, session that received it, publish event) of each message from another site."""
        for e, mine in self.given:
            pub = self.sent.get((self.relayed.home.get(e.who, ""), e.id))
            if pub is not None or e.to.startswith(OTHERS):
                yield e, mine, pub

    def has_reader(self, pub: Event) -> bool:
        site, to = _split(pub.to)
        return any(home == site and _is_for(to, name) for home, name in self.readers)


def _is_for(to: str, session: str) -> bool:
    return session == f"/{to}" or session.startswith(f"/{to}/session/")


def letters(history: History, facts: Facts) -> list[Violation]:
    """S-letters: a direct message to another site reaches its addressee unchanged, once, unless refused.

    A persistent message that was accepted is delivered. A transient one may be refused and delivered if a
    process ended that had accepted it. The same holds for a message whose node ended before its first answer,
    and which has no route when it is resent.
    """
    told, said, found = Letters(history, facts), answers(history), list[Violation]()
    ends, times = [end.at for end in restarts(history)], Counter[Id]()
    for e, mine, pub in told.came_from_afar():
        why = "nobody sent it" if pub is None else _wrong(e, mine, pub, told.relayed.home[pub.who])
        if pub is not None:
            times[pub.id] += 1
            state, last = final(said.get(pub.id)), said.get(pub.id, [pub])[-1].at
            unsure = state in ("", "OK", *UNSURE, *UNSURE_OF_LETTERS) or is_excused(pub, last, ends)
            is_first_word = state == "SITE_UNREACHABLE" and len(said[pub.id]) == 1
            unsure = unsure or (is_first_word and was_between(ends, pub.at, last))
            why = why or ("it is given twice" if times[pub.id] > 1 else "")
            why = why or ("" if unsure else f"it was refused: {state}")
        if why:
            found.append(Violation("S-letters", why, (*filter(None, (pub,)), e)))
    for pub in told.sent.values() if facts.letters_wait else ():
        is_owed = "p" in pub.flags and final(said.get(pub.id)) == "OK" and told.has_reader(pub)
        if is_owed and not times[pub.id]:
            found.append(Violation("S-letters", "it was answered OK, and never read", (pub,)))
    return found


def _wrong(given: Event, mine: str, pub: Event, home: str) -> str:
    if not _is_for(_split(pub.to)[1], mine):
        return f"{mine} was given it"
    if given.text != pub.text:
        return "it is not what was sent"
    client = pub.who.removeprefix("client ")
    is_his = given.to.startswith(f"{OTHERS}{home}/node/") and f"/client/{client}/" in given.to
    return "" if is_his else f"it says that it comes from {given.to}"


def with_leave(history: History, facts: Facts) -> list[Violation]:
    """S-leave: clients of another site send to a client, or request an address, only with permission."""
    told, found = Letters(history, facts), list[Violation]()
    sites, home = told.relayed.sites, told.relayed.home
    for e, mine, pub in told.came_from_afar():
        client = mine.partition("/client/")[2].partition("/")[0]
        if pub is not None and not sites[home[e.who]].place.lets_write(home[pub.who], client):
            found.append(Violation("S-leave", f"{home[pub.who]} may not write to {client}", (pub, e)))
    there = Asks(history, facts)
    asks = addresses.asked(there)
    for e in there.of("came"):
        ask, (site, _, address) = asks.get((e.stream, e.first)), e.to.partition("/")
        asker = home[ask.who] if ask is not None else site
        if asker != site and not sites[site].place.lets_ask(asker, address):
            found.append(there.told("S-leave", Violation("", f"{asker} may not ask for {address}", (e,))))
    return found
