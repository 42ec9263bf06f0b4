"""Drawn rules lead every message to its masters, from any node."""

from collections.abc import Hashable, Sequence
from random import Random

import pytest

from mesh.mapping.decision import Kind
from mesh.mapping.mapping import Mapping
from tools.simulator.casts import TOPICS, drawn
from tools.simulator.grammar import STRATA


class Everybody:
    """A view of the mesh in which all nodes are known and alive."""

    def is_known(self, node: str) -> bool:
        return True

    is_alive = is_known

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
