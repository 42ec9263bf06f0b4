"""Gossip among 3 to 500 nodes: all nodes learn all states soon, and the cost of a node stays bounded."""

import gc
from collections.abc import Iterator, Sized
from functools import lru_cache
from random import Random

import pytest

from mesh.discovery.gossip import FULL, StateGossip, StateMessage
from mesh.discovery.state import decode
from tools.models.gossip_mesh import INTERVAL, GossipMesh, boots, line, state

pytestmark = pytest.mark.slow  # for its length

USUAL = 264  # bytes of a message with one line
HOPS = 6  # intervals until a state crosses a large mesh


def rounds_until_all_know_all(mesh: GossipMesh, limit: int) -> int:
    for count in range(1, limit + 1):
        mesh.round()
        if all(map(mesh.knows_all, mesh.nodes.values())):
            return count
    lacking = sum(not mesh.knows_all(node) for node in mesh.nodes.values())
    raise AssertionError(f"after {limit} intervals {lacking} nodes do not know all")


@pytest.fixture
def shared_states(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Share decoded states among the nodes of a simulation, and turn the garbage collector off.

    Hundreds of nodes hold many objects without reference cycles, so collections only cost time.
    """
    monkeypatch.setattr("mesh.discovery.gossip.decode_state", lru_cache(100_000)(decode))
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("count", [3, FULL])
def test_in_a_small_mesh_all_know_all_at_once_and_nothing_is_older_than_an_interval(count: int) -> None:
    mesh = GossipMesh(count)
    assert rounds_until_all_know_all(mesh, 1) == 1
    mesh.round(3)
    assert max(max(mesh.ages(node)) for node in mesh.nodes.values()) <= 1
    assert max(mesh.sent) < USUAL


@pytest.mark.usefixtures("shared_states")
@pytest.mark.parametrize("count", [FULL + 1, 100, 250])
def test_in_a_large_mesh_no_state_is_older_than_its_share_of_the_intervals_and_a_few_hops(count: int) -> None:
    mesh = GossipMesh(count)
    rounds_until_all_know_all(mesh, count // FULL + HOPS)
    mesh.round(2 * count // FULL)
    for _ in range(3):
        mesh.round()
        assert max(max(mesh.ages(node)) for node in mesh.nodes.values()) <= count / FULL + HOPS


@pytest.mark.usefixtures("shared_states")
def test_bytes_of_a_node_do_not_grow_with_the_mesh() -> None:
    said: dict[int, int] = {}
    carried: dict[int, float] = {}
    for count in (FULL + 1, 80, 240):
        mesh = GossipMesh(count)
        mesh.round(count // FULL + 12)
        totals = []
        for _ in range(4):
            mesh.round()
            totals.append(mesh.delivered / count)
            said[count] = max(said.get(count, 0), *mesh.sent)
        carried[count] = sum(totals) / len(totals)
    assert max(carried.values()) < 1.4 * min(carried.values())
    assert max(said.values()) < 50 * USUAL


@pytest.mark.usefixtures("shared_states")
def test_five_hundred_nodes_that_start_at_once_all_know_all_after_their_share_of_the_intervals() -> None:
    mesh = GossipMesh(500)
    for _ in range(500 // FULL + HOPS):
        mesh.round()
        assert max(mesh.sent) < 60 * USUAL
    assert all(map(mesh.knows_all, mesh.nodes.values()))
    assert max(max(mesh.ages(node)) for node in mesh.nodes.values()) <= 500 / FULL + HOPS
    assert sum(node.gossip.forged + node.gossip.strange for node in mesh.nodes.values()) == 0


@pytest.mark.usefixtures("shared_states")
def test_a_newcomer_to_a_large_mesh_knows_all_before_those_afar_have_spoken_to_it() -> None:
    mesh = GossipMesh(400)
    mesh.tell_all()
    [newcomer] = mesh.join([b"newcomer's uuid."])
    intervals = 0
    while not mesh.knows_all(newcomer):
        mesh.round()
        intervals += 1
        assert intervals < 0.8 * 400 / FULL


@pytest.mark.parametrize("seed", range(2))
def test_one_message_in_ten_lost_delays_little_and_loses_nothing(seed: int) -> None:
    mesh = GossipMesh(100, seed, loss=0.1)
    rounds_until_all_know_all(mesh, 2 * (100 // FULL + HOPS))
    mesh.round(2 * 100 // FULL)
    assert max(max(mesh.ages(node)) for node in mesh.nodes.values()) <= 2 * (100 / FULL + HOPS)


def test_the_state_of_a_dead_node_disappears_and_never_comes_back() -> None:
    mesh = GossipMesh(80)
    rounds_until_all_know_all(mesh, 20)
    victim = next(iter(mesh.nodes))
    mesh.kill(victim)
    for _ in range(20):
        assert not any(victim in node.gossip.known for node in mesh.nodes.values())
        mesh.round()


def test_it_disappears_even_where_the_news_of_the_death_got_lost() -> None:
    mesh = GossipMesh(80)
    rounds_until_all_know_all(mesh, 20)
    victim, unaware = list(mesh.nodes)[:2]
    mesh.kill(victim, unaware)
    mesh.round()
    assert victim in mesh.nodes[unaware].gossip.known
    mesh.round(3 + 2 * 80 // FULL + HOPS)
    for _ in range(5):
        mesh.round()
        assert not any(victim in node.gossip.known for node in mesh.nodes.values())


def test_a_node_that_restarts_is_known_in_its_new_boot_only() -> None:
    mesh = GossipMesh(80)
    rounds_until_all_know_all(mesh, 20)
    victim = next(iter(mesh.nodes))
    mesh.kill(victim)
    mesh.join([victim], boot=2)
    rounds_until_all_know_all(mesh, 20)
    others = [node.gossip for uuid, node in mesh.nodes.items() if uuid != victim]
    assert {gossip.known[victim].state.boot for gossip in others} == {2}


def rows_held(count: int) -> int:
    """Return how many rows a node holds that knows `count` others and hands their states on."""
    rng = Random(count)
    uuids = [rng.randbytes(16) for _ in range(count)]
    alive = boots(*uuids)
    gossip = StateGossip(b"me, and no other", rng.random, INTERVAL)
    gossip.own(line(state(b"me, and no other")))
    for counter in range(1, 4):
        gossip.outgoing(count, 0.0)
        gossip.listen_to(uuids, (), 0.0)
        for uuid in uuids:
            gossip.heard(StateMessage(uuid, 1, counter, (line(state(uuid, 1, counter)),)), alive, 0.0)
    parts = (gossip, gossip._relay, gossip._listening)
    return sum(len(value) for part in parts for value in vars(part).values() if isinstance(value, Sized))


def test_what_is_held_grows_with_the_nodes_that_are_known_and_no_faster() -> None:
    small, large = rows_held(500), rows_held(1000)
    assert small < 10 * 500
    assert large < 2.2 * small
