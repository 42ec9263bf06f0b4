"""The names in a text, the order of the questions, and the reports that count."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.errors import BadKey, BadName, MeshError
from mesh.features.where.model import (
    CLAIMED,
    KINDS,
    SERVERS,
    Named,
    Progress,
    merged,
    next_to_ask,
    readings,
    share,
    similar,
    valid,
)
from mesh.wire.replies import Sighting
from tests.each import each

READ = {
    "heron": ["node/heron", "client/heron", "address/heron", "queue/heron", "site/heron"],
    "calc/add": ["address/calc/add", "queue/calc/add"],
    "x y": ["address/x y", "queue/x y"],
    "node/heron": ["node/heron"],
    "client/joe": ["client/joe"],
    "client/joe/session/1": ["client/joe/session/1"],
    "client/joe/1": ["client/joe/session/1"],
    "/node/heron/client/joe/-3": ["/node/heron/client/joe/session/-3"],
    "/node/heron/client/joe": ["/node/heron/client/joe"],
    "/node/heron/client/joe/session/-3": ["/node/heron/client/joe/session/-3"],
    "address/calc/add": ["address/calc/add"],
    "queue/orders": ["queue/orders"],
    "queue/sub/audit": ["queue/sub/audit"],
    "sub/audit": ["queue/sub/audit"],
    "site/FRA": ["site/FRA"],
    "/site/FRA/calc/add": ["site/FRA"],
    "/site/FRA/node/gull/client/ann": ["site/FRA"],
    "a" * 201: [f"address/{'a' * 201}"],  # too long for a queue
}


@each("text", READ)
def test_a_text_names_objects_of_these_kinds_and_their_names_mean_the_same(text: str) -> None:
    found = readings(text)
    assert [str(named) for named in found] == READ[text]
    assert all(named.kind in KINDS and readings(str(named)) == [named] for named in found)


@each(
    "text",
    [
        "",
        "/",
        "node/",
        "node/a/b",
        "client/",
        "queue/a/#",
        "a/+",
        "/node/heron",
        "/site/",
        "x" * 521,
        "\ud800",
    ],
)
def test_what_can_name_nothing_is_refused(text: str) -> None:
    with pytest.raises((BadName, BadKey)):
        readings(text)


@each("text", [None, 1, float("nan"), b"joe", ["joe"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(MeshError):
        readings(text)


def test_the_home_is_the_node_in_the_name_of_a_client() -> None:
    homes = {text: readings(text)[0].home for text in ("/node/heron/client/joe", "client/joe", "node/heron")}
    assert homes == {"/node/heron/client/joe": "heron", "client/joe": "", "node/heron": ""}


def test_nodes_with_nameservice_follow_names_without_nodes_and_generated_numbers() -> None:
    names = ("/node/a/client/joe", "/node/a/client/joe/session/2", "/node/a/client/joe/session/-2", "queue/q")
    followed = ["client/joe", "client/joe/session/2", "client/joe", "q"]
    assert [readings(name)[0].followed for name in names] == followed


# --- the next round ---------------------------------------------------------------------------------------

NODES = tuple("abcdef")


def progress(**known: Any) -> Progress:
    return Progress(**{"askable": NODES, "servers": (), "claimed": (), "asked": (), **known})


ROUNDS = [
    (progress(), list(NODES)),
    (progress(asked=NODES), []),
    (progress(askable=()), []),
    (progress(servers="bc"), ["b", "c"]),
    (progress(servers="bc", asked="b"), ["a", "c", "d", "e", "f"]),
    (progress(servers="b", asked="b", claimed="d"), ["d"]),
    (progress(servers="b", asked="b", claimed="dz"), ["d"]),
    (progress(servers="b", asked="bd", claimed="d"), ["a", "c", "e", "f"]),
    (progress(servers="b", asked="bd", is_found=True), ["a", "c", "e", "f"]),
    (progress(servers="b", asked="bd", is_found=True, is_complete=True), []),
    (progress(servers="b", asked="b", is_found=True, is_complete=True, claimed="d"), ["d"]),
    (progress(is_complete=True), list(NODES)),
    (progress(home="e", servers="b"), ["e"]),
    (progress(home="e", asked="e", is_found=True), []),
    (progress(home="e", asked="e", servers="b"), ["b"]),
    (progress(home="z", servers="b"), ["b"]),
]


@each("case", ROUNDS)
def test_the_home_then_nodes_that_know_all_then_their_claims_then_all_others_are_asked(
    case: tuple[Progress, list[str]],
) -> None:
    known, names = case
    assert next_to_ask(known) == names


def test_a_round_is_bounded_in_a_mesh_of_a_thousand_nodes() -> None:
    many = [f"n{n}" for n in range(1000)]
    assert len(next_to_ask(progress(askable=many, servers=many))) == SERVERS
    assert len(next_to_ask(progress(askable=many, claimed=many))) == CLAIMED
    few = many[: CLAIMED + 1]
    followed = {"servers": "b", "asked": ["b", "n0"], "is_complete": True, "is_followed": True}
    assert next_to_ask(progress(askable=few, **followed)) == few[1:], "the name may be new"
    assert next_to_ask(progress(askable=many, **followed)) == []
    assert len(next_to_ask(progress(askable=many, claimed=many, **followed))) == CLAIMED
    assert len(next_to_ask(progress(askable=many, is_complete=True))) == 1000, "no node follows the others"


def test_all_rounds_together_take_what_is_left() -> None:
    left = 2.0
    for is_last in (False, False, True):
        left -= share(left, is_last)
    assert left == pytest.approx(0.0) and share(-1.0, True) == 0.0


# --- reports ----------------------------------------------------------------------------------------------

JOE = Named("client", "client/joe")


def row(
    node: str, by: str = "", state: str = "connected", name: str = "client/joe", kind: str = "client"
) -> Sighting:
    return Sighting(kind=kind, name=name, node=node, by=by or node, state=state, count=1)


def test_a_report_has_wanted_names_only_and_the_name_of_its_reporter() -> None:
    said = [
        row("b", by="z"),
        row("c", name="client/ann"),
        row("d", kind="queue"),
        row("", by="b"),
        row("e\n", by="b"),
        row("f", state="on fire"),
    ]
    found = list(valid(said, [JOE], "b", 10))
    assert [(each.node, each.by, each.state) for each in found] == [
        ("b", "b", "connected"),
        ("f", "b", "reported"),
    ]
    assert len(list(valid([row("b")] * 9, [JOE], "b", 3))) == 3
    lie = row("b", kind="node", name="node/c")
    assert not list(valid([lie], [Named("node", "c")], "b", 9)), "a node is where it is"


def test_a_node_that_was_asked_speaks_for_itself() -> None:
    said = [row("b", by="s", state="reported"), row("c", by="s", state="reported"), row("d", by="s")]
    assert [each.node for each in merged(said, {"b"})] == ["c", "d"]
    own = row("b", state="away")
    assert merged([*said, own], {"b"})[0] == own


def test_the_node_itself_comes_before_others_and_a_known_state_before_a_report() -> None:
    itself, other, reported = row("b"), row("b", by="c"), row("b", by="a", state="reported")
    for rows in ([itself, other, reported], [reported, other, itself]):
        assert merged(rows, ()) == [itself]
    assert merged([reported, other], ()) == merged([other, reported], ()) == [other]


def test_passive_places_count_only_without_another_one() -> None:
    def queue(node: str, state: str) -> Sighting:
        return row(node, state=state, name="queue/q", kind="queue")

    empty = [queue("a", "empty"), queue("b", "empty")]
    assert merged(empty, ()) == empty
    assert merged([*empty, queue("c", "waiting")], ()) == [queue("c", "waiting")]
    other = row("a", state="known", name="site/q", kind="site")
    assert merged([*empty, other], ()) == [*empty, other], "each name by itself"


def test_places_are_in_the_order_of_kinds_then_names_then_nodes() -> None:
    rows = [
        row("b", name="queue/x", kind="queue", state="waiting"),
        row("b"),
        row("a"),
        row("z", name="node/z", kind="node"),
    ]
    assert [(each.kind, each.node) for each in merged(rows, ())] == [
        ("node", "z"),
        ("client", "a"),
        ("client", "b"),
        ("queue", "b"),
    ]


def test_similar_names_are_few_and_valid() -> None:
    found = {"a": ["client/joe", "\x1b[2J/#", "queue/a"], "b": ["client/joe", "node/x", "site/y", "site/z"]}
    assert similar(found) == ["client/joe", "queue/a", "node/x"]
    assert similar({"a": ["\ud800", ""]}) == []
