"""A node dials the address of another node for it, and is no port scanner."""

from mesh.features.dialback.node.checking import DialBackParts
from mesh.features.dialback.node.dialing import AT_ONCE, EACH, MOST, DialingBack
from mesh.kernel.context.conn import Conn
from mesh.wire.commands import Hello, Introduction, Refuse
from tests.mesh.features.dialback.node.machines import LIMIT, ask, at, machine, reachable
from tests.simulation import SimNetwork, SimNode


def dialing(node: SimNode) -> DialingBack:
    component = node.core.parts[DialBackParts].components[0]
    assert isinstance(component, DialingBack)
    return component


def two() -> tuple[SimNetwork, SimNode, SimNode]:
    net = SimNetwork()
    a = machine(net, "a", "10.0.0.1")
    b = machine(net, "b", "10.0.0.2", "a")
    net.until(lambda: reachable(a) == reachable(b) == "yes", LIMIT)
    return net, a, b


def outcome(net: SimNetwork, node: SimNode, to: SimNode, address: str) -> str:
    told = ask(node, to, address)
    net.until(lambda: told, LIMIT)
    return told[0]


def test_only_an_address_that_the_asking_node_advertises_is_dialed() -> None:
    net, a, b = two()
    dialled = len(net.pipes)
    for address in (at("10.0.0.1"), at("10.0.0.9"), "tcp://10.0.0.2:22", "", "ipc:///run/x", "nan", "x" * 60):
        assert outcome(net, b, a, address) == "NOT_ADVERTISED", address
    assert outcome(net, b, a, "x" * 1000) == "BAD_QUERY"
    assert outcome(net, b, a, "x" * 1000) == "BAD_QUERY"
    assert len(net.pipes) == dialled
    assert outcome(net, b, a, b.address) == "reached"


def test_a_loopback_address_is_not_dialed_although_it_is_advertised() -> None:
    net, a, b = two()
    b.core.readdressed(b.address, ("tcp://127.0.0.1:5432",), net.now, net.wall)
    net.until(lambda: a.core.parts.neighbours.peers[b.uuid].node.also == ("tcp://127.0.0.1:5432",))
    assert outcome(net, b, a, "tcp://127.0.0.1:5432") == "NOT_ADVERTISED"


def test_a_node_that_asks_too_often_is_put_off() -> None:
    net, a, b = two()
    net.run(60)
    told = [outcome(net, b, a, b.address) for _ in range(EACH + 1)]
    assert told == ["reached"] * EACH + ["TOO_MANY"]
    net.run(60)
    assert outcome(net, b, a, b.address) == "reached"


def test_a_node_dials_for_a_few_nodes_at_a_time() -> None:
    net = SimNetwork()
    a = machine(net, "a", "10.0.0.1")
    wall = machine(net, "wall", "10.0.0.9", cluster="wall")
    net.cut("a", "wall")
    others = [machine(net, f"n{n}", f"10.0.1.{n}", "a") for n in range(MOST + 2)]
    net.until(lambda: len(a.alive) == len(others))
    net.run(60)
    for node in others:
        net.bound[node.address] = wall  # no dial ends before its time
    told = [ask(node, a, node.address) for node in others]
    net.until(lambda: all(told), LIMIT)
    assert sorted(outcome for [outcome] in told) == ["TOO_MANY"] * 2 + ["silent"] * MOST
    net.run(1)
    assert "dial_back" not in {conn.role for conn in a.core.parts.dialler.conns.values()}


def test_a_hello_without_a_node_is_refused() -> None:
    net = SimNetwork()
    component = dialing(net.node("a"))
    conn = Conn("key", False, False, "tcp://10.0.0.1:1", 0.0, 0.0)
    for node in (None, Introduction(b"short", "b", 1, "")):
        hello = Hello((1, 2), "dial_back", "", b"n" * 16, node=node)
        answer = component.admit(conn, hello)
        assert isinstance(answer, Refuse) and answer.code == "MALFORMED"


def test_a_dial_that_the_system_gives_up_is_not_a_refusal() -> None:
    net, a, b = two()
    net.run(60)
    wall = machine(net, "wall", "10.0.0.9", cluster="wall")
    net.cut("a", "wall")
    net.bound[b.address] = wall
    told = ask(b, a, b.address)
    net.run(AT_ONCE + 0.5)
    assert told == []
    net.break_all("a", "wall")
    net.until(lambda: told, LIMIT)
    assert told == ["silent"]
