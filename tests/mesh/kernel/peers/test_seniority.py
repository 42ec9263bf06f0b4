"""The rule by which one of two processes continues, as both apply it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.peers.seniority import is_senior, process_of
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode

PROCESSES = st.builds(process_of, st.binary(min_size=16, max_size=16), st.integers(0, 2**63 - 1))


@given(PROCESSES, PROCESSES)
def test_of_two_exactly_one_goes_on_and_both_know_which(one: bytes, other: bytes) -> None:
    assert len(one) == 16
    assert one == other or is_senior(one, other) is not is_senior(other, one)


def test_whoever_was_started_first_is_the_senior() -> None:
    assert is_senior(process_of(b"z" * 16, 255), process_of(b"a" * 16, 256))


def test_of_a_release_that_does_not_say_its_start_nobody_is_the_senior() -> None:
    drawn = b"0123456789abcdef"
    assert is_senior(process_of(drawn, 5), drawn) is None and is_senior(drawn, process_of(drawn, 5)) is None
    assert is_senior(b"", process_of(drawn, 5)) is None


# --- two machines of one name ------------------------------------------------------------------------------


def ended(*nodes: SimNode) -> list[str]:
    return [node.stop.code if node.stop is not None else "" for node in nodes]


@pytest.mark.parametrize("seed", scenarios(range(12), 4))
@pytest.mark.parametrize("apart", [0.0, 0.01, 2.0, 20.0])
def test_of_two_young_nodes_of_one_name_that_dial_each_other_the_later_one_stops(
    seed: int, apart: float
) -> None:
    net = SimNetwork(seed)
    first = net.node("a")
    net.run(apart)
    second = SimNode(net, "a", (), {})
    first._seeds, second._seeds = (second.address,), (first.address,)
    first.core.parts.neighbours.acquaintances.add(second.address)
    second.start()
    net.run(10)
    assert sorted(ended(first, second)) == ["", "NAME_IN_USE"]
    assert ended(first, second)[0] == "" or not apart


@pytest.mark.parametrize("seed", scenarios(range(12), 4))
@pytest.mark.parametrize("apart", [0.0, 0.01, 2.0])
def test_of_three_young_nodes_of_one_name_exactly_one_goes_on(seed: int, apart: float) -> None:
    net = SimNetwork(seed)
    twins = [net.node("a")]
    for _ in range(2):
        net.run(apart)
        twins.append(SimNode(net, "a", (), {}))
    addresses = [twin.address for twin in twins]
    for twin in twins:
        twin._seeds = tuple(address for address in addresses if address != twin.address)
    for address in twins[0]._seeds:
        twins[0].core.parts.neighbours.acquaintances.add(address)
    for twin in twins[1:]:
        twin.start()
    net.run(30)
    assert sorted(ended(*twins)) == ["", "NAME_IN_USE", "NAME_IN_USE"]


def test_a_node_that_is_not_young_never_gives_way_whatever_the_clock_of_the_newcomer_says() -> None:
    net = SimNetwork()
    first = net.node("a")
    net.run(40)
    second = SimNode(net, "a", (), {})
    second._seeds = (first.address,)
    second.start()
    second.core.parts.context.process = process_of(b"x" * 16, 1)
    net.run(10)
    assert ended(first, second) == ["", "NAME_IN_USE"]
