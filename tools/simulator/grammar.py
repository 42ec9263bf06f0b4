"""Random routing rules: keys, domains, `*`, several masters, and several routes.

Each territory (a domain, any other domain, or a key) has masters; each other node has a stratum and routes.
All files name the same masters, and routes only lead to lower strata, so each message has one correct place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from mesh.mapping.rules import ANY_DOMAIN, Rule

STRATA = 5  # maximum, including the masters
Rules = dict[str, tuple[Rule, ...]]  # by node


@dataclass(frozen=True, slots=True)
class Territory:
    """The domains and keys of the same masters.

    `strata` has the stratum of each node.
    """

    domains: tuple[str, ...]
    keys: tuple[str, ...]
    strata: dict[str, int]

    @property
    def masters(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, stratum in self.strata.items() if stratum == 0))

    def rule(self, node: str, refid: str = "") -> Rule:
        return Rule(node, self.strata[node], self.domains, self.keys, refid)

    def rules(self, node: str, dice: Random) -> Iterator[Rule]:
        """Yield the rules of the territory for the file of `node`."""
        stratum = self.strata[node]
        if stratum <= 1:  # a master, or next to one
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
    """Yield territories: each domain by name or as `*`.

    With `is_free` there are territories for keys, too, so that one pattern may have several routes.
    """
    named = domains if dice.random() < 0.5 else domains[: dice.randrange(len(domains))]
    for domain in named:
        yield Territory((domain,), (), _strata(dice, nodes))
    if len(named) < len(domains):
        yield Territory((ANY_DOMAIN,), (), _strata(dice, nodes))
    for key in dice.sample(keys, dice.choice([0, 1, 1, 2]) if is_free else 0):
        yield Territory((), (key,), _strata(dice, nodes))


def tree(dice: Random, nodes: tuple[str, ...], domain: str) -> Rules:
    """Draw a tree of slaves below the first node: each file names the parent of its node alone."""
    depth = {nodes[0]: 0}
    files: Rules = {nodes[0]: (Rule(nodes[0], domains=(domain,)),)}
    for node in nodes[1:]:
        parent = dice.choice([*depth])
        depth[node] = depth[parent] + 1
        mine = (Rule(node, depth[node], (domain,), refid=parent),) if dice.random() < 0.5 else ()
        files[node] = (*mine, Rule(parent, depth[parent], (domain,)))
    return files


def _strata(dice: Random, nodes: tuple[str, ...]) -> dict[str, int]:
    masters = dice.choice([1, 1, 1, 2, 2, 3])
    order, stratum, strata = dice.sample(nodes, len(nodes)), 1, dict[str, int]()
    for place, name in enumerate(order):
        if place > masters and stratum < STRATA - 1 and dice.random() < 0.5:
            stratum += 1
        strata[name] = stratum if place >= masters else 0
    return {name: strata[name] for name in nodes}


def rules_of(dice: Random, nodes: tuple[str, ...], found: list[Territory]) -> Rules:
    return {node: tuple(rule for t in found for rule in t.rules(node, dice)) for node in nodes}
