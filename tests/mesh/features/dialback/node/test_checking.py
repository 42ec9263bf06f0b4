"""A node learns from other machines whether they can dial its address."""

import pytest

from mesh.kernel.context.conn import Conn
from mesh.wire.commands import Call, Command
from mesh.wire.envelope import Envelope
from tests.mesh.features.dialback.node.machines import LIMIT, OldNode, at, events, machine, reachable
from tests.simulated_client import client_of
from tests.simulation import SimNetwork


@pytest.mark.parametrize("is_keyed", [False, True])
def test_two_machines_that_can_dial_each_other_know_it(is_keyed: bool) -> None:
    net = SimNetwork()
    a = machine(net, "a", "10.0.0.1", is_keyed=is_keyed)
    b = machine(net, "b", "10.0.0.2", "a", is_keyed=is_keyed)
    net.until(lambda: reachable(a) == reachable(b) == "yes", LIMIT)
    info = client_of(a).call("info")
    assert (info["reachable"], info["reachability"]) == ("yes", "dialed by b")
    net.run(10)
    assert events(a, "unreachable") == events(a, "reachable") == []
    reasons = client_of(a).call("why", kind="node", text="a")["reasons"]
    assert [reason["code"] for reason in reasons] == ["NODE_SELF"]
    for node in (a, b):  # the connections of the dials have ended
        assert "dial_back" not in {conn.role for conn in node.core.parts.dialler.conns.values()}


def test_a_node_that_only_dials_out_is_reported_with_the_likely_cause_and_what_to_do() -> None:
    net = SimNetwork()
    machine(net, "a", "10.0.0.1")
    b = machine(net, "b", "172.17.0.2", "a")
    del net.bound[b.address]
    net.until(lambda: reachable(b) == "no", LIMIT)
    text = "a could not dial tcp://172.17.0.2:7710: it looks like an address inside a container"
    [event] = events(b, "unreachable")
    assert event == (
        f"{text}. Publish the port (docker run -p 7710:7710), "
        "and set node.advertise to the address of the host."
    )
    rows = client_of(b).call("ls")
    assert (rows["reachable"], rows["reachability"]) == ("no", text)
    why = client_of(b).call("why", kind="node", text="b")["reasons"]
    assert [(each["says"], each["rank"]) for each in why if each["code"] == "UNREACHABLE"] == [
        (f"address of this node: {text}", "perhaps")
    ]
    # The hole in the wall is opened: the next round finds it, and each change is reported once.
    net.run(70)
    assert len(events(b, "unreachable")) == 1
    net.bound[b.address] = b
    net.until(lambda: reachable(b) == "yes", 80.0)
    assert events(b, "reachable") == ["tcp://172.17.0.2:7710: dialed by a"]


def test_a_firewall_that_drops_packets_is_told_from_a_port_that_is_closed() -> None:
    net = SimNetwork()
    machine(net, "a", "10.0.0.1")
    wall = machine(net, "wall", "10.0.0.9", cluster="wall")
    net.cut("a", "wall")
    b = machine(net, "b", "10.0.0.2", "a")
    net.bound[b.address] = wall  # accepts, and never answers
    net.until(lambda: reachable(b) == "no", LIMIT)
    assert "no answer, so a firewall probably drops the packets" in events(b, "unreachable")[0]


def test_another_node_at_the_address_is_no_proof() -> None:
    net = SimNetwork()
    machine(net, "a", "10.0.0.1")
    c = machine(net, "c", "10.0.0.3", "a")
    b = machine(net, "b", "10.0.0.2", "a")
    net.bound[b.address] = c
    net.until(lambda: reachable(b) == "no", LIMIT)
    assert "another process answered there" in events(b, "unreachable")[0]


def test_two_containers_with_the_same_address_do_not_dial_themselves() -> None:
    net = SimNetwork()
    a = machine(net, "a", "172.17.0.2")
    a.address = at("192.168.1.20")  # the published port of its host
    net.bound[a.address] = net.bound.pop(at("172.17.0.2"))
    b = machine(net, "b", "172.17.0.2", "a")
    del net.bound[b.address]
    net.until(lambda: reachable(b) == "no", LIMIT)
    assert "another process answered there" in events(b, "unreachable")[0]


def test_a_changed_address_is_checked_anew() -> None:
    net = SimNetwork()
    machine(net, "a", "10.0.0.1")
    b = machine(net, "b", "10.0.0.2", "a")
    net.until(lambda: reachable(b) == "yes", LIMIT)
    b.core.readdressed(at("10.0.0.7"), (), net.now, net.wall)
    net.until(lambda: reachable(b) == "no", LIMIT + 10)
    net.bound[at("10.0.0.8")] = b
    b.core.readdressed(at("10.0.0.8"), (), net.now, net.wall)
    net.until(lambda: reachable(b) == "yes", LIMIT + 10)


def test_nodes_of_one_machine_ask_nobody_and_warn_nobody() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.run(10)
    assert (reachable(a), reachable(b)) == ("local", "local")
    assert client_of(a).call("info")["reachability"] == "only this machine can dial tcp://127.0.0.1:5001"
    assert events(a, "unreachable") == []
    assert a.metric("connections") <= 3  # of b, and the client's


def test_a_loopback_address_is_not_advertised_silently_to_other_machines() -> None:
    net = SimNetwork()
    a = net.node("a", hosts=lambda: ("127.0.0.1", "10.0.0.1"))
    machine(net, "b", "10.0.0.1", "a")  # of the same machine, on another address
    net.run(5)
    assert events(a, "unreachable") == []
    machine(net, "c", "10.0.0.3", "a")
    net.until(lambda: reachable(a) == "no", LIMIT)
    machine(net, "d", "10.0.0.4", "a")
    net.run(10)
    assert events(a, "unreachable") == [
        "c is on another machine, but tcp://127.0.0.1:5001 leads back to the machine that dials. "
        "Listen on tcp://*:5001, or set node.advertise."
    ]


def test_a_node_of_an_earlier_release_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    old = machine(net, "old", "10.0.0.1", made=OldNode)
    asked = list[str]()
    dispatch = old.core.parts.reception.dispatch

    def noted(conn: Conn, command: Command, envelopes: list[Envelope]) -> None:
        asked.extend([command.verb] if isinstance(command, Call) and conn.role != "client" else [])
        dispatch(conn, command, envelopes)

    monkeypatch.setattr(old.core.parts.reception, "dispatch", noted)
    b = machine(net, "b", "10.0.0.2", "old")
    net.until(lambda: b.alive == {"old"} and old.alive == {"b"})
    net.run(10)
    assert reachable(b) == ""
    assert "state" in asked and "dial_back" not in asked
    machine(net, "c", "10.0.0.3", "old")
    net.until(lambda: reachable(b) == "yes", LIMIT)


def test_a_step_reads_the_interfaces_once_for_all_nodes() -> None:
    net, steps = SimNetwork(), list[float]()

    def hosts() -> tuple[str]:
        steps.append(net.now)
        return ("10.0.0.1",)

    a = machine(net, "a", "10.0.0.1", hosts=hosts)
    for n in range(2, 6):
        machine(net, f"n{n}", f"10.0.0.{n}", "a")
    net.until(lambda: reachable(a) == "yes", LIMIT)
    assert steps and len(steps) == len(set(steps))
