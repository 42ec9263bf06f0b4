"""Checks that no backlog exceeds its limit, and that in the end nothing is left over."""

from __future__ import annotations

from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import Event, History

LEFT = ("pending", "stored_envelopes", "tailed_back", "malformed", "forged", "commits_under_way", "on disk")
PROTOCOL = ("malformed", "forged")
WAITING = ("pending", "stored_envelopes", "tailed_back", "on disk")


def under_caps(history: History, facts: Facts) -> list[Violation]:
    """R1: the backlog of a subscriber, an inbox and the outbound buffer stay under their limits."""
    caps = {
        "feed": (facts.feed_cap, "bytes wait for one subscriber"),
        "tail-back": (facts.tail_cap, "messages wait in the tail-back queue"),
    }
    found: dict[tuple[str, str], Violation] = {}
    for event in history.of("sample"):
        cap, what = caps[event.text]
        if event.stamp > cap:
            violation = Violation("R1", f"{event.stamp} {what}, {cap:g} are the most", (event,))
            found.setdefault((event.who, event.text), violation)
    return list(found.values())


def nothing_left(history: History, facts: Facts) -> list[Violation]:
    """L1: in the end no message waits, in memory or on disk, and no node has broken the protocol.

    Messages may wait after a publisher has moved, because its answers go elsewhere, or after a full disk,
    because a crash restores discarded messages. A liar causes protocol errors and, unless the rules are
    plain, waiting messages. A node with outdated rules may send copies that others refuse as forged.
    """
    may_wait = facts.may_wait or (facts.liar and facts.rules != "plain")
    left = [what for what in LEFT if not (may_wait and what in WAITING)]
    left = [what for what in left if not (facts.liar and what in PROTOCOL)]
    left = [what for what in left if not (facts.outdated and what == "forged")]
    found = [
        Violation("L1", f"{event.who}: {event.text} is {event.stamp}", (event,))
        for event in history.of("end")
        if event.text in left and event.stamp
    ]
    found += [
        Violation("L1", f"its node broke the protocol: {e.text}", (e,)) for e in history.of("cannot read")
    ]
    owed = _owed_to_the_honest(history, facts) if not facts.may_wait else ()
    return found + [Violation("L1", f"{event.who} owes {event.to}", (event,)) for event in owed]


def _owed_to_the_honest(history: History, facts: Facts) -> list[Event]:
    """Return the `owed` events whose sender and receiver do not depend on the liar."""
    owed, behind, grows = list(history.of("owed")), {facts.liar, *facts.apart}, True
    while grows:
        found = {event.who for event in owed if event.to in behind} - behind
        behind, grows = behind | found, bool(found)
    return [event for event in owed if event.to not in behind and event.who not in {facts.liar, *facts.apart}]
