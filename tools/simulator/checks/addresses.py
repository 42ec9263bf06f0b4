"""Checks requests: each is delivered to one server of its address, once, and ends once."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from functools import lru_cache
from math import inf

from mesh.names import SENDS
from tools.simulator.checks.facts import Facts, Violation, spans
from tools.simulator.history import Event, History

Name = tuple[str, int]  # stream, and number of a request
CALM = 10.0  # s without faults before
ARRIVES = 15.0  # s within which a delivery arrives, or fails
LATE = 0.5  # s by which an end may be late
LOST = ("HANDLER_LOST", "NO_HANDLERS")
REFUSED = ("NO_HANDLERS", "ADDRESS_FULL", "EXPIRED", "TOO_MANY_REQUESTS")  # proof that nothing was delivered
HARMLESS = ("break client",)


def asked(history: History) -> dict[Name, Event]:
    return {(e.stream, e.first): e for e in history.of("asked")}


def _came(history: History) -> dict[Name, list[Event]]:
    found: dict[Name, list[Event]] = defaultdict(list)
    for e in history.of("came"):
        if e.domain == SENDS:
            found[e.stream, e.first].append(e)
    return found


class Calm:
    """The times without faults."""

    def __init__(self, history: History) -> None:
        begun = [(a, b) for a, b, fault in spans(history) if fault.text not in HARMLESS]
        begun += [(e.at, e.at) for e in history.of("start", "crash", "stop", "healed", "hung up")]
        self._spans = sorted((b, a) for a, b in begun)

    def was(self, begin: float, end: float, before: float = CALM) -> bool:
        """Return whether no fault occurred from `before` seconds before `begin` up to `end`."""
        later = bisect_left(self._spans, (begin - before, 0.0))
        return all(a > end for _, a in self._spans[later:])


@lru_cache(maxsize=1)
def calm_of(history: History) -> Calm:
    return Calm(history)


def given_once(history: History, facts: Facts) -> list[Violation]:
    """AD1: at most one server begins a request, once; a gathered request is begun once by each server."""
    asks, found = asked(history), []
    for name, came in _came(history).items():
        ask = asks.get(name)
        if ask is None:
            found.append(Violation("AD1", "nobody has asked for that", (came[0],)))
            continue
        to_each = Counter((e.who, e.sub) if "g" in ask.flags else ("", 0) for e in came)
        if max(to_each.values()) > 1:
            found.append(Violation("AD1", "it was given twice", (ask, *came[:3])))
        wrong = [e for e in came if (e.to, e.text) != (ask.to, ask.text)]
        if wrong:
            found.append(Violation("AD1", "that is not what was asked for", (ask, wrong[0])))
    return found


def answered_is_given(history: History, facts: Facts) -> list[Violation]:
    """AD2: a request answered OK was delivered, unless a server, a process or a connection failed.

    Gathered requests are not checked: one may still be in transit when the number of servers is known.
    """
    asks, found = asked(history), []
    arrived = {(e.stream, e.first) for e in history.of("arrived") if e.domain == SENDS}
    harm: dict[str, list[float]] = defaultdict(list)
    for e in history.of("lapsed", "unserve", "serve"):
        harm[e.to].append(e.at)
    ends = [e.at for e in history.of("crash", "stop")]
    ends += [a for a, _, fault in spans(history) if fault.text in ("pause", "break client")]
    for name, said in _said(history).items():
        ask, ok = asks.get(name), next((e for e in said if e.text == "OK"), None)
        if ask is None or ok is None or name in arrived or "g" in ask.flags:
            continue
        if not any(ask.at - 1 <= at <= ok.at + ARRIVES for at in (*harm[ask.to], *ends)):
            found.append(Violation("AD2", "answered OK, and nobody was given it", (ask, ok)))
    return found


def _said(history: History) -> dict[Name, list[Event]]:
    found: dict[Name, list[Event]] = defaultdict(list)
    for e in history.of("said"):
        for number in e.numbers:
            found[e.stream, number].append(e)
    return found


class Handlers:
    """The times at which each address was served, as its servers know them."""

    def __init__(self, history: History) -> None:
        self._of: dict[str, list[tuple[float, float, Event]]] = defaultdict(list)
        self.gone: dict[str, list[float]] = defaultdict(list)
        open_: dict[tuple[str, int], Event] = {}
        for e in history.of("serving", "lapsed"):
            begun = open_.pop((e.who, e.sub), None)
            if begun is not None:
                self._of[e.to].append((begun.at, e.at, begun))
            if e.kind == "serving":
                open_[e.who, e.sub] = e
            else:
                self.gone[e.to].append(e.at)
        for e in open_.values():
            self._of[e.to].append((e.at, inf, e))

    def all_the_time(self, ask: Event, begin: float, end: float) -> Event | None:
        """Return the registration of a server that could receive `ask` from `begin` to `end`, or None."""
        here = ask.keys[-1]
        for a, b, e in self._of[ask.to]:
            is_near = e.keys[-1] == here
            if a <= begin and b > end and (is_near or not ("l" in e.flags or "l" in ask.flags)):
                return e
        return None

    def stayed(self, address: str, begin: float, end: float) -> bool:
        """Return whether `address` was served from `begin` to `end`, by unchanged servers."""
        served = self._of[address]
        is_moving = any(begin <= at <= end for a, b, _ in served for at in (a, b))
        return not is_moving and any(a < begin and b > end for a, b, _ in served)


def nobody_only_if_so(history: History, facts: Facts) -> list[Violation]:
    """AD3: without faults there is no NO_HANDLERS while the address is served.

    Nor is there HANDLER_LOST while all of its servers stay.
    """
    asks, calm, handlers, found = asked(history), calm_of(history), Handlers(history), []
    unrest: dict[str, list[float]] = defaultdict(list)
    for e in history.of("fault", "visit", "down"):
        unrest[e.who.removeprefix("client ")].append(e.at)
    for e in history.of("ended"):
        ask = asks[e.stream, e.first]
        begin = e.at - CALM
        client = e.who.removeprefix("client ")
        if e.text not in LOST or ask.at < begin or not calm.was(begin, e.at):
            continue
        if any(begin <= at <= e.at for at in unrest[client]):
            continue
        if e.text == "HANDLER_LOST" and not any(begin <= at <= e.at for at in handlers.gone[ask.to]):
            found.append(Violation("AD3", "HANDLER_LOST, and nobody has gone", (ask, e)))
        server = handlers.all_the_time(ask, begin, e.at) if e.text == "NO_HANDLERS" else None
        if server is not None:
            found.append(Violation("AD3", "NO_HANDLERS, and somebody serves it", (server, ask, e)))
    return found


def known_is_so(history: History, facts: Facts) -> list[Violation]:
    """AD4: after 13 s without faults, all nodes know the correct servers of the addresses they watch."""
    calm = calm_of(history)
    return [
        Violation("AD4", f"{e.who}: {e.text}", (e,))
        for e in history.of("wrong row")
        if calm.was(e.at - 3.0, e.at)
    ]


def reaches_whom_it_was_meant_for(history: History, facts: Facts) -> list[Violation]:
    """AD5: a request that was sent to one process of a node reaches no other process."""
    chosen = {(e.who, e.text, e.stamp, e.to, e.stream, e.domain, e.first) for e in history.of("chosen")}
    return [
        Violation("AD5", "it was not sent to this process", (e,))
        for e in history.of("reached")
        if (e.text, e.who, e.boot, e.to, e.stream, e.domain, e.first) not in chosen
    ]


def local_stays_local(history: History, facts: Facts) -> list[Violation]:
    """AD6: a local server receives only requests of its node, and a local request does not leave its node."""
    asks, found = asked(history), []
    for name, came in _came(history).items():
        ask = asks.get(name)
        for e in came:
            is_local = "l" in e.flags or (ask is not None and "l" in ask.flags)
            if is_local and {*e.route} != {e.keys[-1]}:
                found.append(Violation("AD6", f"it came by {', '.join(e.route)}", (e,)))
    return found


def each_ends_once(history: History, facts: Facts) -> list[Violation]:
    """AD7: a request ends once, with a reply, an answer, a refusal or its timeout.

    The requests of a client that closes do not end.
    """
    asks, closed, found = asked(history), {e.who for e in history.of("down")}, []
    ends: dict[Name, list[Event]] = defaultdict(list)
    for e in history.of("ended"):
        ends[e.stream, e.first].append(e)
    for name, ask in asks.items():
        ended = ends[name]
        until = ask.stamp / 1e9
        if len(ended) > 1:
            found.append(Violation("AD7", "it has ended twice", (ask, *ended[:2])))
        elif not ended and ask.who not in closed:
            found.append(Violation("AD7", "it has never ended", (ask,)))
        elif ended and "t" not in ask.flags and ended[0].at > until + LATE:
            found.append(Violation("AD7", f"its time was over at {until:.3f}", (ask, ended[0])))
    return found


def refused_is_not_given(history: History, facts: Facts) -> list[Violation]:
    """AD8: a request that was refused for lack of servers, capacity or time was delivered to no server."""
    asks, came, found = asked(history), _came(history), []
    for name, said in _said(history).items():
        refused = next((e for e in said if e.text in REFUSED), None)
        if refused is not None and name in came and name in asks:
            found.append(Violation("AD8", f"answered {refused.text}", (asks[name], came[name][0], refused)))
    return found


def replies_answer(history: History, facts: Facts) -> list[Violation]:
    """AD9: a server replies only to a request that it received, and once."""
    asks, came, found = asked(history), _came(history), []
    seen: Counter[tuple[str, int, str]] = Counter()
    for e in history.of("ended", "gathered"):
        if not e.keys or not e.to:
            continue
        ask = asks[e.stream, e.first]
        seen[e.stream, e.first, e.to] += 1
        sessions = {given.keys[0] for given in came.get((e.stream, e.first), ())}
        if e.text == "OK" and e.keys[0] != ask.text:
            found.append(Violation("AD9", "it answers another request", (ask, e)))
        elif e.to not in sessions:
            found.append(Violation("AD9", f"by {e.to}, who was not asked", (ask, e)))
        elif seen[e.stream, e.first, e.to] > 1:
            found.append(Violation("AD9", "one has replied twice", (ask, e)))
    return found


def in_time_where_all_are_quick(history: History, facts: Facts) -> list[Violation]:
    """AD10: after all faults are healed and servers are quick, no request of a served address times out."""
    asks, handlers, found = asked(history), Handlers(history), []
    last = next((e.at for e in history.of("last")), inf)
    for e in history.of("ended"):
        ask = asks[e.stream, e.first]
        if ask.at >= last and e.text in ("TIMEOUT", "EXPIRED"):
            server = handlers.all_the_time(ask, ask.at - CALM, e.at)
            if server is not None:
                found.append(Violation("AD10", "nobody has replied", (server, ask, e)))
    return found
