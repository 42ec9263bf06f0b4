"""How nodes find each other again, what they say of themselves, and what people are told of it."""

from typing import Any

import pytest

from discovery.state import Sample
from tests.mesh.core.hole import hole
from tests.seeds import stories
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)


def rows(node: SimNode, verb: str = "ls", what: str = "nodes", **arguments: Any) -> list[dict[str, Any]]:
    client = client_of(node).connected()
    found: list[dict[str, Any]] = client.call(verb, **arguments)[what]
    client.close()
    return found


def events(node: SimNode) -> list[tuple[str, str]]:
    return [(e["kind"], e["node"]) for e in rows(node, "events", "events", after=0)]


# --- addresses --------------------------------------------------------------------------------------------


def test_after_a_restart_a_node_finds_those_that_it_had_met_without_any_seed() -> None:
    net = SimNetwork()
    *_, c = net.mesh("a", "b", "c")
    net.run(3)  # what is remembered is written when there is time
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
    real = a.core.parts.desk.me
    where = real.__class__(a.uuid, "a", 1, "tcp://10.1.1.1:1", ("tcp://10.2.2.2:1", a.address))
    b.core.advertised(where, net.now, net.wall)
    b._carry_out_all()
    net.until(lambda: b.alive == {"a"}, 2)
    assert {row["name"]: row["via"] for row in rows(b)} == {"b": "self", "a": "mdns"}


# --- what happened ----------------------------------------------------------------------------------------


def test_what_happens_to_nodes_can_be_read_in_order() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    b.restart()
    net.until(lambda: ("restarted", "b") in events(a))
    c.close()
    net.until(lambda: ("left", "c") in events(a))
    b.kill()
    net.until(lambda: ("dead", "b") in events(a))
    kinds = [kind for kind, node in events(a) if node == "b"]
    assert kinds[0] == "joined" and kinds[-1] == "dead" and kinds.index("restarted") < len(kinds) - 1


def test_who_asks_for_events_goes_on_where_it_was() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    client = client_of(a).connected()
    first = client.call("events", after=0)
    assert client.call("events", after=first["next"]) == {"events": [], "next": first["next"], "boot": 1}
    b.close()
    net.until(lambda: client.call("events", after=first["next"])["events"])
    (event,) = client.call("events", after=first["next"])["events"]
    assert (event["kind"], event["node"], event["boot"]) == ("left", "b", 1)
    assert event["number"] == first["next"] + 1


# --- states -----------------------------------------------------------------------------------------------


def heard(node: SimNode) -> set[str]:
    return {known.state.name for known in node.core.parts.gossiping.gossip.known.values()}


def test_every_node_knows_how_every_other_is_doing() -> None:
    net = SimNetwork()
    a, _, c = net.mesh("a", "b", "c", sample=lambda: IDLE)
    net.until(lambda: heard(a) == {"b", "c"} and heard(c) == {"a", "b"}, 10)
    row = next(row for row in rows(a) if row["name"] == "b")
    assert row["cpu"] == 15 and row["ram_free"] == 12_000_000 and 0 <= row["state_age"] < 3
    assert [row["cpu"] for row in rows(a)] == [15, 15, 15]


def test_the_state_of_a_dead_node_goes() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    net.until(lambda: heard(a) == {"b"}, 10)
    b.kill()
    net.until(lambda: a.alive == set())
    assert heard(a) == set()


def test_clients_read_and_follow_the_states_as_xml() -> None:
    net = SimNetwork()
    a, _ = net.mesh("a", "b", sample=lambda: IDLE)
    net.until(lambda: heard(a) == {"b"}, 10)
    client = client_of(a).connected()
    subscription = client.subscribed("__sys__cluster.node.state[b]")
    everything = client.subscribed(pattern="#")
    net.run(9)
    contents = subscription.contents
    assert len(contents) in (4, 5, 6) and all(b"<clusternode id='b'" in c or b'id="b"' in c for c in contents)
    assert everything.contents == []


def test_a_node_whose_pub_cannot_be_heard_says_it_on_the_link() -> None:
    net = SimNetwork()
    a = net.node("a", sample=lambda: IDLE)
    b = net.node("b", "a", sample=lambda: IDLE)
    b.pub = "ipc:///run/nobody.listens.here"
    net.until(lambda: heard(a) == {"b"}, 30)
    assert heard(b) == {"a"} and a.core.parts.neighbours.peers[b.uuid].hears_us
    assert not b.core.parts.neighbours.peers[a.uuid].hears_us
    b.pub = a.listening.copy().pop()  # it can be heard after all
    net.until(lambda: b.core.parts.neighbours.peers[a.uuid].hears_us, 30)


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
    assert a.core.parts.desk.me.also == (a.address,)


def test_a_node_with_another_key_than_before_is_not_the_node_that_it_says() -> None:
    net = SimNetwork()
    a, b = net.node("a"), net.node("b", "a")
    known = b.core.parts.desk.me.__class__(b.uuid, "b", 1, b.address, key=b"k" * 32)
    a.core.parts.neighbours.acquaintances.met(known)
    a.core.parts.neighbours.acquaintances.met(b.core.parts.desk.me)  # as others may say
    net.run(5)
    assert a.alive == b.alive == set()
    assert any("WRONG_IDENTITY" in note for note in b.notes)
    client_of(a).connected().call("peer", rm="b")
    net.until(lambda: a.alive == {"b"}, 120)


# --- what must not go on for ever -------------------------------------------------------------------------


def dialled(node: SimNode) -> int:
    return node.core.parts.dialler._dialled


@pytest.mark.parametrize("uuid", stories([b"\x01" * 16, b"\xf0" * 16]))
def test_a_seed_under_another_name_is_left_alone_while_its_node_is_there(uuid: bytes) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.bound["tcp://b.lan:7710"] = b
    a.core.parts.neighbours.acquaintances.add("tcp://b.lan:7710")
    a._carry_out_all()
    net.run(5)
    before = dialled(a)
    net.run(600)
    assert dialled(a) <= before + 3 and a.alive == {"b"}
    b.kill()
    net.run(60)
    assert dialled(a) > before + 3


def test_who_has_left_is_not_dialled_and_who_died_less_and_less() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c", remember=False)
    b.close()
    net.run(60)
    before = dialled(a)
    net.run(300)
    assert dialled(a) == before
    c.kill()
    net.run(600)
    before = dialled(a)
    net.run(600)
    assert dialled(a) - before < 150  # ten a minute, with the recalls of the dead


def test_where_only_one_of_two_can_dial_the_other_they_meet_at_once() -> None:
    for seed in range(6):
        net = SimNetwork(seed)
        low = SimNode(net, "low", (), {"uuid": b"\x01" * 16})
        low.start()
        net.run(1)
        high = SimNode(net, "high", (), {"uuid": b"\xf0" * 16})
        high.address = "tcp://10.0.0.9:7710"
        high.start()
        net.bound[high.address] = hole()
        for one, other in ((low, high), (high, low)):
            one.core.advertised(other.core.parts.desk.me, net.now, net.wall)
            one._carry_out_all()
        net.until(lambda: bool(low.alive and high.alive), 3)  # noqa: B023


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
