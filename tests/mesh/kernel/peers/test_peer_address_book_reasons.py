"""The reason why a node cannot be reached at an address is reported once, without contradiction."""

from functools import partial
from typing import Any

import pytest

from mesh.cli.ls import remarks
from mesh.errors import LocalError
from mesh.kernel.context.conn import Conn
from mesh.kernel.peers import peer_address_book
from mesh.kernel.peers.peer_address_book import ADDED, REMEMBERED, SILENT, Seed
from tests.mesh.kernel.rows import rows
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

HINT = "Run `mesh join`."
NOWHERE = "tcp://10.9.9.9:7710"


def dialling(net: SimNetwork, address: str) -> SimNode:
    a = net.node("a")
    client_of(a).connected().call("peer", add=address)
    return a


def told_of(node: SimNode, address: str) -> list[str]:
    texts = [e["text"] for e in rows(node, "events", "events", after=0)]
    return [text for text in texts if address in text and "added" not in text]


def peer_row(node: SimNode, address: str) -> dict[str, Any]:
    [row] = [row for row in rows(node, "peers", "peers") if row["address"] == address]
    return row


def test_trial_C_of_a_seed_that_does_not_answer_the_reason_is_told_once_and_listed() -> None:
    net = SimNetwork()
    a = dialling(net, NOWHERE)
    net.run(120)
    [text] = told_of(a, NOWHERE)
    assert SILENT in text
    row = peer_row(a, NOWHERE)
    assert row["why"] == SILENT and 0 <= row["tried"] <= 60


def test_trial_C_a_reason_that_the_transport_knows_is_the_only_line() -> None:
    net = SimNetwork()
    a = dialling(net, NOWHERE)

    def dials() -> list[Conn]:
        return [conn for conn in a.core._conns.values() if conn.seed]

    def is_over(conn: Conn) -> bool:
        return conn not in dials()

    why = "ended the handshake: its mesh has other keys or none"
    for dial in range(9):
        net.until(dials)
        [conn] = dials()
        if dial % 3 < 2:  # ZeroMQ does not report every failure
            assert a.core.on_dial_failed(conn.key, f"{NOWHERE} {why}.", HINT, net.now, 0)
        net.until(partial(is_over, conn), 60)
    assert told_of(a, NOWHERE) == [f"{NOWHERE}: {why}. {HINT}"]
    assert peer_row(a, NOWHERE)["why"] == why
    net.run(300)
    assert told_of(a, NOWHERE)[1:] == [f"{NOWHERE}: {SILENT}. Connecting."]
    assert not a.core.on_dial_failed("unknown", why, HINT, net.now, 0)


def test_trial_C_a_seed_that_refuses_is_listed_with_its_reason_and_told_in_one_line() -> None:
    net = SimNetwork()
    other = net.node("b", cluster="other")
    a = net.node("a", "b")
    net.run(120)
    [text] = told_of(a, other.address)
    assert "[CLUSTER]" in text
    row = peer_row(a, other.address)
    assert "[CLUSTER]" in row["why"] and row["tried"] is not None


def test_trial_C_where_a_node_answers_no_old_reason_stands() -> None:
    net = SimNetwork()
    a = dialling(net, NOWHERE)
    b = net.node("b")
    b.kill()
    client = client_of(a).connected()
    client.call("peer", add=b.address)
    net.run(20)
    assert peer_row(a, b.address)["why"] == SILENT
    b.start()
    net.until(lambda: a.alive == {"b"})
    assert (peer_row(a, b.address)["why"], peer_row(a, b.address)["tried"]) == ("", None)


@pytest.mark.parametrize("end", ["kill", "close"])
def test_trial_C_a_dead_or_left_node_has_neither_link_nor_round_trip(end: str) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.run(5)
    [row] = [row for row in rows(a) if row["name"] == "b"]
    assert row["link"] and row["rtt"]
    getattr(b, end)()
    net.until(lambda: not a.alive)
    [row] = [row for row in rows(a) if row["name"] == "b"]
    assert row["state"] in ("dead", "left")
    assert (row["link"], row["rtt"]) == ("", 0.0)


@pytest.mark.parametrize("address", ["tcp://not a host:7710", "tcp://[nas]:7710", "tcp://nas", "tcp://a/b:1"])
def test_trial_C_a_node_adds_no_address_that_is_none(address: str) -> None:
    net = SimNetwork()
    a = net.node("a")
    with pytest.raises(LocalError) as refused:
        a.core.parts.neighbours.acquaintances.add(address)
    assert refused.value.code == "BAD_ADDRESS"


def test_a_full_address_book_still_keeps_a_remembered_address(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    a = net.node("a")
    book = a.core.parts.neighbours.acquaintances
    book.add("tcp://10.0.0.1:7710")
    book._seeds["tcp://10.0.0.2:7710"] = Seed(REMEMBERED, node="b")
    monkeypatch.setattr(peer_address_book, "MET", 2)
    with pytest.raises(LocalError, match="keeps 2 addresses"):
        book.add("tcp://10.0.0.3:7710")
    assert book.add("tcp://10.0.0.2:7710")
    assert book._seeds["tcp://10.0.0.2:7710"].kind == ADDED


def test_trial_C_another_mesh_that_is_near_is_told_once_and_listed_with_what_to_type() -> None:
    net = SimNetwork()
    a = net.node("a")
    for _ in range(3):
        a.core.on_foreign_mesh("swan", "tcp://10.0.0.6:7710", net.now, 0)
    [text] = told_of(a, "tcp://10.0.0.6:7710")
    assert "swan" in text and "`mesh token` here, `mesh join` there" in text and "--replace" not in text
    found = client_of(a).connected().call("ls")
    assert found["near"] == [["swan", "tcp://10.0.0.6:7710"]]
    for number in range(100):
        a.core.on_foreign_mesh(f"n{number}", "tcp://10.0.0.7:7710", net.now, 0)
    assert len(client_of(a).connected().call("ls")["near"]) == len(told_of(a, "tcp://10.0.0.7:7710")) + 1 == 8
    said = remarks(found)
    assert any("swan at tcp://10.0.0.6:7710" in line for line in said)
    assert any("`mesh join` there" in line for line in said)


def test_a_mesh_that_is_near_may_be_a_linked_site_whose_keys_nobody_is_told_to_replace() -> None:
    net = SimNetwork()
    a = net.node("a", ways={"LON": ""})
    a.core.on_foreign_mesh("swan", "tcp://10.0.0.6:7710", net.now, 0)
    [text] = told_of(a, "tcp://10.0.0.6:7710")
    said = " ".join(remarks(client_of(a).connected().call("ls")))
    for each in (text, said):
        assert "mesh ls --sites" in each and "join" not in each


def test_a_mesh_that_was_near_is_named_no_more_when_its_node_has_joined() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    client = client_of(a).connected()
    elsewhere, there = "tcp://10.9.9.9:7710", f"{b.address.rpartition(':')[0]}:9"
    for name, address in (("b", there), ("b", elsewhere), ("c", there)):
        a.core.on_foreign_mesh(name, address, net.now, 0)
    assert client.call("ls")["near"] == [["b", elsewhere], ["c", there]]


def test_trial_C_a_node_says_where_another_is_by_its_name() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    client = client_of(a).connected()
    found = {name: client.call("where", node=name)["address"] for name in ("a", "b", "c", "", "a/b")}
    assert found == {"a": a.address, "b": b.address, "c": "", "": "", "a/b": ""}
