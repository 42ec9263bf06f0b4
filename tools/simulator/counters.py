"""Events that must happen now and then; otherwise the scenarios test less than they claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from tools.simulator.world.crashes import POINTS, STAGES

ENOUGH = 300  # runs after which a zero is a failure
GENERAL = (
    "crash before the commit", "crash in the commit", "crash after the commit", "crash after the answer",
    "resend deduplicated", "session taken up again", "gap told", "last value to a late subscriber",
    "answered STORE_FULL", "answered TAILBACK_FULL", "answered FORWARD_WARNING", "FORWARD_WARNING, then OK",
    "answered PARTLY_REFUSED", "answered NOT_CONNECTED", "answered UNKNOWN_NODE", "message expired",
    "dead letter",
    "refuted suspicion", "name conflict", "stale advert", "hello refused",
    "data loss refused", "step back refused", "stopped by its disk", "went on after a stop",
    "wall clock jumped",
    "publisher went to another node", "get: MASTER_AWAY", "erase: MASTER_AWAY",
)  # fmt: skip
# Events that must happen in these profiles. One in none of these must happen in the other profiles together.
OF: Mapping[Collection[str], Collection[str]] = {
    ("dirty",): ("given before its master had it", "retracted what its master did not take"),
    ("services",): (
        "asked in vain: NO_HANDLERS", "asked in vain: HANDLER_LOST", "asked in vain: TIMEOUT",
    ),
    ("queues",): (
        "put: QUEUE_FULL", "settled in vain: LEASE_OVER", "an ack of another epoch",
        "something was claimed that nobody was given", "what somebody had kept over a reconnect",
        "what somebody had kept over a restart",
    ),
    ("parts",): (
        "a move taken", "a move refused", "a message back where it was", "the same message twice in one part",
        "a move over a crash of its source", "a move over a crash of its target",
        "a move to a part in memory", "no room where a move begins", "no room where a move comes",
        "a queue removed while something of it moved", "a node forgotten with something on its way there",
        "a store went back", "settled in vain: LEASE_OVER", "what somebody had kept over a restart",
        *(f"crash {point}: a move {stage}" for point in POINTS for stage in STAGES),
    ),
    ("durables",): (
        "a durable subscription declared", "a durable subscription declared again",
        "a copy given where it was kept", "a copy given after it moved", "a copy given once more",
        "a move taken", "a move over a crash of its source", "a move over a crash of its target",
        "settled in vain: LEASE_OVER", "what somebody had kept over a restart",
    ),
    ("abroad",): (
        "answered NO_RIGHT", "answered SITE_UNREACHABLE", "answered UNKNOWN_NODE", "FORWARD_WARNING, then OK",
        "asked in vain: NO_HANDLERS", "asked in vain: HANDLER_LOST", "asked in vain: SITE_UNREACHABLE",
        "asked in vain: NO_RIGHT", "asked in vain: TIMEOUT",
    ),
    ("spaces",): (
        "put_if of a map: NOT", "move of a map: OK", "force of a map: OK", "put of a map: NODE_AWAY",
        "move of a counter: OK", "force of a counter: OK", "lock of a lock: LOCK_HELD",
        "move of a lock: OK", "force of a lock: OK", "a lock was lost", "add of a tally: NODE_AWAY",
    ),
    ("drain",): ("a node drained", "drain: NO_OTHER_NODE"),
    ("redirect",): ("refused by a full node",),
    ("transport",): ("a descriptor used again before its end was read",),
    ("sites",): ("a site lost", "a site seen again", "something waited while a site was lost"),
}  # fmt: skip
SPECIAL = frozenset(profile for profiles in OF for profile in profiles)


def sometimes(scenarios: Mapping[str, int]) -> Mapping[str, int]:
    """Return the expected events for these profiles, each with the number of runs that could have it."""
    general = sum(n for profile, n in scenarios.items() if profile not in SPECIAL)
    found = dict.fromkeys(GENERAL, general) if general else {}
    for profiles, names in OF.items():
        if n := sum(scenarios.get(profile, 0) for profile in profiles):
            found |= {name: found.get(name, 0) + n for name in names}
    return found


def never(counts: Counter[str], scenarios: Mapping[str, int]) -> list[str]:
    """Return the expected events that did not happen, although enough runs made them possible."""
    return [what for what, n in sometimes(scenarios).items() if n >= ENOUGH and not counts[what]]
