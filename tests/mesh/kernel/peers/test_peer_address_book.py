"""Unproven claims about nodes stop no node, reach no disk, and exclude no node."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.discovery.state import Summary
from mesh.errors import RemoteError
from mesh.kernel.subscribers import saying
from mesh.mapping.agreed import Agreed, AgreedNode
from mesh.mapping.rules import Rule
from mesh.wire.commands import (
    Answer,
    Interest,
    Introduction,
    Outcome,
    Outcomes,
    Query,
    Refuse,
    Rumour,
    Rumours,
)
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

KEY = b"k" * 32
NAME_IN_USE = Refuse("NAME_IN_USE", "the name 'a' belongs to a live node", "--id", final=True)


def says(liar: SimNode, to: SimNode, *nodes: Introduction, state: str = "alive") -> None:
    """Let the liar answer a census with these nodes, which then count as alive."""
    rumours = Rumours(tuple(Rumour(node, 0, state, liar.uuid) for node in nodes))
    to.core.parts.neighbours.liveness.rumours(to.core.parts.neighbours.peers[liar.uuid], rumours, True)
    to._carry_out_all()


def crowd(count: int, boot: int = 1) -> list[Introduction]:
    return [
        Introduction(bytes([1, n]) * 8, f"n{n}", boot, f"tcp://127.0.7.{n}:7", key=KEY)
        for n in range(1, count)
    ]


def remembered(node: SimNode) -> set[bytes]:
    return {key[1:] for key in node.disk.store.load().tables["peer"]}


def test_trial_A2_nodes_that_others_tell_of_are_not_written_down() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    says(b, a, *crowd(60))
    assert len(a.alive) == 61
    says(b, a, *crowd(60, boot=2))
    net.run(5)
    assert remembered(a) == {b.uuid, c.uuid}, "who has spoken to it"


def test_trial_A2_a_key_that_others_tell_of_shuts_out_nobody() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    c = SimNode(net, "c", ("a",), {})
    says(b, a, Introduction(c.uuid, "c", 1, c.address, key=KEY), *crowd(40))
    c.start()
    net.until(lambda: c.alive >= {"a"})
    peer = a.core.parts.neighbours.peers[c.uuid]
    assert peer.alive and peer.node.key == c.core.parts.context.me.key and c.stop is None


def test_trial_A2_a_boot_that_cannot_be_breaks_the_protocol() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    boots = [node.node.boot for node in a.core.parts.neighbours.peers.values()]
    try:
        says(b, a, replace(b.core.parts.context.me, boot=2**22))
    except RemoteError as error:
        assert "the introduction of b has boot 4194304" in str(error)
    else:
        raise AssertionError("it was taken")
    assert [node.node.boot for node in a.core.parts.neighbours.peers.values()] == boots


def test_trial_A2_who_says_that_it_is_we_takes_no_address_away_from_us() -> None:
    """An unproven REFUSE SAME_UUID once removed a configured seed for good."""
    net = SimNetwork()
    b = net.node("b")
    b.core.parts.context.process = b""
    meeting: Any = b.core.parts.meeting
    meeting._accept_introduction = lambda node, process=b"": Refuse("SAME_UUID", "it is you", final=True)
    a = net.node("a", "b", backoff_max=2.0)
    net.run(5)
    assert a.stop is None
    b.restart()
    net.until(lambda: a.alive == {"b"})


def test_trial_A2_one_node_that_lets_us_in_is_enough_against_who_says_that_our_name_is_taken() -> None:
    net = SimNetwork()
    for name in ("liar", "honest"):
        net.node(name)
    net.nodes["liar"].core.parts.meeting._accept_introduction = lambda node, process=b"": NAME_IN_USE  # type: ignore[method-assign]
    a = net.node("a", "liar", "honest")
    net.until(lambda: a.alive == {"honest"})
    net.run(60)
    assert a.stop is None and any("NAME_IN_USE" in note for note in a.notes)


def test_a_name_that_nobody_lets_in_is_taken() -> None:
    net = SimNetwork()
    b = net.node("b")
    b.core.parts.meeting._accept_introduction = lambda node, process=b"": NAME_IN_USE  # type: ignore[method-assign]
    a = net.node("a", "b")
    net.until(lambda: a.stop)
    assert a.stop is not None and a.stop.code == "NAME_IN_USE" and net.now < 2


def test_trial_A2_who_was_sent_nothing_answers_for_nobody() -> None:
    """OUTCOMES with OK from another node once removed messages that waited for a lost master."""
    net = SimNetwork()
    rules = (Rule("m", domains=("NEWS",)),)
    m = net.node("m", rules=rules)
    a, liar = (net.node(name, "m", rules=rules) for name in ("a", "liar"))
    net.until(lambda: a.alive == {"m", "liar"})
    m.kill()
    publisher = client_of(a, "pub")
    publisher.publish("k", b"1", domain="NEWS", persistent=True)
    net.until(lambda: publisher.state(1, "NEWS") == "FORWARD_WARNING")
    said = Outcomes((Outcome(publisher.stream, Answer("NEWS", 1, 1)),))
    a.core.parts.forwarder.outcomes(a.core.parts.neighbours.peers[liar.uuid], said)
    a._carry_out_all()
    net.run(2)
    assert publisher.state(1, "NEWS") == "FORWARD_WARNING" and a.metric("tailed_back") == 1
    m.start()
    reader = client_of(m, "reader").subscribed("k")
    net.until(lambda: reader.contents == [b"1"] and publisher.state(1, "NEWS") == "OK")


def test_a_peer_wants_so_many_things_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saying, "WANTED", 3)
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    peer = a.core.parts.neighbours.peers[b.uuid]
    wanted = tuple(Query("exact", f"k{n}") for n in range(4))
    a.core.parts.wanted.interest(peer, Interest(1, True, wanted[:3]))
    with pytest.raises(RemoteError) as refused:
        a.core.parts.wanted.interest(peer, Interest(2, False, wanted[3:]))
    assert refused.value.code == "TOO_MANY_QUERIES" and len(peer.exchange.feed.queries) == 3
    a.core.parts.wanted.interest(peer, Interest(2, False, wanted[3:], wanted[:1]))
    assert set(peer.exchange.feed.queries) == set(wanted[1:])
    with pytest.raises(RemoteError, match="TOO_MANY_QUERIES"):  # a query that is not there makes no space
        a.core.parts.wanted.interest(peer, Interest(3, False, wanted[:1], (Query("exact", "never wanted"),)))


def shares(node: SimNode, stamp: int, **at: str) -> None:
    """Let a node have a list of the admin with these addresses of nodes."""
    agreed = Agreed({name: AgreedNode(at=(address,)) for name, address in at.items()})
    node.core._at(node.net.now, node.net.wall)
    node.core.parts.ruling.share(agreed, Summary("rules", stamp, b""))
    node._carry_out_all()


def test_nodes_that_find_each_other_in_no_other_way_meet_by_the_addresses_of_the_admin() -> None:
    net = SimNetwork()
    a, b = net.node("a"), net.node("b")
    net.run(5)
    assert not a.alive and not b.alive
    shares(a, 1, a=a.address, b=b.address)
    net.until(lambda: "b" in a.alive and "a" in b.alive)
    rows = a.core.parts.neighbours.acquaintances.rows().values()
    assert [(row.address, row.kind, row.node) for row in rows if row.kind == "mesh"] == [
        (b.address, "mesh", "b")
    ]
    assert client_of(a).call("peer", remove=b.address) == {"changed": False}, "the admin's"
    assert b.address in {row.address for row in a.core.parts.neighbours.acquaintances.rows().values()}
    shares(a, 2)
    kinds = [row.kind for row in a.core.parts.neighbours.acquaintances.rows().values()]
    assert "mesh" not in kinds and "b" in a.alive


def test_a_configured_address_stays_one_whatever_the_admin_sets_and_withdraws() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    book = b.core.parts.neighbours.acquaintances
    shares(b, 1, a=a.address)
    shares(b, 2)
    assert [row.kind for row in book.rows().values() if row.address == a.address] == ["config"]
