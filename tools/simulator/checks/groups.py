"""Checks subscriber groups: each message reaches one member."""

from __future__ import annotations

from collections import defaultdict

from mesh.names import SENDS, check_group
from mesh.patterns import matches
from tools.simulator.checks.addresses import CALM, Handlers, calm_of
from tools.simulator.checks.facts import Facts, Id, Violation, answers, final, published, restarts
from tools.simulator.history import Event, History

SHORT = 5.0  # s until delivery, if all are quick


def _taken(history: History) -> dict[tuple[str, Id], list[Event]]:
    found: dict[tuple[str, Id], list[Event]] = defaultdict(list)
    for e in history.of("came"):
        if e.domain != SENDS:
            found[e.to, e.id].append(e)
    return found


def one_member(history: History, facts: Facts) -> list[Violation]:
    """GR1: a message reaches at most one member of a group, unchanged.

    A transient message that is resent after a process ended is new to its master. One of several masters may
    not know what another one did.
    """
    pubs, found = published(history), []
    ends = [e.at for e in restarts(history)]
    for (group, name), came in _taken(history).items():
        pub = pubs.get(name)
        _, domain, pattern = check_group(group)
        if pub is None or came[0].text != pub.text or not matches(pattern, came[0].keys[1]):
            found.append(Violation("GR1", "nobody has published that for it", (came[0],)))
        elif pub.domain != domain:
            found.append(Violation("GR1", "it is of another domain", (pub, came[0])))
        elif len(came) > 1:
            several = len(facts.masters_of(domain, pub.keys[0])) > 1
            ended = any(pub.at <= at <= came[1].at for at in ends)
            # The node that assigned or received the message is gone, and its publisher resent it.
            if not (ended and (several or "p" not in pub.flags)):
                found.append(Violation("GR1", "it came twice", (pub, *came[:3])))
    return found


def somebody_gets_it(history: History, facts: Facts) -> list[Violation]:
    """GR2: without faults a published message reaches a member, if all members are quick."""
    taken, said, calm, found = _taken(history), answers(history), calm_of(history), []
    handlers = Handlers(history)
    members = [e for e in history.of("serving") if "\n" in e.to]
    slow = {e.to for e in members if "q" not in e.flags}
    for pub in history.of("pub"):
        begin, end = pub.at - CALM, pub.at + SHORT
        if pub.to or final(said.get(pub.id)) != "OK" or not calm.was(begin, end):
            continue
        for group in {e.to for e in members} - slow:
            _, domain, pattern = check_group(group)
            if pub.domain != domain or not matches(pattern, pub.keys[0]) or (group, pub.id) in taken:
                continue
            if handlers.stayed(group, begin, end):
                found.append(Violation("GR2", f"nobody in {group.split()[0]} has got it", (pub,)))
    return found
