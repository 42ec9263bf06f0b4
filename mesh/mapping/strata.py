"""Distance of nodes from the master of a domain, computed from the distances of their next hops."""

# Law 1: a distance is a route: the node itself, its next hop, and so on, the master last. Its stratum is the
# number of hops.
# Law 2: a node never takes a route that contains itself, so nodes cannot wait for each other. A node without
# another route reports that there is none.
# Law 3: of several routes, the one that messages would take (choice.py) counts. Routes that lead nowhere are
# ignored.
# Law 4: a report cannot make a node a master: if the rules name masters, a route must end at one of them.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from mesh.errors import BadName
from mesh.mapping.backups import holders_of
from mesh.mapping.decision import Claim
from mesh.names import node_name
from mesh.wire.limits import HOPS

UNTOLD = "?"  # a node in a route that an older release did not name


@dataclass(frozen=True, slots=True)
class Distance:
    """The route from a node to a master, including both, and its latency in s.

    `masters` is the number of masters and backups that the messages may have, 0 if unknown.
    """

    way: tuple[str, ...] = ()
    latency: float = 0.0
    masters: int = 1

    @property
    def stratum(self) -> int:
        """The number of hops, or -1 without a route."""
        return len(self.way) - 1


NOWHERE = Distance()
# Returns the reported distance of a node with a claim, measured from here; None: not reported yet.
SaidDistance = Callable[[Claim], Distance | None]


def closer(me: str, claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims of possible next hops, the best first. A master has none."""
    mine = min((claim for claim in claims if claim.node == me), key=lambda c: c.stratum, default=None)
    others = [c for c in claims if c.node != me and (mine is None or c.stratum < mine.stratum)]
    return sorted(others, key=lambda c: _rank(c, mine.refid if mine is not None else ""))


def _rank(claim: Claim, parent: str) -> tuple[bool, int]:
    return claim.node != parent, claim.stratum


def measured(me: str, claims: Sequence[Claim], is_open: bool, said: SaidDistance) -> Distance | None:
    """Return the distance of this node, or None if it is not known yet.

    With `is_open`, this node is the master where no rule makes a claim.
    """
    if not claims:
        return Distance((me,)) if is_open else NOWHERE
    mine = min((claim for claim in claims if claim.node == me), key=lambda c: c.stratum, default=None)
    if mine is not None and mine.stratum == 0:
        return Distance((me,), masters=len(holders_of(claims)))
    parent = mine.refid if mine is not None else ""
    told = [(claim, said(claim)) for claim in closer(me, claims)]
    ways = [(claim, way) for claim, way in told if way is not None and is_way(me, way, claims)]
    if ways:
        _, best = min(ways, key=lambda it: (_rank(it[0], parent), it[1].stratum, it[0].node))
        return Distance((me, *best.way), best.latency, max(best.masters, len(holders_of(claims))))
    return None if any(way is None for _, way in told) else NOWHERE


def is_way(me: str, said: Distance, claims: Iterable[Claim]) -> bool:
    """Return whether the node may use a route that another node has reported."""
    if not said.way or me in said.way or len(said.way) >= HOPS:
        return False
    masters = holders_of(claims)
    return not masters or said.way[-1] in (*masters, UNTOLD)


def by_rules(claim: Claim, latency: float) -> Distance:
    """Return the distance that the rules give for a node that reports none."""
    return Distance((claim.node, *[UNTOLD] * min(claim.stratum, HOPS)), latency, masters=0)


def heard(node: str, way: Sequence[str], latency: float, masters: int = 0) -> Distance | None:
    """Return the distance that a node reports, or None if it is invalid. An empty route gives NOWHERE."""
    if not way:
        return NOWHERE
    if not 0.0 <= latency < inf:
        return None
    named = [name for name in way if name != UNTOLD]
    if way[0] != node or len(way) > HOPS or len({*named}) < len(named):
        return None
    try:
        list(map(node_name, named))
    except BadName:
        return None
    return Distance(tuple(way), latency, masters)


def is_news(said: Distance | None, now: Distance, is_late: bool) -> bool:
    """Return whether the distance `now` must be reported, if `said` was the last report.

    A change of the latency alone is reported only if it is large enough, and only with `is_late`, when the
    last report is old.
    """
    if said is None or (said.way, said.masters) != (now.way, now.masters):
        return True
    change = abs(now.latency - said.latency)
    return is_late and change > max(NOTICED, said.latency / 4)


NOTICED = 0.0002  # s of latency change that is never reported


class Damping:
    """The limit on how often a changed route is reported, for each domain.

    The more often the route changes, the longer is the pause between two reports.
    """

    LEAST, MOST, CALM = 0.1, 30.0, 60.0  # s of shortest and longest pause, and until reset

    def __init__(self) -> None:
        self._told: dict[str, tuple[float, float]] = {}  # domain: last report, pause after it

    def allowed_at(self, domain: str) -> float:
        """Return when the next report is allowed."""
        at, pause = self._told.get(domain, (0.0, 0.0))
        return at + pause

    def mark_sent(self, domain: str, now: float) -> None:
        at, pause = self._told.get(domain, (-self.CALM, 0.0))
        is_calm = now - at >= self.CALM
        self._told[domain] = now, self.LEAST if is_calm else min(2 * pause, self.MOST)

    def keep_domains(self, domains: Iterable[str]) -> None:
        self._told = {domain: self._told[domain] for domain in domains if domain in self._told}
