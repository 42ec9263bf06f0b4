"""Choice of the route from several claims on a message."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace

from msgspec import Struct

from mesh.mapping.backups import counting, masters_of
from mesh.mapping.decision import Claim, Decision, Kind, NodesView, forward, here, refuse, wait

# State of a route's end: all masters reachable, some of several, or none.
ALIVE, BEHIND, AWAY = range(3)


class Together(Struct, frozen=True):
    """Masters that all receive a message.

    `partly` is the state while only some of them are reachable.
    """

    nodes: tuple[str, ...] = ()
    partly: int = ALIVE

    def standing(self, view: NodesView) -> int:
        alive = [view.is_alive(node) for node in self.nodes]
        return ALIVE if all(alive) else self.partly if any(alive) else AWAY


NOBODY = Together()


class RouteCandidate(Struct, frozen=True):
    """A candidate for the next hop. The lowest rank is the best."""

    node: str
    rank: tuple[int, bool, int]  # state of the end, not the own parent, stratum

    def __lt__(self, other: RouteCandidate) -> bool:
        return self.rank < other.rank


def choose(
    me: str,
    claims: Sequence[Claim],
    view: NodesView,
    visited: Collection[str],
    of: Hashable,
    domain: str,
    together: Together = NOBODY,
) -> Decision:
    """Return the decision on a message for one master, or for every master in `together`.

    `claims` are the claims of this node and other nodes on the message.
    """
    mine = min((c for c in claims if c.node == me), key=lambda c: c.stratum, default=None)
    if mine is not None and mine.stratum == 0:
        return here(f"{mine.by}, stratum 0: master")
    closer = [c for c in claims if c.node != me and (mine is None or c.stratum < mine.stratum)]
    known = [c for c in closer if view.is_known(c.node)]
    if not known:
        return _unknown(claims, closer, together.nodes)
    new = [c for c in known if c.node not in visited]
    if not new:
        return circle(me, known[0].node, visited)
    return _best(new, mine.refid if mine is not None else "", view, of, domain, together)


def divide(
    me: str,
    claims: Sequence[Claim],
    view: NodesView,
    visited: Collection[str],
    of: Hashable,
    domain: str,
    is_copy: bool,
) -> Decision:
    """Return the decision on a message that every master receives.

    With `is_copy`, the sender has already sent a copy to each master.
    """
    masters = masters_of(claims)
    if me in masters:
        others = tuple(n for n in masters if n != me and n not in visited and not is_copy)
        why = f"{claims[0].by}, stratum 0: master" + (f", with {', '.join(others)}" if others else "")
        return here(why, others, is_shared=len(masters) > 1)
    new = tuple(node for node in masters if node not in visited)
    # While a master is unreachable, another route may still lead to all.
    return choose(me, claims, view, visited, of, domain, Together(new, BEHIND) if len(new) > 1 else NOBODY)


def if_enough(me: str, claims: Iterable[Claim], view: NodesView, decision: Decision) -> Decision:
    """Return the decision that this node is the master, or to wait while it reaches too few nodes."""
    least = max((claim.min_nodes for claim in claims if claim.node == me), default=1)
    alive = view.count_alive() if least > 1 else 1
    if alive >= least:
        return decision
    return wait(f"{decision.why}, but {alive:,} of at least {least:,} nodes are reachable")


def stand_in(
    me: str,
    claims: Sequence[Claim],
    view: NodesView,
    visited: Collection[str],
    of: Hashable,
    domain: str,
    is_copy: bool,
) -> Decision:
    """Return the decision of `divide` if some claims are those of backups."""
    counted, masters = counting(me, claims, view)
    decision = divide(me, counted, view, visited, of, domain, is_copy)
    if not masters:
        return decision
    why = f"{counted[0].by}, because {', '.join(masters)} cannot be reached"
    return replace(decision, why=why, stands_for=masters if decision.kind is Kind.HERE else ())


def circle(me: str, node: str, visited: Collection[str]) -> Decision:
    """Return the refusal of a message that would return to a node that it has passed."""
    path = " -> ".join((*visited, *(() if me in visited else (me,)), node))
    return refuse(f"routing loop: {path}", node, "CIRCULAR_LOOP")


def parents_of(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return the nodes that the rules name as parents."""
    return tuple(dict.fromkeys(claim.refid for claim in claims if claim.refid))


def _best(
    claims: Sequence[Claim], parent: str, view: NodesView, of: Hashable, domain: str, together: Together
) -> Decision:
    """Return the decision for the best route. Among equally good next hops the view chooses."""
    ways = [
        RouteCandidate(c.node, (_standing(c.node, view, together), c.node != parent, c.stratum))
        for c in claims
    ]
    best = min(ways)
    standing, _, stratum = best.rank
    goes = wait if standing == AWAY else forward
    why = f"{claims[0].by}, stratum {stratum}"
    if best.node in together.nodes:
        first = next(filter(view.is_alive, together.nodes), together.nodes[0])
        return goes(why, first, together.nodes, to_master=True)
    nodes = list(dict.fromkeys(way.node for way in ways if way.rank == best.rank))
    node = best.node if len(nodes) == 1 else view.choose(nodes, of, domain)
    return goes(why, node, to_master=stratum == 0)


def _standing(node: str, view: NodesView, together: Together) -> int:
    if node in together.nodes:
        return together.standing(view)
    return ALIVE if view.is_alive(node) else AWAY


def _unknown(claims: Sequence[Claim], closer: Sequence[Claim], together: tuple[str, ...]) -> Decision:
    """Return the decision if rules match, but name no linkable node closer to the master."""
    if closer:
        names = ", ".join(claim.node for claim in closer)
        return wait(f"{names}: unknown here", closer[0].node, together)
    return wait(f"{claims[0].by}: no rule names a node closer to the master")
