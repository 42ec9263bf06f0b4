"""The parent of a slave: chooses another one while the configured parent has no route to the master."""

# Law 1: a slave changes its parent if the present one is dead, or has had no route for PATIENCE s.
# Law 2: the new parent has a route that does not contain the slave. The nearest to the master wins, then the
# quickest by steps of STEP, then the least loaded, then the first by name.
# Law 3: the slave returns to the configured parent when that has had a route for BACK s.
# Law 4: a slave changes its parent at most once in CALM s.

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mesh.mapping.rules import ANY_DOMAIN, Rule
from mesh.mapping.strata import Distance

PATIENCE, BACK, CALM = 5.0, 30.0, 10.0
STEP = 0.005  # s of latency that count as equal
NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node with a usable route to the master, as seen from the slave. `load` is from 0 to 1."""

    node: str
    way: Distance
    load: float

    @property
    def rank(self) -> tuple[int, int, float, str]:
        return self.way.stratum, int(self.way.latency / STEP), self.load, self.node


@dataclass(frozen=True, slots=True)
class Sight:
    """The situation of a slave: its configured parent, the nodes with usable routes, and the dead nodes."""

    configured: str
    candidates: Sequence[Candidate] = ()
    dead: Collection[str] = ()

    def has_route(self, node: str) -> bool:
        return any(candidate.node == node for candidate in self.candidates)


@dataclass(frozen=True, slots=True)
class Parent:
    """The present parent of a slave for one domain.

    `adopted` is "" while the configured parent serves. `lost_since` is the time since when the present parent
    has had no route, `well_since` since when the configured one has had one, each None otherwise.
    """

    configured: str = ""
    adopted: str = ""
    lost_since: float | None = None
    well_since: float | None = None
    changed_at: float = NEVER

    @property
    def node(self) -> str:
        return self.adopted or self.configured


def review_parent(before: Parent, sight: Sight, now: float) -> Parent:
    """Return the parent after a look at the routes."""
    if before.configured != sight.configured:
        before = replace(before, configured=sight.configured, lost_since=None, well_since=None)
    is_well, is_up = sight.has_route(sight.configured), sight.has_route(before.node)
    seen = replace(
        before,
        lost_since=None if is_up else now if before.lost_since is None else before.lost_since,
        well_since=None if not is_well else now if before.well_since is None else before.well_since,
    )
    if now - seen.changed_at < CALM:
        return seen
    if seen.adopted and seen.well_since is not None and now - seen.well_since >= BACK:
        return _changed(seen, "", now)
    is_dead = seen.node in sight.dead
    if seen.lost_since is None or (not is_dead and now - seen.lost_since < PATIENCE):
        return seen
    best = min(sight.candidates, key=lambda candidate: candidate.rank, default=None)
    if best is None:
        return seen
    return _changed(seen, best.node if best.node != seen.configured else "", now)


def _changed(parent: Parent, adopted: str, now: float) -> Parent:
    return replace(parent, adopted=adopted, lost_since=None, changed_at=now)


def usable(me: str, way: Distance, masters: Collection[str], broken: Collection[str], longest: int) -> bool:
    """Return whether a slave may take a reported route: it ends at the only master, by no `broken` node."""
    is_sound = bool(way.way) and me not in way.way and len(way.way) < longest and way.masters == 1
    return is_sound and way.way[-1] in masters and not any(node in broken for node in way.way)


@dataclass(frozen=True, slots=True)
class Adopted:
    """An adopted parent, in place of the configured one. `is_master`: it is the master itself."""

    node: str
    instead: str
    is_master: bool


def with_parents(me: str, rules: Iterable[Rule], parents: Mapping[str, Adopted]) -> tuple[Rule, ...]:
    """Return the rules in which adopted parents replace the configured ones, by domain.

    "*" stands for the domains that no rule names, and for everything else.
    """
    found, added = list[Rule](), dict[str, Rule]()
    for rule in rules:
        parent = parents.get(ANY_DOMAIN)
        if rule.is_rest:
            if parent is not None and rule.node == me:
                rule = replace(
                    rule, refid=parent.node, stratum=1 if parent.is_master else max(rule.stratum, 2)
                )
            found.append(rule)
            continue
        moved = [domain for domain in rule.domains if domain in parents]
        for domain in moved:
            _replace(added, domain, rule, parents[domain])
        left = replace(rule, domains=tuple(domain for domain in rule.domains if domain not in moved))
        if not moved or rule.accept_other_default or (any(left.alternatives()) and not left.is_rest):
            found.append(left)
    return (*found, *added.values())


def _replace(added: dict[str, Rule], domain: str, rule: Rule, parent: Adopted) -> None:
    """Add the rule of the adopted parent for a domain, with the terms of the configured parent."""
    if domain not in added or rule.node == parent.instead:
        added[domain] = replace(
            rule, node=parent.node, stratum=0 if parent.is_master else 1, domains=(domain,), keys=(),
            patterns=(), xpaths=(), filters=(), given=(), refid="", accept_other_default=False,
        )  # fmt: skip
