"""Checks that nothing exceeds its limit or is left over."""

from __future__ import annotations

from tools.simulating.checks.facts import Facts, Violation
from tools.simulating.history import Event, History

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
    """L1: in the end no messages wait, the disks have forgotten them, and no node broke the protocol.

    A node that a publisher has left may wait forever for answers that go elsewhere. Messages that were
    discarded while a disk was full may return with a crash. A liar sends requests to nodes to which an honest
    node would have no link; these requests wait for peer_linger. A node that was paused over a change of
    rules, for longer than old rules are remembered, sends copies along unknown routes; they are refused.
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
    """Return the `owed` events of messages whose receivers do not depend on the liar."""
    owed, behind, grows = list(history.of("owed")), {facts.liar, *facts.apart}, True
    while grows:
        found = {event.who for event in owed if event.to in behind} - behind
        behind, grows = behind | found, bool(found)
    return [event for event in owed if event.to not in behind and event.who not in {facts.liar, *facts.apart}]
