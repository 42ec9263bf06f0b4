"""Where a name is: one reply for all nodes, in time, whatever other nodes report."""

from __future__ import annotations

import math

from mesh.features.where.node.locating import OPEN
from mesh.features.where.node.parts import WhereParts
from mesh.wire.calls import AskLocate
from mesh.wire.commands import Call
from mesh.wire.limits import LARGEST_NUMBER
from mesh.wire.replies import Located, Sighting
from tests.mesh.features.queues.node.worker import Worker
from tests.mesh.features.services.node.user import User
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member
from tests.mesh.features.where.asking import Asker, Heard, becomes_old, falls_silent
from tests.mesh.kernel.lying import replies
from tests.simulated_client import Call as Kept
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def trio() -> tuple[SimNode, SimNode, SimNode]:
    a, b, c = SimNetwork(1).mesh("a", "b", "c")
    return a, b, c


def test_a_client_is_at_the_node_where_it_is_connected() -> None:
    a, b, _ = trio()
    joe = client_of(b, "joe", session=7)
    who = Asker(a)
    for name in ("joe", "client/joe", "/node/b/client/joe"):
        [row] = who.rows(name)
        assert (row.kind, row.node, row.by, row.state, row.count) == ("client", "b", "b", "connected", 1)
        assert (row.life, row.address) == ("alive", b.address)
    for name in ("client/joe/session/7", "/node/b/client/joe/session/7"):
        assert who.places(name) == [(name, "b", "b")] and who.rows(name)[0].kind == "session"
    joe.die()
    a.net.until(lambda: who.rows("joe")[0].state == "away")


def test_an_address_has_all_its_nodes_with_their_servers() -> None:
    a, b, c = trio()
    User(b, "one").serve("calc/add")
    two = User(c, "two")
    two.serve("calc/add")
    two.serve("calc/add", 2)
    rows = Asker(a).rows("calc/add")
    assert [(row.node, row.state, row.count) for row in rows] == [("b", "served", 1), ("c", "served", 2)]


def test_a_queue_is_where_its_messages_and_consumers_are_or_at_all_nodes_while_it_is_empty() -> None:
    a, b, _ = trio()
    worker, who = Worker(b, "worker"), Asker(a)
    worker.declare("orders")
    a.net.until(lambda: len(who.rows("orders")) == 3)
    assert {row.state for row in who.rows("queue/orders")} == {"empty"}
    worker.put("orders", b"1")
    a.net.until(lambda: who.rows("orders")[0].state == "waiting")
    [row] = who.rows("orders")
    assert (row.name, row.node, row.count) == ("queue/orders", "b", 1)
    worker.take("orders")
    a.net.until(lambda: who.rows("orders")[0].state == "consumed")


def test_a_site_is_at_its_gateways_and_so_are_its_clients() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    swift = member(net, "swift", "LON", "heron", sites={"NYC": (FIRST,)})
    net.until(lambda: links(gull) == links(heron) == 1 and swift.alive == {"heron"})
    who = Asker(swift)
    for name in ("NYC", "site/NYC", "/site/NYC/node/gull/client/ann", "/site/NYC/calc/add"):
        net.until(lambda: [row.state for row in who.rows(name)] == ["up"])  # noqa: B023 - at once
        assert who.places(name) == [("site/NYC", "heron", "heron")]
    assert [row.node for row in who.rows("LON")] == ["heron", "swift"], "the site itself is at all its nodes"


def test_a_node_is_known_without_a_question_even_when_it_is_dead() -> None:
    a, b, c = trio()
    who, heard = Asker(a), Heard(b, c)
    assert who.places("node/b") == [("node/b", "b", "a")] and who.places("node/a") == [("node/a", "a", "a")]
    b.kill()
    a.net.until(lambda: a.alive == {"c"})
    assert [(row.state, row.life) for row in who.rows("node/b")] == [("dead", "dead")]
    assert not heard


def test_a_name_of_several_objects_has_all_places_and_a_kind_selects_one() -> None:
    a, b, _ = trio()
    client_of(b, "joe")
    worker, user = Worker(b, "worker"), User(a, "user")
    for number, name in enumerate(("joe", "b"), 1):
        worker.declare(name)
        user.serve(name, number)
    who = Asker(a)
    a.net.until(lambda: len(who.rows("joe")) == len(who.rows("b")) == 5)
    for name, first in (("joe", ("client/joe", "b")), ("b", ("node/b", "b"))):
        rest = [(f"address/{name}", "a"), *((f"queue/{name}", node) for node in "abc")]
        assert [found[:2] for found in who.places(name)] == [first, *rest]
        for text in {first[0], f"address/{name}", f"queue/{name}"}:
            assert [found[:2] for found in who.places(text)] == [x for x in (first, *rest) if x[0] == text]


def test_an_unknown_name_is_an_error_with_similar_names_of_all_nodes() -> None:
    a, b, c = trio()
    client_of(b, "joseph")
    User(c, "one").serve("calc/multiply")
    who = Asker(a)
    code, text = who.refused("jospeh")
    assert code == "UNKNOWN_NAME" and "client/joseph" in text
    assert "address/calc/multiply" in who.refused("calc/mulitply")[1]
    assert "client/joseph" not in who.refused("queue/jospeh")[1], "only queues are meant"
    assert who.seconds < 0.1, "all nodes have answered"


def test_what_cannot_be_a_name_is_refused_here() -> None:
    a, b, c = trio()
    who, heard = Asker(a), Heard(b, c)
    for name in (
        "",
        "/",
        "queue/",
        "client/",
        "a/+/b",
        "queue/#",
        "client/joe/session/0",
        "node/" + "x" * 65,
        "/x",
    ):
        assert who.refused(name)[0].startswith("BAD_"), name
    for odd in (None, -1, math.nan, 2**63 - 1, ["a"], "x" * 521):
        _, reply = who.client._called("locate", {"name": odd})
        assert reply.code == "BAD_QUERY", odd
    assert not heard and who.places("node/a"), "the connection is still there"


def test_only_the_home_in_a_name_is_asked_while_it_answers() -> None:
    a, b, c = trio()
    client_of(b, "joe")
    who, heard = Asker(a), Heard(b, c)
    who.rows("/node/b/client/joe")
    assert heard == {"b": 1}
    falls_silent(b)
    assert "No answer from b" in who.refused("/node/b/client/joe")[1]
    assert heard["c"] == 1, "the client may be elsewhere"
    assert who.seconds <= 2.01


def test_a_session_of_the_asked_node_needs_no_question() -> None:
    a, b, c = trio()
    joe = client_of(a, "joe")
    who, heard = Asker(a), Heard(b, c)
    assert who.places(joe.session_name) == [(joe.session_name, "a", "a")]
    assert not heard


def test_nodes_that_do_not_answer_are_named_within_2_s() -> None:
    a, b, c = trio()
    client_of(b, "joe")
    falls_silent(c)
    who = Asker(a)
    assert who.located("joe").missing == ["c"] and who.seconds <= 2.01
    assert "No answer from c" in who.refused("ann")[1]


def test_a_node_of_an_earlier_release_is_named_at_once() -> None:
    a, b, c = trio()
    client_of(b, "joe")
    becomes_old(c)
    who = Asker(a)
    assert who.located("joe").missing == ["c"] and who.seconds < 0.1


def test_a_liar_cannot_report_a_place_without_its_own_name() -> None:
    a, _, c = trio()
    row = {"kind": "client", "name": "client/joe", "by": "b", "state": "connected", "count": LARGEST_NUMBER}
    lies = [
        {**row, "node": "ghost"},
        {**row, "node": "a"},
        {**row, "node": "b", "life": "alive"},
        {**row, "node": "no name"},
        {**row, "node": "ghost", "name": "client/ann"},
        {**row, "node": "ghost", "kind": "node"},
        {**row, "node": "ghost2", "count": -1, "state": "\x1b[2J"},
    ]
    replies(c, AskLocate, {"sightings": lies, "near": ["\x1b[2J"] * 9, "missing": ["\x1b", "x" * 9999]})
    who = Asker(a)
    found = who.located("joe")
    assert [(row.node, row.by, row.life, row.address) for row in found.sightings] == [
        ("ghost", "c", "", ""),
        ("ghost2", "c", "", ""),
    ]
    assert (found.sightings[1].state, found.sightings[1].count) == ("reported", 0)
    assert found.missing == []
    replies(
        c, AskLocate, {"sightings": [{**row, "kind": "node", "name": "node/b", "node": "b", "state": "dead"}]}
    )
    assert [(row.node, row.state) for row in who.rows("b")] == [("b", "alive")]


def test_an_unreadable_answer_counts_as_none() -> None:
    a, b, c = trio()
    client_of(b, "joe")
    replies(c, AskLocate, {"sightings": [{"kind": "client"}]})
    found = Asker(a).located("joe")
    assert ([row.node for row in found.sightings], found.missing) == (["b"], ["c"])


def test_an_answer_with_a_million_rows_is_cut() -> None:
    a, _, c = trio()
    many = [
        Sighting(kind="client", name="client/joe", node=f"ghost{n}", by="c", state="connected")
        for n in range(2000)
    ]
    replies(c, AskLocate, Located(sightings=many, near=["x"] * 2000))
    assert len(Asker(a).rows("joe")) == 200


def test_behind_a_node_that_links_only_configured_ones_a_name_is_found_through_it() -> None:
    net = SimNetwork(1)
    a = net.node("a", known=("b",), links="configured")
    net.node("b", "a", known=("a", "c"), links="configured")
    c = net.node("c", "b", known=("b",), links="configured")
    net.until(lambda: a.core.parts.nodes.is_alive("b") and c.core.parts.nodes.is_alive("b"))
    client_of(c, "joe")
    who = Asker(a)
    [row] = who.rows("joe")
    assert (row.node, row.by, row.state) == ("c", "b", "connected"), (
        "a node behind speaks through its neighbor"
    )
    assert who.refused("ann")[0] == "UNKNOWN_NAME" and who.seconds <= 2.01


def test_equal_questions_share_a_search_and_too_many_searches_are_refused() -> None:
    a, b, c = trio()
    heard = Heard(c)
    falls_silent(b)
    who = Asker(a)

    def ask(name: str) -> Kept:
        return who.client.ask(lambda request: Call(request, "locate", {"name": name}))

    calls = [ask("joe") for _ in range(10)]
    a.net.until(lambda: heard["c"] > 0)
    more = [ask(f"joe{n}") for n in range(OPEN)]
    a.net.until(lambda: all(call.reply for call in calls + more))
    assert heard["c"] == OPEN, "one question for all equal ones"
    codes = [call.reply.code for call in more if call.reply]
    assert codes.count("TOO_MANY_REQUESTS") == 1 and codes.count("UNKNOWN_NAME") == OPEN - 1
    assert not a.core.parts[WhereParts].locating.searches
