"""Many memberships together: nodes that meet, die, are partitioned, and come back."""

import gc
from collections.abc import Iterator

import pytest

from mesh.discovery.member import Dead, Joined, MemberEvent, Restarted, Suspected, SuspicionRefuted
from tests.seeds import scenarios
from tools.models.swim_network import SwimNetwork
from tools.models.swim_node import SwimNode
from tools.models.swim_wires import subject


def together(
    size: int, seed: int = 0, loss: float = 0.0, is_tcp: bool = True, has_hints: bool = False
) -> tuple[SwimNetwork, list[SwimNode]]:
    """Return a network and its nodes, a few seconds after they met."""
    net = SwimNetwork(seed, loss=loss, is_tcp=is_tcp, has_hints=has_hints)
    nodes = net.together(size)
    net.run(3.0 + net.random.random() * 3.0)
    return net, nodes


def about(net: SwimNetwork, name: str) -> dict[str, list[type[MemberEvent]]]:
    """Return the conclusions about a node, by observer."""
    found: dict[str, list[type[MemberEvent]]] = {}
    for h in net.happened:
        if subject(h.event) == name:
            found.setdefault(h.observer, []).append(type(h.event))
    return found


# --- meeting -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 10, 32])
def test_one_seed_is_enough_for_all_to_meet(size: int) -> None:
    net = SwimNetwork(size)
    net.start("n0")
    for i in range(1, size):
        net.start(f"n{i}", seeds=["n0"])
    assert net.until(net.are_complete, 2.0) <= 2.0


@pytest.mark.parametrize("size", scenarios([33, 60]))
def test_one_seed_is_enough_for_many_too(size: int) -> None:
    net = SwimNetwork(size)
    net.start("n0")
    for i in range(1, size):
        net.start(f"n{i}", seeds=["n0"])
        net.run(0.05)
    net.until(net.are_complete, 20.0)


def test_nodes_that_met_stay_quiet() -> None:
    net, nodes = together(10)
    net.run(60.0)
    before = net.packets
    net.run(100.0)
    assert (net.packets - before) / 100.0 / len(nodes) == pytest.approx(2.0, rel=0.02)
    assert net.happened == []


# --- deaths --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "within"),
    [(2, 8.0), (3, 8.0), (4, 10.0), (10, 11.0), (32, 15.0), pytest.param(100, 20.0, marks=pytest.mark.slow)],
)
def test_a_killed_node_is_suspected_and_then_dead_for_each_of_the_others_once(
    size: int, within: float
) -> None:
    for seed in range(max(2, 20 // size)):
        net, nodes = together(size, seed)
        net.kill(nodes[seed % size])
        name = nodes[seed % size].name
        killed = net.now
        net.until(net.are_complete, within)
        net.run(20.0)
        concluded = about(net, name)
        assert len(concluded) == size - 1
        for kinds in concluded.values():
            assert [kind for kind in kinds if kind is not Suspected] == [Dead]
            assert kinds[-1] is Dead
        assert all(at - killed >= 4.0 for at in net.times(Dead, name))
        assert {subject(h.event) for h in net.happened} == {name}


@pytest.mark.parametrize("size", [2, 3, 10, 32])
def test_with_the_hint_of_a_broken_connection_it_is_dead_within_a_second_and_a_half(size: int) -> None:
    net, nodes = together(size, has_hints=True)
    net.kill(nodes[0])
    net.until(net.are_complete, 1.5)
    assert {subject(h.event) for h in net.happened} == {"n0"}


def test_several_that_die_at_once_are_all_missed_and_nobody_else() -> None:
    net, nodes = together(10)
    for node in nodes[:4]:
        net.kill(node)
    net.until(net.are_complete, 30.0)
    assert {subject(h.event) for h in net.happened if isinstance(h.event, Dead)} == {"n0", "n1", "n2", "n3"}


# --- no false deaths -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", scenarios([10, 2, 3, 40]))
def test_lost_packets_kill_nobody(size: int) -> None:
    net, _ = together(size, loss=0.05)
    net.run(6_000.0 / size)
    assert [h for h in net.happened if isinstance(h.event, Dead)] == []


@pytest.mark.parametrize("size", scenarios([10, 3]))
def test_lost_datagrams_make_suspects_and_kill_nobody(size: int) -> None:
    net, _ = together(size, loss=0.1, is_tcp=False)
    net.run(3_000.0 / size)
    assert [h for h in net.happened if isinstance(h.event, Suspected)] != []
    assert [h for h in net.happened if isinstance(h.event, Dead)] == []


def test_who_pauses_for_a_moment_is_suspected_denies_it_and_is_trusted() -> None:
    net, nodes = together(10)
    for _ in range(5):
        net.pause(nodes[0], 3.5)
        net.run(60.0)
    concluded = {kind for kinds in about(net, "n0").values() for kind in kinds}
    assert concluded == {Suspected, SuspicionRefuted}
    assert {subject(h.event) for h in net.happened} == {"n0"}
    assert net.are_complete()


def test_who_is_paused_for_long_is_dead_for_the_others_and_blames_none_of_them_when_it_wakes() -> None:
    net, nodes = together(10)
    net.pause(nodes[0], 60.0)
    net.run(59.0)
    assert all("n0" not in node.alive() for node in nodes[1:])
    net.run(1.1)
    net.until(net.are_complete, 5.0)
    assert [h for h in net.happened if h.observer == "n0" and isinstance(h.event, Suspected | Dead)] == []
    assert nodes[0].members.me.incarnation > 0
    assert nodes[0].members.me.boot == 1


@pytest.mark.parametrize("starved", [1, 4])
def test_starved_nodes_call_none_of_the_healthy_dead(starved: int) -> None:
    net, nodes = together(10)
    for _ in range(60):
        for node in nodes[:starved]:
            if node.paused is None and net.random.random() < 0.5:
                net.pause(node, net.random.random() * 2.0)
        net.run(2.0)
    healthy = {node.name for node in nodes[starved:]}
    assert [h for h in net.happened if isinstance(h.event, Dead) and subject(h.event) in healthy] == []


def test_two_that_cannot_reach_each_other_are_vouched_for_by_the_others() -> None:
    net, _ = together(5)
    net.cuts = {frozenset(("n0", "n1"))}
    net.run(300.0)
    assert [h for h in net.happened if isinstance(h.event, Dead)] == []
    assert net.are_complete()


# --- partitions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", scenarios([10, 4, 32, 40]))
def test_a_partition_heals_without_a_restart(size: int) -> None:
    net, nodes = together(size)
    half = size // 2
    net.part(nodes[:half], nodes[half:])
    net.run(60.0)
    assert nodes[0].alive() == {node.name for node in nodes[:half]}
    assert nodes[-1].alive() == {node.name for node in nodes[half:]}
    net.heal()
    net.until(net.are_complete, 15.0 if size <= 32 else 60.0)
    assert {node.members.me.boot for node in nodes} == {1}
    net.run(60.0)
    assert net.are_complete()


def test_a_mesh_that_starts_in_two_parts_becomes_one() -> None:
    net = SwimNetwork(1)
    net.sides = {f"n{i}": i % 2 for i in range(6)}
    for i in range(6):
        net.start(f"n{i}")
    for node in net.up():
        for other in net.up():
            if other is not node:
                node.act(node.members.sight(other.node, "mdns", net.now))
    net.run(30.0)
    assert [len(node.alive()) for node in net.up()] == [3] * 6
    net.heal()
    net.until(net.are_complete, 5.0)


def test_a_flapping_line_ends_in_one_mesh() -> None:
    net, nodes = together(10)
    for _ in range(30):
        net.part(nodes[:5], nodes[5:])
        net.run(1.0)
        net.heal()
        net.run(1.0)
    net.until(net.are_complete, 15.0)


# --- comings and goings --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 32])
def test_a_goodbye_is_known_everywhere_within_half_a_second(size: int) -> None:
    net, nodes = together(size)
    net.leave(nodes[0])
    net.until(net.are_complete, 0.5)
    net.run(30.0)
    assert net.times(Dead, "n0") == []


def test_a_goodbye_reaches_by_rumour_whom_it_does_not_reach_itself() -> None:
    net, nodes = together(60)
    nodes[0].linked = {node.node.uuid for node in nodes[1:5]}
    net.leave(nodes[0])
    net.until(net.are_complete, 10.0)
    assert net.times(Dead, "n0") == []


def test_who_is_killed_and_started_again_at_once_is_another_boot_everywhere() -> None:
    net, nodes = together(10, has_hints=True)
    net.kill(nodes[0])
    net.start("n0", boot=2, seeds=["n1"])
    net.until(net.are_complete, 3.0)
    net.run(30.0)
    assert {node.of("n0").boot for node in net.up()} == {2}
    assert net.are_complete()
    assert all(Restarted in kinds or Joined in kinds for kinds in about(net, "n0").values())
    assert {subject(h.event) for h in net.happened if h.observer != "n0"} == {"n0"}


# --- a thousand ----------------------------------------------------------------------------------------


@pytest.fixture
def without_garbage_collection() -> Iterator[None]:
    """Turn the garbage collector off, since it would scan a million permanent records again and again."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow  # for its length
def test_four_hundred_miss_the_one_that_dies_and_nobody_else(without_garbage_collection: None) -> None:
    net, nodes = together(400, loss=0.02)
    for node in nodes[1:20]:
        net.pause(node, 1.0)
    net.kill(nodes[0])
    took = net.until(net.are_complete, 40.0, step=1.0)
    assert took > 12.0
    assert {subject(h.event) for h in net.happened if isinstance(h.event, Dead)} == {"n0"}
