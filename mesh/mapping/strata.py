"""How far is a node from the master of a domain, and by whom? As far as those say whom it would ask."""

# Law 1: a distance is a way: the node itself, whom it asks, and so on, the master last. Its stratum is the
#        number of hops.
# Law 2: nobody takes a way that has himself in it. So nobody waits for one who waits for him: who hears of
#        no other way says that there is none.
# Law 3: of several ways that which messages would take (choice.py), but for those that lead nowhere.
# Law 4: no word of others makes a master: a way has to end at one that the rules name, if they name any.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from mesh.errors import BadName
from mesh.mapping.backups import holders_of
from mesh.mapping.decision import Claim
from mesh.names import node_name
from mesh.wire.limits import HOPS

UNTOLD = "?"  # in a way: a node of which one of an older release has not said which it is


@dataclass(frozen=True, slots=True)
class Distance:
    """The way from a node to a master, with both, and how long a message would be under way (s)."""

    way: tuple[str, ...] = ()
    latency: float = 0.0

    @property
    def stratum(self) -> int:
        """-1: there is no way."""
        return len(self.way) - 1


NOWHERE = Distance()
SaidDistance = Callable[
    [Claim], Distance | None
]  # of a node with a claim, from here; None: it is yet to say so


def closer(me: str, claims: Sequence[Claim]) -> list[Claim]:
    """The claims of those whom this node may ask, the best first; nobody's, if it is a master."""
    mine = min((claim for claim in claims if claim.node == me), key=lambda c: c.stratum, default=None)
    others = [c for c in claims if c.node != me and (mine is None or c.stratum < mine.stratum)]
    return sorted(others, key=lambda c: _rank(c, mine.refid if mine is not None else ""))


def _rank(claim: Claim, parent: str) -> tuple[bool, int]:
    return claim.node != parent, claim.stratum


def measured(me: str, claims: Sequence[Claim], is_open: bool, said: SaidDistance) -> Distance | None:
    """The distance of this node; None: it is not known yet. `is_open`: without a claim it is the master."""
    if not claims:
        return Distance((me,)) if is_open else NOWHERE
    mine = min((claim for claim in claims if claim.node == me), key=lambda c: c.stratum, default=None)
    if mine is not None and mine.stratum == 0:
        return Distance((me,))
    parent = mine.refid if mine is not None else ""
    told = [(claim, said(claim)) for claim in closer(me, claims)]
    ways = [(claim, way) for claim, way in told if way is not None and is_way(me, way, claims)]
    if ways:
        _, best = min(ways, key=lambda it: (_rank(it[0], parent), it[1].stratum, it[0].node))
        return Distance((me, *best.way), best.latency)
    return None if any(way is None for _, way in told) else NOWHERE


def is_way(me: str, said: Distance, claims: Iterable[Claim]) -> bool:
    """May a node go by what another has said of its way?"""
    if not said.way or me in said.way or len(said.way) >= HOPS:
        return False
    masters = holders_of(claims)
    return not masters or said.way[-1] in (*masters, UNTOLD)


def by_rules(claim: Claim, latency: float) -> Distance:
    """The distance of a node that says none, as the rules have it."""
    return Distance((claim.node, *[UNTOLD] * min(claim.stratum, HOPS)), latency)


def heard(node: str, way: Sequence[str], latency: float) -> Distance | None:
    """What a node says of its own way; None for what cannot be one."""
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
    return Distance(tuple(way), latency)


def is_news(said: Distance | None, now: Distance, is_late: bool) -> bool:
    """Is it worth telling to those who were told that? `is_late`: it was long ago."""
    if said is None or said.way != now.way:
        return True
    change = abs(now.latency - said.latency)
    return is_late and change > max(NOTICED, said.latency / 4)


NOTICED = 0.0002  # s of latency of which nobody is told


class Damping:
    """When may others be told of a domain again? The more often its way changes, the later."""

    LEAST, MOST, CALM = 0.1, 30.0, 60.0  # s between two changes; and without one until all is forgotten

    def __init__(self) -> None:
        self._told: dict[str, tuple[float, float]] = {}  # when last, and how long nothing is told after it

    def due(self, domain: str) -> float:
        """From when on."""
        at, pause = self._told.get(domain, (0.0, 0.0))
        return at + pause

    def told(self, domain: str, now: float) -> None:
        """They are told now."""
        at, pause = self._told.get(domain, (-self.CALM, 0.0))
        is_calm = now - at >= self.CALM
        self._told[domain] = now, self.LEAST if is_calm else min(2 * pause, self.MOST)

    def keep(self, domains: Iterable[str]) -> None:
        """Of others nothing is told any more."""
        self._told = {domain: self._told[domain] for domain in domains if domain in self._told}
