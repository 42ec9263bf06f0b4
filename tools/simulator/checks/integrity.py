"""Checks deliveries: as published, once, and only where they match."""

from __future__ import annotations

from collections import Counter

from tools.simulator.checks.facts import (
    LOUD,
    LOUD_TOGETHER,
    UNSURE,
    UNSURE_OF_LETTERS,
    Facts,
    Violation,
    answers,
    by_subscription,
    final,
    is_excused,
    published,
    restarts,
    roaming_streams,
    wants,
)
from tools.simulator.history import Event, History

HOPS = 16


def delivered_as_published(history: History, facts: Facts) -> list[Violation]:
    """G1: each delivered message equals the published one, matches the subscription, and was not refused.

    G1.1 covers dirty reads. A transient message that was accepted by a process which has ended may be refused
    as well, and so may a message of a client that moves, which one node accepted and the next one refused.
    """
    roaming = roaming_streams(history)
    pubs, said, found = published(history), answers(history), []
    ends = [end.at for end in restarts(history)]
    for sub, given in by_subscription(history).values():
        for event in given:
            why = _unlike(event, sub, pubs.get(event.id))
            state = final(said.get(event.id))
            unsure = (*UNSURE, *UNSURE_OF_LETTERS) if sub.flags == "inbox" else UNSURE
            if not why and "d" not in event.flags and state not in ("", "OK", *unsure):
                is_free = event.stream in roaming and not facts.masters_of(event.domain, event.keys[0])
                if is_free or is_excused(pubs[event.id], said[event.id][-1].at, ends):
                    continue
                why = f"it was refused: {state}"
            if why:
                found.append(Violation("G1", why, (event,)))
    for event in history.of("got"):
        pub = pubs.get(event.id)
        if not event.keys[0].startswith("__sys__") and (pub is None or pub.text != event.text):
            found.append(Violation("G1", "get() returned what nobody published", (event,)))
    return found


def retracted(history: History, facts: Facts) -> list[Violation]:
    """G1.1: a dirty read that its master refuses is retracted, and no other is for good.

    A message that a node returns to the one before, to keep its order, is retracted, and arrives again.
    Excused are subscribers that left, unsubscribed or had a gap since, and all subscribers if any process
    ended since.
    """
    said = answers(history)
    kept = {(at, event.id) for at, (_, given) in by_subscription(history).items() for event in given}
    found = [
        Violation("G1.1", "its master has it, and it was retracted", (event,))
        for event in history.of("retracted")
        if final(said.get(event.id)) == "OK" and ((event.who, event.sub), event.id) not in kept
    ]
    breaks = [(e.at, e.who) for e in history.of("down", "gap", "unsub")]
    breaks += [(e.at, "") for e in restarts(history)]
    for (client, _), (_, given) in by_subscription(history).items():
        for event in [event for event in given if "d" in event.flags]:
            state = final(said.get(event.id))
            was_ended = any(at >= event.at and who in (client, "") for at, who in breaks)
            if state not in ("", "OK", *UNSURE) and not was_ended:
                found.append(Violation("G1.1", f"nobody told him that it was refused: {state}", (event,)))
    return found


def _unlike(event: Event, sub: Event, pub: Event | None) -> str:
    if "e" in event.flags or event.keys[0].startswith("__sys__") or event.to.endswith("/client/__sys__"):
        return ""  # messages of the mesh itself
    if pub is None:
        return "nobody published it"
    if (pub.text, pub.keys if not pub.to else ("",)) != (event.text, event.keys):
        return "it is not what was published"
    if not pub.to and not wants(sub, event.keys[0], event.domain):
        return f"this subscription wants {sub.keys} of {sub.domain!r}"
    return ""


def delivered_once(history: History, facts: Facts) -> list[Violation]:
    """C1.1: each subscription receives a message at most once."""
    found = []
    for _, given in by_subscription(history).values():
        counted = Counter(event.id for event in given if "e" not in event.flags)
        for twice in [known for known, times in counted.items() if times > 1]:
            events = tuple(event for event in given if event.id == twice)
            found.append(Violation("C1.1", f"given {len(events)} times", events))
    return found


def letters(history: History, facts: Facts) -> list[Violation]:
    """C5.1: only the addressee receives a direct message; accepted persistent ones are delivered.

    Delivery is checked only for addressees that had an inbox, and in runs in which direct messages do not
    expire.
    """
    pubs, said, got, found = published(history), answers(history), set(), []
    inboxes = {key: sub for key, (sub, _) in by_subscription(history).items() if sub.flags == "inbox"}
    names = {event.who: event.to for event in history.of("confirmed") if event.sub == 0}
    for (client, number), (_, given) in by_subscription(history).items():
        for event in given if (client, number) in inboxes else ():
            pub, mine = pubs.get(event.id), names.get(client, "")
            if pub is None or not (mine == pub.to or mine.startswith(pub.to + "/session/")):
                found.append(Violation("C5.1", f"{mine} got what was not sent to it", (event,)))
            got.add(event.id)
    for known, pub in pubs.items() if facts.letters_wait else ():
        has_reader = any(mine == pub.to or mine.startswith(pub.to + "/session/") for mine in names.values())
        is_owed = pub.to and "p" in pub.flags and final(said.get(known)) == "OK" and has_reader
        if is_owed and known not in got:
            found.append(Violation("C5.1", "a persistent letter was answered OK, and never read", (pub,)))
    return found


def routes(history: History, facts: Facts) -> list[Violation]:
    """C6.2: to its master and from it a message visits no node twice, and at most 16 nodes."""
    found = []
    for event in history.of("deliver"):
        hops = [hop.rpartition("/")[::2] for hop in event.route]
        # Strata fall to 0 on the way to the master, and grow on the way from it.
        places = [i for i, (_, stratum) in enumerate(hops) if stratum == "0"]
        split = places[-1] if places else 0
        for leg in (hops[: split + 1], hops[split:]):
            nodes = [node for node, _ in leg]
            if len(nodes) > HOPS or len(set(nodes)) < len(nodes):
                found.append(Violation("C6.2", f"it went {' -> '.join(nodes)}", (event,)))
    return found


def known_answers(history: History) -> list[Event]:
    """Return the answers with an undocumented code."""
    together = {(e.stream, *text.rsplit(" ", 1)) for e in history.of("commit") for text in e.route}
    return [
        e
        for e in history.of("answer")
        if e.text not in ("OK", *LOUD)
        and not (e.text in LOUD_TOGETHER and (e.stream, e.domain, str(e.first)) in together)
    ]
