"""Drawn rules lead every message to its masters, from any node."""

from collections.abc import Hashable, Sequence
from random import Random

import pytest

from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from tools.simulator.casts import TOPICS, drawn
from tools.simulator.grammar import STRATA


class Everybody:
    """A view of the mesh in which all nodes are known and alive."""

    def is_known(self, node: str) -> bool:
        return True

    is_alive = is_known

    def count_alive(self) -> int:
        return 1

    def is_settled(self) -> bool:
        return True

    def way_to(self, node: str) -> None:
        return None

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        return Random(repr(of)).choice(list(nodes))


@pytest.mark.parametrize("kind", ["drawn", "free"])
def test_every_message_comes_to_its_masters_by_ever_lower_strata(kind: str) -> None:
    strata, keys, several = set[int](), 0, 0
    for seed in range(60):
        cast = drawn(Random(seed), kind)
        maps = {name: Mapping(name, cast.files[name], "local") for name in cast.nodes}
        keys, several = keys + len(cast.keys), several + any(len(m) > 1 for m in cast.masters.values())
        for start in cast.nodes:
            for domain, key in [(domain, key) for domain in cast.domains for key in TOPICS]:
                at, visited = start, list[str]()
                while True:
                    decision = maps[at].decide(key, domain, Everybody(), visited, "s")
                    visited.append(at)
                    if decision.kind is Kind.HERE or decision.copies:
                        break
                    assert decision.kind is Kind.FORWARD, decision.why
                    at = decision.node
                reached = {*decision.copies, *([at] if decision.kind is Kind.HERE else [])}
                assert reached == set(cast.masters_of(domain, key)), (seed, start, domain, key)
                strata.add(len(visited) - (decision.kind is Kind.HERE))
    assert max(strata) >= STRATA - 2 and several
    assert bool(keys) == (kind == "free")


def decided(mapping: Mapping, domain: str, visited: list[str]) -> Decision:
    return mapping.decide("a", domain, Everybody(), visited[:-1], "s")


def test_every_message_comes_to_the_root_of_a_tree() -> None:
    depths = set[int]()
    for seed in range(60):
        cast = drawn(Random(seed), "tree")
        maps = {name: Mapping(name, cast.files[name], "local") for name in cast.nodes}
        for start in cast.nodes:
            visited = [start]
            while (step := decided(maps[visited[-1]], cast.domains[0], visited)).kind is Kind.FORWARD:
                visited.append(step.node)
            assert visited[-1] == cast.nodes[0]
            depths.add(len(visited))
    assert depths >= {1, 2, 3, 4}
