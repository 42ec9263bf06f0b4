"""Addresses that a node remembers, and those that people add and remove."""

from mesh.discovery.state import Sample
from tests.mesh.kernel.rows import rows
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)


def events(node: SimNode) -> list[tuple[str, str]]:
    return [(e["kind"], e["node"]) for e in rows(node, "events", "events", after=0)]


def test_after_a_restart_a_node_finds_those_that_it_had_met_without_any_seed() -> None:
    net = SimNetwork()
    *_, c = net.mesh("a", "b", "c")
    net.run(3)  # nodes are stored when there is time
    c._seeds = ()
    c.restart()
    net.until(lambda: c.alive == {"a", "b"})
    assert {row["name"]: row["via"] for row in rows(c)} == {"c": "self", "a": "remembered", "b": "remembered"}


def test_a_node_that_shall_not_remember_waits_to_be_found() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", remember=False)
    net.run(3)
    a.kill()
    b._seeds = ()
    b.restart()
    a._seeds = ()
    a.start()
    net.run(60)
    assert a.alive == b.alive == set()


def test_an_address_that_was_added_is_dialled_at_once_and_after_every_restart() -> None:
    net = SimNetwork()
    a, b = net.node("a", remember=False), net.node("b", remember=False)
    client = client_of(b).connected()
    assert client.call("peer", add=a.address) == {"changed": True}
    assert client.call("peer", add=a.address) == {"changed": False}
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"}, 2)
    net.run(3)
    b.restart()
    net.until(lambda: b.alive == {"a"})
    assert [(p["address"], p["kind"], p["node"], p["state"]) for p in rows(b, "peers", "peers")] == [
        (a.address, "added", "a", "alive")
    ]


def test_an_address_that_was_removed_is_forgotten() -> None:
    net = SimNetwork(3)
    a, b = net.node("a"), net.node("b")
    client = client_of(b).connected()
    client.call("peer", add=a.address)
    net.until(lambda: b.alive == {"a"})
    net.run(3)
    assert client.call("peer", rm=a.address) == {"changed": True}
    assert client.call("peer", rm=a.address) == {"changed": False}
    net.run(3)
    a.kill()
    b.restart()
    net.run(1)
    a.restart()
    assert rows(b, "peers", "peers") == []


def test_one_address_among_several_that_works_is_enough() -> None:
    net = SimNetwork()
    a = net.node("a")
    b = net.node("b")
    real = a.core.parts.context.me
    where = real.__class__(a.uuid, "a", 1, "tcp://10.1.1.1:1", ("tcp://10.2.2.2:1", a.address))
    b.core.advertised(where, net.now, net.wall)
    b._carry_out_all()
    net.until(lambda: b.alive == {"a"}, 2)
    assert {row["name"]: row["via"] for row in rows(b)} == {"b": "self", "a": "mdns"}


def test_a_node_that_has_moved_is_found_at_its_new_address() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    net.run(3)
    net.bound["tcp://10.0.0.9:1"] = a
    a.core.readdressed("tcp://10.0.0.9:1", (a.address,), net.now, net.wall)
    a._carry_out_all()
    net.until(
        lambda: all(n.core.parts.neighbours.peers[a.uuid].node.address.endswith("9:1") for n in (b, c)), 20
    )
    assert ("moved", "a") in events(b)
    assert a.core.parts.context.me.also == (a.address,)


def test_a_node_with_another_key_than_before_is_not_the_node_that_it_says() -> None:
    net = SimNetwork()
    a, b = net.node("a"), net.node("b", "a")
    known = b.core.parts.context.me.__class__(b.uuid, "b", 1, b.address, key=b"k" * 32)
    a.core.parts.neighbours.acquaintances.met(known)
    a.core.parts.neighbours.acquaintances.met(b.core.parts.context.me)  # as other nodes may claim
    net.run(5)
    assert a.alive == b.alive == set()
    assert any("WRONG_IDENTITY" in note for note in b.notes)
    client_of(a).connected().call("peer", rm="b")
    net.until(lambda: a.alive == {"b"}, 120)


def test_what_the_store_held_of_nodes_and_cannot_be_read_is_forgotten() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.run(3)
    tables = a.disk.store._tables
    tables["peer"].update({b"m" + b"x" * 16: b"\xc1", b"a\xff": b""})
    a._seeds = ()
    a.restart()
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    net.run(3)
    assert set(tables["peer"]) == {b"m" + b.uuid}
