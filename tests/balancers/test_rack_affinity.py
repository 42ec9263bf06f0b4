"""Messages stay in the rack, and leave it if no node of the rack is available."""

from dataclasses import replace

import pytest

from mesh.balancers.base import Candidate, NodeInfo
from mesh.balancers.rack_affinity import RackAffinity
from tests.balancers.candidates import chance, named


def placed(**racks: str) -> list[Candidate]:
    return [replace(node, metadata={"rack": racks[node.node]}) for node in named(" ".join(racks))]


def at(rack: str | None, name: str = "rack") -> RackAffinity:
    balancer = RackAffinity(chance(), name)
    balancer.started(NodeInfo("me", metadata={} if rack is None else {"rack": rack}))
    return balancer


def test_those_of_the_same_rack_are_taken_in_turn() -> None:
    among = placed(a="r1", b="r2", c="r1")
    assert at("r1").assign(among, 8) == {"a": 4, "c": 4}
    assert at("r2").order(among)[0] == "b" == at("r2").pick(among)


@pytest.mark.parametrize("rack", ["r3", "", None])
def test_where_nobody_is_in_it_or_it_is_not_known_all_are_taken(rack: str | None) -> None:
    assert at(rack).assign(placed(a="r1", b="r2"), 8) == {"a": 4, "b": 4}


def test_who_says_nothing_is_in_no_rack() -> None:
    assert at("r1").assign([*placed(a="r1"), *named("b")], 8) == {"a": 8}
    assert at(None).assign([*placed(a="r1"), *named("b")], 8) == {"a": 4, "b": 4}


def test_this_node_is_in_its_own_rack_and_another_name_can_say_where() -> None:
    among = [*placed(a="r1"), *named("b c")]
    assert at("r1").assign([*among[:2], replace(among[2], is_here=True)], 8) == {"a": 4, "c": 4}
    assert at("r1", name="zone").assign(placed(a="r1", b="r2"), 8) == {"a": 4, "b": 4}
