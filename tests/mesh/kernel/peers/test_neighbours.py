"""All that a node sent before its goodbye arrives, over several connections."""

from __future__ import annotations

import pytest

from mesh.discovery.member import NodeLife
from mesh.kernel.peers.neighbours import PARTING
from mesh.kernel.peers.reach_table import ReachState
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def two(seed: int = 1) -> tuple[SimNetwork, SimNode, SimNode]:
    net = SimNetwork(seed)
    stays, robot = net.mesh("stays", "robot")
    return net, stays, robot


def reach(at: SimNode, of: SimNode) -> ReachState:
    return at.core.parts.neighbours.peers[of.uuid].reach.state


@pytest.mark.parametrize("seed", scenarios(range(20), 5))
def test_what_is_not_persistent_arrives_though_its_master_leaves_at_once(seed: int) -> None:
    net, stays, robot = two(seed)
    ear = client_of(stays, "ear").subscribed("k")
    pub = client_of(robot, "pub")
    pub.publish("k", b"1")
    net.until(lambda: pub.state(1) == "OK")
    robot.close()
    net.run(1)
    assert ear.contents == [b"1"]
    assert reach(stays, robot) is ReachState.LEFT


def test_a_goodbye_that_others_tell_of_waits_for_its_connection_and_no_longer() -> None:
    net, stays, robot = two()
    ear = client_of(stays, "ear").subscribed("k")
    pub = client_of(robot, "pub")
    pub.publish("k", b"1")
    net.until(lambda: ear.contents == [b"1"])
    neighbours = stays.core.parts.neighbours
    stays.core._at(net.now, net.wall)
    neighbours.happened(
        neighbours.membership.on_goodbye(robot.uuid, robot.core.parts.context.me.boot, net.now)
    )
    stays._carry_out_all()
    assert reach(stays, robot) is ReachState.ALIVE
    pub.publish("k", b"2")
    net.until(lambda: ear.contents == [b"1", b"2"], PARTING / 2)
    stays.core.tick(net.now, net.wall)
    net.until(lambda: neighbours._parting == {}, PARTING + 0.1)


def test_a_process_that_goes_with_its_connections_has_left_at_once() -> None:
    net, stays, robot = two()
    client_of(stays, "ear").subscribed("k")
    net.run(1)
    neighbours = stays.core.parts.neighbours
    stays.core._at(net.now, net.wall)
    neighbours.happened(
        neighbours.membership.on_goodbye(robot.uuid, robot.core.parts.context.me.boot, net.now)
    )
    data = neighbours.peers[robot.uuid].data
    assert data is not None and len(neighbours._parting) == 1
    stays.core._at(net.now, net.wall)
    neighbours.on_conn_ended(data)
    assert reach(stays, robot) is ReachState.LEFT and neighbours._parting == {}


def test_who_is_back_meanwhile_has_left_before() -> None:
    net, stays, robot = two()
    ear = client_of(stays, "ear").subscribed("k")
    pub = client_of(robot, "pub")
    pub.publish("k", b"1")
    net.until(lambda: ear.contents == [b"1"])
    robot.close()
    robot.start()
    net.run(5)
    assert reach(stays, robot) is ReachState.ALIVE
    member = stays.core.parts.neighbours.membership.by_name("robot")
    assert member is not None and member.state is NodeLife.ALIVE
