"""Which rules can there be? Meshes whose rules are drawn: keys, domains, `*`, several masters, several ways.

Every territory (a domain, any other domain, or a key) has its masters, and every other node a stratum and its
ways there. Each file tells the same masters, and ways only go down, so that each message has one right place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from mesh.mapping.rules import ANY_DOMAIN, Rule

STRATA = 5  # at most, with that of the masters
Rules = dict[str, tuple[Rule, ...]]  # of each node


@dataclass(frozen=True, slots=True)
class Territory:
    """Of what the masters are masters; `strata` of all nodes."""

    domains: tuple[str, ...]
    keys: tuple[str, ...]
    strata: dict[str, int]

    @property
    def masters(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, stratum in self.strata.items() if stratum == 0))

    def rule(self, node: str, refid: str = "") -> Rule:
        return Rule(node, self.strata[node], self.domains, self.keys, refid)

    def rules(self, node: str, dice: Random) -> Iterator[Rule]:
        """The rules that a node's file says of it."""
        stratum = self.strata[node]
        if stratum <= 1:  # a master, or next to them
            yield from map(self.rule, self.masters)
        else:
            closer = [name for name, other in self.strata.items() if other == stratum - 1]
            ways = dice.sample(closer, min(len(closer), dice.choice([1, 1, 2, 3])))
            yield from map(self.rule, ways)
            refid = dice.choice([*ways, ""])
            if dice.random() < 0.5:
                yield self.rule(node, refid)
        if stratum == 1 and dice.random() < 0.5:
            yield self.rule(node)


def territories(
    dice: Random, nodes: tuple[str, ...], domains: tuple[str, ...], keys: tuple[str, ...], is_free: bool
) -> Iterator[Territory]:
    """Each domain by its name or as `*`; if `is_free` also keys: then one pattern may have several ways."""
    named = domains if dice.random() < 0.5 else domains[: dice.randrange(len(domains))]
    for domain in named:
        yield Territory((domain,), (), _strata(dice, nodes))
    if len(named) < len(domains):
        yield Territory((ANY_DOMAIN,), (), _strata(dice, nodes))
    for key in dice.sample(keys, dice.choice([0, 1, 1, 2]) if is_free else 0):
        yield Territory((), (key,), _strata(dice, nodes))


def _strata(dice: Random, nodes: tuple[str, ...]) -> dict[str, int]:
    masters = dice.choice([1, 1, 1, 2, 2, 3])
    order, stratum, strata = dice.sample(nodes, len(nodes)), 1, dict[str, int]()
    for place, name in enumerate(order):
        if place > masters and stratum < STRATA - 1 and dice.random() < 0.5:
            stratum += 1
        strata[name] = stratum if place >= masters else 0
    return {name: strata[name] for name in nodes}


def rules_of(dice: Random, nodes: tuple[str, ...], found: list[Territory]) -> Rules:
    """The file of each node."""
    return {node: tuple(rule for t in found for rule in t.rules(node, dice)) for node in nodes}
