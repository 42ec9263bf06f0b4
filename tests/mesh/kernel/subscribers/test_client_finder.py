"""Sessions that an XPath selects, at all nodes, on simulated nodes."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mesh.kernel.subscribers import client_finder
from mesh.kernel.subscribers.client_finder import ClientFinder, believed, rows_of
from mesh.mapping.cost import MOST as VISITS
from tests.mesh.kernel.masters import cluster
from tests.mesh.kernel.subscribers.moves import CLIENT, Moves, Scenario
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

JOE = "//client[@name='joe']"


def test_sessions_at_all_nodes_are_found_and_those_that_left_are_not() -> None:
    few = cluster("heron", "frodo", rules={"heron": (), "frodo": ()}, links="any")
    ann = few.client("heron", "ann")
    few.client("heron", "joe", session=1).inbox()
    few.client("frodo", "joe", session=2)
    away = few.client("frodo", "joe", session=3)
    few.net.run(3)
    away.close()
    few.net.run(1)
    both = ["/node/frodo/client/joe/session/2", "/node/heron/client/joe/session/1"]
    for xpath, found in (
        (JOE, both),
        ("//client[@inbox='open']", both[1:]),
        ("//client[@node='frodo']", both[:1]),
        ("//client[@name='nobody']", []),
    ):
        assert ann.call("clients", xpath=xpath) == {"clients": found, "too_many": False, "missing": []}


def test_a_session_that_visits_another_node_is_found_there(play: Callable[[Scenario], None]) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork")
        await it.m.pass_time(5)
        sending = asyncio.create_task(it.publishers["ibis"].send(["xpath:" + JOE], b"x"))
        asking = asyncio.create_task(it.publishers["stork"].call("clients", xpath=JOE))
        locating = [asyncio.create_task(it.publishers["ibis"].where(name)) for name in (it.joe.name, CLIENT)]
        await it.m.pass_time(5)
        assert [task.result().nodes for task in locating] == [["stork"], ["stork"]], "by its absolute name"
        assert (it.home, [each.destination for each in sending.result()]) == ("stork", [it.joe.name])
        assert asking.result() == rows(it.joe.name)
        parts = {name: node.core.parts for name, node in it.m._nodes.items()}
        is_at = partial(parts["ibis"].client_finder._is_visit, asked=parts["ibis"].neighbours.peers)
        at = {name: is_at(of.context.me.uuid, session=it.joe.name) for name, of in parts.items()}
        assert at == {"heron": False, "stork": True, "ibis": False}, "only stork may answer for joe"
        assert it.direct == ["x"]

    play(scenario)


@pytest.mark.parametrize("links", ["any", "configured"])
def test_a_node_without_a_link_to_the_visited_one_finds_the_session(links: str) -> None:
    row, net = ["heron", "frodo", "bilbo", "egret"], SimNetwork()
    around = {name: row[max(0, n - 1) : n + 2] for n, name in enumerate(row)}
    nodes = {name: net.node(name, *row[:1], known=around[name], links=links) for name in row}
    joe = client_of(nodes["heron"], "joe", session=1, others=[nodes["egret"].ipc])
    ann = client_of(nodes["frodo"], "ann", session=1)
    net.run(5)
    joe.move(nodes["egret"].ipc)
    joe.connected()
    net.run(5)
    assert not len(nodes["frodo"].core.parts.context.visits)
    assert ann.call("clients", xpath=JOE) == rows("/node/heron/client/joe/session/1")


def rows(*clients: str) -> dict[str, object]:
    return {"clients": list(clients), "too_many": False, "missing": []}


def test_a_chain_is_asked_from_one_end_to_the_other() -> None:
    few = cluster("heron", "frodo", "bilbo")
    few.client("heron", "joe", session=1)
    ann = few.client("bilbo", "ann")
    few.net.run(3)
    assert ann.call("clients", xpath=JOE)["clients"] == ["/node/heron/client/joe/session/1"]


def test_nodes_that_are_silent_or_of_an_earlier_release_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(ClientFinder, "features", lambda self: ())
        net = SimNetwork()
        net.node("old", links="any")
    new = net.node("new", "old", links="any")
    ann = client_of(new, "ann", session=1)
    net.run(3)
    ann.send("/node/old/client/joe", b"links both nodes", force=True)
    ann.settled()
    found = ann.call("clients", xpath="//client")
    assert (found["clients"], found["missing"]) == (["/node/new/client/ann/session/1"], ["old"])


@pytest.mark.parametrize(
    "xpath", ["", "//client[", "//client[system()]", "//*[contains(., 'x')]" * 12, 5, None]
)
def test_what_is_no_xpath_is_refused_by_name(xpath: Any) -> None:
    node = SimNetwork().node("a")
    assert client_of(node)._called("clients", {"xpath": xpath})[1].code in ("BAD_XPATH", "BAD_QUERY")


def test_at_most_a_thousand_are_returned_in_small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_finder, "MOST", 3)
    monkeypatch.setattr(client_finder, "LEAST", VISITS)  # one session in a slice
    net = SimNetwork()
    node = net.node("a")
    joes = [client_of(node, "joe", session=number) for number in range(1, 6)]
    net.run(1)
    found = joes[0].call("clients", xpath=JOE)
    assert (len(found["clients"]), found["too_many"]) == (3, True)
    assert not joes[0].call("clients", xpath="//client[@session < 3]")["too_many"]


def test_a_node_answers_only_for_its_own_sessions_and_those_behind_it() -> None:
    said = [
        "/node/frodo/client/joe/session/1",
        "/node/bilbo/client/joe/session/1",  # behind frodo
        "/node/heron/client/joe/session/1",  # heron answers for itself
        "/node/frodo/client/joe",
        "client/joe/session/1",
        "/site/NYC/node/frodo/client/joe/session/1",
        "nonsense",
    ]
    asked = {"frodo", "heron"}
    assert list(believed("frodo", said, asked, lambda _: False)) == said[:2]
    assert list(believed("frodo", said, asked, lambda _: True)) == said[:3], "heron's session visits frodo"
    few = rows_of([*"cba", "a"], ["z", "y", "z"])
    assert (few.clients[:1], few.missing, few.too_many) == (["a"], ["y", "z"], False)
