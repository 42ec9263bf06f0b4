"""The observers of each node: the node itself, and two others in a large mesh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.snapshots.observers import FULL, Observed

uuids = st.sets(st.binary(min_size=16, max_size=16), min_size=1, max_size=20)


def node(number: int) -> bytes:
    return bytes([number]) * 16


def observers(of: bytes, alive: set[bytes]) -> set[bytes]:
    found = set()
    for me in alive:
        observed = Observed(me)
        observed.set_living(alive - {me})
        if observed.covers(of):
            found.add(me)
    return found


def test_a_node_alone_writes_down_all_that_it_hears() -> None:
    observed = Observed(node(1))
    assert observed.covers(node(1)) and observed.covers(node(2))


def test_in_a_small_mesh_everybody_writes_down_everybody() -> None:
    alive = set(map(node, range(FULL)))
    assert observers(node(3), alive) == alive


def test_in_a_larger_one_the_two_that_follow_do_and_itself() -> None:
    alive = set(map(node, range(FULL + 1)))
    assert observers(node(3), alive) == set(map(node, (3, 4, 5)))


@pytest.mark.parametrize(("last", "followers"), [(8, (0, 1)), (7, (8, 0))])
def test_the_ring_has_no_end(last: int, followers: tuple[int, ...]) -> None:
    alive = set(map(node, range(9)))
    assert observers(node(last), alive) == set(map(node, (last, *followers)))


def test_one_that_is_not_known_as_alive_is_observed_by_those_that_would_follow_it() -> None:
    alive = set(map(node, range(0, 100, 10)))
    assert observers(node(35), alive) == {node(40), node(50)}
    assert observers(node(95), alive) == {node(0), node(10)}


def test_whom_it_observes_changes_with_the_mesh() -> None:
    observed = Observed(node(5))
    observed.set_living(map(node, range(20)))
    assert not observed.covers(node(2))
    observed.set_living(node(number) for number in range(20) if number not in (3, 4))
    assert observed.covers(node(2)) and observed.covers(node(1)) and not observed.covers(node(0))
    observed.set_living(map(node, range(4)))
    assert observed.covers(node(0))


@given(uuids)
def test_each_has_itself_and_exactly_two_others(alive: set[bytes]) -> None:
    ring = sorted(alive)
    for at, of in enumerate(ring):
        followers = {ring[(at + step) % len(ring)] for step in (0, 1, 2)}
        assert observers(of, alive) == (alive if len(ring) <= FULL else followers)


@given(uuids, st.binary(min_size=16, max_size=16))
def test_a_stranger_has_two(alive: set[bytes], stranger: bytes) -> None:
    if len(alive) > FULL and stranger not in alive:
        assert len(observers(stranger, alive)) == 2
