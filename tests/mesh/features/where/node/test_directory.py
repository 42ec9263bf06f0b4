"""Nodes with `nameservice`: they follow all names, and searches ask them first."""

from __future__ import annotations

import pytest

from mesh.features.where.node import directory, reporting
from mesh.features.where.node.directory import is_reportable
from mesh.features.where.node.parts import WhereParts
from mesh.features.where.node.reporting import EVERY
from mesh.features.where.wire import FollowNames, Names
from mesh.wire.calls import AskLocate
from mesh.wire.limits import NAMES_OF_NODE
from tests.each import each
from tests.mesh.features.queues.node.worker import Worker
from tests.mesh.features.services.node.user import User
from tests.mesh.features.where.asking import Asker, Heard, falls_silent, say
from tests.mesh.kernel.lying import replies
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def followed(node: SimNode) -> int:
    return int(node.core.parts.context.figures()["names_followed"])


def served(*others: str) -> tuple[SimNode, list[SimNode]]:
    """Return a node with `nameservice`, and other nodes, which know all others."""
    net = SimNetwork(1)
    server = net.node("server", nameservice=True)
    nodes = [net.node(name, "server") for name in others]
    net.until(lambda: all(len(node.alive) == len(others) for node in (server, *nodes)))
    net.until(lambda: not server.core.parts[WhereParts].directory.unknown())
    return server, nodes


def test_a_name_is_found_by_two_questions_however_many_nodes_there_are() -> None:
    server, (a, b, *others) = served("a", "b", "c", "d", "e", "f")
    client_of(b, "joe")
    User(b, "one").serve("calc/add")
    worker = Worker(b, "worker")
    worker.declare("orders")
    worker.put("orders", b"1")
    server.net.run(2 * EVERY)
    who, heard = Asker(a), Heard(server, b, *others)
    for name in ("joe", "client/joe", "calc/add", "orders"):
        assert [(row.node, row.by) for row in who.rows(name)] == [("b", "b")], "confirmed by the node itself"
    assert heard == {"server": 4, "b": 4}
    assert [(row.node, row.by) for row in Asker(server).rows("joe")] == [("b", "b")]
    assert heard == {"server": 4, "b": 5}


def test_names_come_go_and_end_with_their_node() -> None:
    server, (a, b) = served("a", "b")
    known = server.core.parts[WhereParts].directory
    user = User(b, "one")
    user.serve("calc/add")
    server.net.until(lambda: known.nodes_with("address", "calc/add") == ["b"], EVERY + 2)
    assert known.nodes_with("client", "client/one") == ["b"] and followed(server) == 2
    user.vanish()
    client_of(a, "ann")
    server.net.until(lambda: known.nodes_with("client", "client/ann") == ["a"], EVERY + 2)
    server.net.until(lambda: known.nodes_with("address", "calc/add") == [], EVERY + 2)
    a.kill()
    b.kill()
    server.net.until(lambda: followed(server) == 0)


def test_an_unknown_or_very_new_name_is_still_searched_at_all_nodes() -> None:
    _, (a, b, c) = served("a", "b", "c")
    who, heard = Asker(a), Heard(b, c)
    client_of(b, "joe")
    assert [row.node for row in who.rows("joe")] == ["b"], "not reported yet"
    assert who.refused("jeo")[0] == "UNKNOWN_NAME" and "client/joe" in who.refused("jeo")[1]
    assert heard["b"] == heard["c"] == 3


def test_an_unreachable_server_does_not_hide_a_name() -> None:
    server, (a, b) = served("a", "b")
    client_of(b, "joe")
    server.net.run(2 * EVERY)
    falls_silent(server)
    who = Asker(a)
    assert [row.node for row in who.rows("joe")] == ["b"] and who.seconds <= 2.01


def test_a_place_that_its_node_denies_is_not_reported() -> None:
    server, (a, _, c) = served("a", "b", "c")
    client_of(c, "joe")
    row = {"kind": "client", "name": "client/joe", "node": "b", "by": "b", "state": "connected"}
    replies(server, AskLocate, {"sightings": [row]})
    assert [(r.node, r.by) for r in Asker(a).rows("joe")] == [("c", "c")]


def test_nodes_that_a_server_does_not_follow_are_asked_too() -> None:
    server, (a, b, c, d) = served("a", "b", "c", "d")
    for node in (b, c):
        User(node, 3 * node.name).serve("calc/add")
    row = {"kind": "address", "name": "address/calc/add", "node": "b", "by": "b", "state": "served"}
    replies(server, AskLocate, {"sightings": [row], "missing": ["c"]})
    who, heard = Asker(a), Heard(d)
    assert [r.node for r in who.rows("address/calc/add")] == ["b", "c"]
    assert heard["d"] == 1, "the answer of the server is not complete, so all others are asked"
    replies(server, AskLocate, {"sightings": [row], "missing": ["server2"]})
    assert [r.node for r in who.rows("address/calc/add")] == ["b"], (
        "a server can hide a place beside another one"
    )
    assert heard["d"] == 1


def test_a_server_speaks_for_a_node_that_the_asking_one_may_not_link() -> None:
    net = SimNetwork(1)
    server = net.node("server", nameservice=True)
    a = net.node("a", "server", known=("server",), links="configured")
    b = net.node("b", "server", known=("server",), links="configured")
    net.until(lambda: not server.core.parts[WhereParts].directory.unknown() and len(server.alive) == 2)
    client_of(b, "joe")
    net.run(2 * EVERY)
    [row] = Asker(a).rows("joe")
    assert (row.node, row.by, row.state) == ("b", "server", "reported")
    assert row.life in ("", "seen", "alive")


def test_without_nameservice_nothing_is_reported_or_kept() -> None:
    a, b = SimNetwork(1).mesh("a", "b")
    client_of(b, "joe")
    a.net.run(3 * EVERY)
    assert not b.core.parts[WhereParts].reports.servers
    Asker(a).rows("joe")  # opens the connection
    say(b, "a", Names(1, add=(("client", "client/joe"),)))
    a.net.run(1)
    assert followed(a) == 0 and a.core.parts.context.counters.values["unasked"] == 1


def test_a_node_reports_to_a_limited_number_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "FOLLOWERS", 2)
    net = SimNetwork(1)
    a = net.node("a")
    servers = [net.node(name, "a", nameservice=True) for name in ("s", "t", "u")]
    net.until(lambda: all(len(node.alive) == 3 for node in (a, *servers)))
    net.run(5)
    assert len(a.core.parts[WhereParts].reports.servers) == 2
    assert sum("a" in server.core.parts[WhereParts].directory.unknown() for server in servers) == 1


def told(rows: tuple[tuple[str, str], ...]) -> tuple[SimNode, SimNode]:
    """Return a server and a node that has reported these rows after its own."""
    server, (liar,) = served("liar")
    reports = liar.core.parts[WhereParts].reports
    [peer] = reports._followers
    for add in (rows[at : at + 1000] for at in range(0, len(rows), 1000)):
        reports._followers[peer] += 1
        say(liar, peer.node.name, Names(reports._followers[peer], add=add))
    server.net.run(1)
    return server, liar


def test_invalid_names_are_dropped() -> None:
    rows = (("planet", "mars"), ("client", "joe"), ("queue", "a/#"), ("node", ""), ("address", "queue/x"))
    server, _ = told(rows)
    assert followed(server) == 0 and server.core.parts.context.counters.values["unknown_kinds"] == len(rows)


@each(
    "row",
    [("client", "/node/b/client/joe"), ("client", "/site/X"), ("session", "client/joe/session/1"), ("", "")],
)
def test_a_row_of_an_unknown_kind_or_form_is_not_reportable(row: tuple[str, str]) -> None:
    assert not is_reportable(row)


@pytest.mark.slow
def test_a_node_with_too_many_names_is_disconnected() -> None:
    server, _ = told(tuple(("queue", f"q{n}") for n in range(NAMES_OF_NODE + 1)))
    assert any("TOO_MANY_NAMES" in note or "more than 50,000 names" in note for note in server.notes)
    assert followed(server) == 0


def test_beyond_the_total_a_server_no_longer_speaks_for_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "TOTAL", 10)
    server, _ = told(tuple(("queue", f"q{n}") for n in range(20)))
    assert followed(server) == 10
    assert server.core.parts[WhereParts].directory.unknown() == ["liar"]


def test_a_hole_in_the_numbers_ends_the_connection() -> None:
    server, (b,) = served("b")
    say(b, "server", Names(7))
    server.net.run(1)
    assert any("update 7" in note for note in server.notes)


def test_a_second_request_for_names_sends_nothing_twice() -> None:
    server, (b,) = served("b")
    client_of(b, "joe")
    server.net.run(2 * EVERY)
    before = b.core.parts[WhereParts].reports._followers.copy()
    say(server, "b", FollowNames())
    server.net.run(2 * EVERY)
    assert b.core.parts[WhereParts].reports._followers == before and followed(server) == 1
