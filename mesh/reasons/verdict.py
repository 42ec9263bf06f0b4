"""Combines the reasons of all nodes into an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from mesh.reasons.reason import NAMES, reason
from mesh.reasons.texts import PERHAPS, RANKS, STATE, TEXTS
from mesh.reasons.what import ADDRESS, CLIENT, COUNTER, LOCK, MAP, MESSAGE, NODE, QUEUE, SITE, TOPIC, TX, What
from mesh.wire.replies import Reason, Step

ASK = TEXTS["LINK_REFUSED"].hint  # `mesh why node NAME`
EVERYONE = "*"  # the node asks all nodes
ROOM = "explaining"  # component that combines reasons
TOLD = 200  # reasons in an answer, at most
# Codes about nodes that cannot be asked and may know more.
ASIDE = frozenset(("NODE_SUSPECT", "NODE_DEAD", "NODE_CONFLICT", "LINK_REFUSED", "SITE_NOT_LINKED"))
# Codes about nodes that may not belong to the mesh. They are ignored if the object is found elsewhere.
STRANGE = frozenset(("NODE_SEEN", "NODE_LEFT", "NODE_UNKNOWN", "NOT_LINKABLE", "OTHER_MESH", "DIAL_FAILED"))
NEAR = frozenset(
    ("NEAR_NODE", "NEAR_KEY", "OTHER_DOMAIN", "NEAR_CLIENT", "NEAR_ADDRESS", "NEAR_QUEUE", "NEAR_SITE")
)
# For each kind: the codes which show that the object exists, and the code to add if none is present.
THERE: Mapping[str, tuple[frozenset[str], str]] = {
    NODE: (frozenset(("NODE_ALIVE", "NODE_SELF")), ""),
    TOPIC: (frozenset(("SUBSCRIBED", "GROUP_TAKES", "DURABLE_TAKES", "SITES_TAKE")), "NO_SUBSCRIBER"),
    MESSAGE: (
        frozenset(
            ("PUBLISHED_HERE", "STORING", "ACCEPTED", "ACCEPTED_BEFORE", "WAITS_FOR", "UNDER_WAY", "REFUSED")
        ),
        "MESSAGE_UNKNOWN",
    ),
    ADDRESS: (frozenset(("SERVED",)), "NOBODY_SERVES"),
    QUEUE: (
        frozenset(("QUEUE_WAITS", "QUEUE_EMPTY", "QUEUE_FULL", "QUEUE_DROPS", "NOBODY_TAKES")),
        "QUEUE_UNKNOWN",
    ),
    CLIENT: (frozenset(("CLIENT_HERE", "CLIENT_AWAY", "CLIENT_REFUSED")), "CLIENT_UNKNOWN"),
    SITE: (frozenset(("SITE_LINKED", "SITE_OWN")), "SITE_UNREACHED"),
    LOCK: (frozenset(("LOCK_HELD", "LOCK_FREE", "LOCK_STOPPED")), "LOCK_UNKNOWN"),
    MAP: (frozenset(("SPACE_HOME", "SPACE_KNOWN")), "SPACE_UNKNOWN"),
    COUNTER: (frozenset(("SPACE_HOME", "SPACE_KNOWN")), "SPACE_UNKNOWN"),
    TX: (frozenset(("TX_PREPARED", "TX_FINISHING", "TX_DECIDED")), "TX_UNKNOWN"),
}


def of_step(step: Step) -> Reason:
    names = {"next": step.next, "why": step.why, "node": step.node}
    match step.decision:
        case "here":
            found = reason("ACCEPTED_HERE", **names)
        case "forward":
            found = reason("GOES_ON", **names)
        case "wait" if step.next:
            found = reason("MASTER_AWAY", about=[step.next], state=step.state or "away", **names)
        case "wait":
            found = reason("NO_MASTER", **names)
        case "refuse":
            code = "CIRCULAR_LOOP" if step.code == "CIRCULAR_LOOP" else "ROUTE_REFUSED"
            found = reason(code, **names)
        case _:
            found = reason("ROUTE_UNKNOWN", **names)
    return replace(found, node=step.node, room="mapping")


def verdict(
    what: What, me: str, found: Iterable[Reason], steps: Sequence[Step] = (), missing: Iterable[str] = ()
) -> list[Reason]:
    """Return the combined reasons, at most TOLD: causes first, and reasons of the node `me` before others.

    `steps` is the route of a message, and `missing` has the names of nodes that did not answer.
    """
    told = _without_bare_refusals([*found, *map(of_step, steps)])
    there, absent = THERE[what.kind]
    if any(each.code in there for each in told):
        told = [_put_aside(each) for each in told if each.code not in NEAR | STRANGE]
    elif absent:
        told.append(_absent(absent, what, me))
    if what.kind == TOPIC:
        told += _differ(told, steps)
    if what.kind == CLIENT and what.client.session and any(each.code == "CLIENT_HERE" for each in told):
        told = [each for each in told if each.code != "CLIENT_AWAY"]  # its former node keeps it for a while
    if what.kind == NODE:
        told = [_unless_asked(each, what.text) for each in told]
    told += [_said(me, reason("NOT_ASKED", node=node)) for node in sorted(set(missing))[:NAMES]]
    return _in_order(_few(what, told, me), me)


def _without_bare_refusals(told: Sequence[Reason]) -> list[Reason]:
    """Drop a refusal without details if its node also reports a refusal with details."""
    bare = reason("REFUSED", why="REFUSED").says
    given = {each.node for each in told if each.code == "REFUSED" and each.says != bare}
    return [each for each in told if each.says != bare or each.node not in given]


def _said(node: str, each: Reason) -> Reason:
    return replace(each, node=node, room=ROOM)


def _absent(code: str, what: What, me: str) -> Reason:
    names = {"key": what.text, "who": what.text, "address": what.text, "name": what.text}
    return _said(me, reason(code, **names))


def _put_aside(each: Reason) -> Reason:
    """Lower the rank of a reason about an unreachable node, since the object was found elsewhere."""
    return replace(each, rank=PERHAPS) if each.code in ASIDE else each


def _unless_asked(each: Reason, node: str) -> Reason:
    return replace(each, hint="") if each.hint == ASK.format(node=node) else each


def _differ(told: Sequence[Reason], steps: Sequence[Step]) -> list[Reason]:
    """Return a reason for each node with subscribers whose requests do not reach a master."""
    masters = sorted({step.node for step in steps if step.decision == "here"})
    asks = {each.node: each.about for each in told if each.code == "ASKS"}
    found = []
    for node in sorted({each.node for each in told if each.code == "SUBSCRIBED"}):
        if masters and not _reaches(node, masters, asks):
            nodes = asks.get(node, ["nobody"])
            found.append(_said(node, reason("RULES_DIFFER", masters=masters, node=node, nodes=nodes)))
    return found


def _reaches(node: str, masters: Sequence[str], asks: Mapping[str, Sequence[str]]) -> bool:
    seen, next_ones = {node}, [node]
    while next_ones:
        one = next_ones.pop()
        if one in masters or EVERYONE in asks.get(one, ()):
            return True
        for other in asks.get(one, ()):
            if other not in seen:
                seen.add(other)
                next_ones.append(other)
    return False


def _few(what: What, told: Sequence[Reason], me: str) -> list[Reason]:
    """Drop reasons of rank STATE from third nodes if the question is about a node."""
    if what.kind != NODE:
        return list(told)
    return [each for each in told if each.node in (me, what.text) or each.rank != STATE]


def _in_order(told: Iterable[Reason], me: str) -> list[Reason]:
    once = {(each.node, each.code, each.says): each for each in told}
    order = {rank: place for place, rank in enumerate(RANKS)}

    def place(each: Reason) -> tuple[int, bool, str]:
        return order.get(each.rank, len(order)), each.node != me, each.node

    return sorted(once.values(), key=place)[:TOLD]
