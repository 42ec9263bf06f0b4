"""The choice of gossip sources: all nodes in a small mesh, a few in a large one, which together reach all."""

from collections import Counter
from random import Random

import pytest

from mesh.discovery.listening import FAVOURITES, FULL, RINGS, Listening

LARGE = (FULL + 1, 34, 64, 100, pytest.param(1000, marks=pytest.mark.slow))


def uuids(count: int, seed: int = 1) -> list[bytes]:
    rng = Random(seed)
    return [rng.randbytes(16) for _ in range(count)]


def graph(nodes: list[bytes]) -> dict[bytes, set[bytes]]:
    """Return the sources of each node."""
    return {node: Listening(node).choose_nodes(nodes, ()) for node in nodes}


def hops(heard: dict[bytes, set[bytes]], origin: bytes) -> dict[bytes, int]:
    """Return the distance of each reachable node from `origin`, along the gossip sources."""
    reached, front = {origin: 0}, [origin]
    listeners: dict[bytes, set[bytes]] = {node: set() for node in heard}
    for node, sources in heard.items():
        for source in sources:
            listeners[source].add(node)
    for node in front:
        new = listeners[node] - reached.keys()
        reached.update(dict.fromkeys(new, reached[node] + 1))
        front += new
    return reached


@pytest.mark.parametrize("count", [1, 2, 3, FULL])
def test_in_a_small_mesh_everybody_hears_everybody_else(count: int) -> None:
    nodes = uuids(count)
    assert graph(nodes) == {node: set(nodes) - {node} for node in nodes}


@pytest.mark.parametrize("count", LARGE)
def test_in_a_large_mesh_few_are_heard_and_nobody_has_more_listeners_than_another(count: int) -> None:
    heard = graph(uuids(count))
    listeners = Counter(source for sources in heard.values() for source in sources)
    assert {len(sources) for sources in heard.values()} <= set(range(2, 2 * RINGS + 1))
    # Listening is mutual, so each node has as many listeners as sources.
    assert listeners == {node: len(sources) for node, sources in heard.items()}
    assert all(node in heard[source] for node, sources in heard.items() for source in sources)


@pytest.mark.parametrize("count", LARGE)
def test_in_a_large_mesh_each_reaches_all_in_a_few_hops(count: int) -> None:
    nodes = uuids(count, seed=0)
    heard = graph(nodes)
    reached = hops(heard, nodes[0])
    assert reached.keys() == heard.keys()
    assert max(reached.values()) <= 7


@pytest.mark.slow  # for its length
def test_all_are_reached_while_one_in_ten_is_dead_and_not_yet_missed() -> None:
    nodes = uuids(1000)
    dead = set(nodes[500:600])
    heard = {node: sources - dead for node, sources in graph(nodes).items() if node not in dead}
    assert hops(heard, nodes[0]).keys() == heard.keys()


def test_the_choice_is_stable_and_a_newcomer_changes_only_its_neighbours() -> None:
    nodes = uuids(60)
    before = graph(nodes)
    assert graph(nodes[::-1]) == before
    newcomer = b"newcomer's uuid."
    after = graph([*nodes, newcomer])
    changed = {node for node in nodes if after[node] != before[node]}
    assert changed <= after[newcomer]
    assert all(len(after[node] - before[node] - {newcomer}) == 0 for node in nodes)


def test_favourites_are_heard_where_they_are_alive_and_not_too_many() -> None:
    nodes = uuids(300)
    me, loved, stranger = nodes[0], nodes[100:110], bytes(16)
    listening = Listening(me)
    plain = listening.choose_nodes(nodes, ())
    assert listening.choose_nodes(nodes, [*loved, stranger, me]) == plain | set(loved)
    many = listening.choose_nodes(nodes, nodes)
    assert len(many) <= FAVOURITES + 2 * RINGS
    assert listening.choose_nodes(nodes, nodes[::-1]) == many
    assert Listening(nodes[1]).choose_nodes(nodes, nodes) != many
