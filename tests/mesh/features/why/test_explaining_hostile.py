"""`why` with nodes that lie, are silent or give endless reasons, and with nonsensical questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mesh.features.why.explaining import BEHIND
from mesh.kernel.context.component import Component
from mesh.kernel.context.dispatch_tables import REASONS, DispatchTables, room_of
from mesh.reasons.reason import LONGEST, reason
from mesh.reasons.what import What
from mesh.wire import commands as c
from mesh.wire.calls import AskWhy
from tests.mesh.kernel.causes import mesh, reasons, two, waited_too_long
from tests.mesh.kernel.lying import replies
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

LYING: list[Any] = [
    None, 5, [], {"reasons": 5}, {"reasons": [5]}, {"reasons": [{"says": 5}]},
    {"reasons": [{"about": [None]}]}, {"reasons": [{"rank": float("nan")}]},
]  # fmt: skip


def codes(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(each["node"], each["code"]) for each in found}


@pytest.mark.parametrize("said", LYING)
def test_a_node_that_answers_nonsense_is_named_as_silent(said: Any) -> None:
    *_, b, pub = two()
    replies(b, AskWhy, said)
    found = codes(reasons(pub, "topic", "k"))
    assert ("a", "NO_SUBSCRIBER") in found and not any(node == "b" for node, _ in found)


def test_what_a_liar_says_is_his_own_and_bounded() -> None:
    *_, b, pub = two()
    one = {"node": "a", "code": "X" * 99, "rank": "cause", "about": ["n" * 99] * 20}
    some = [{**one, "hint": f"{n}", "says": f"{n}" + "\x1b[3m" * 200} for n in range(70)]
    replies(b, AskWhy, {"reasons": some, "missing": ["a"] * 9})
    theirs = [each for each in reasons(pub, "topic", "k") if each["node"] == "b"]
    assert len(theirs) == 70 <= BEHIND
    assert all(len(each["says"]) <= LONGEST and len(each["code"]) <= 64 for each in theirs)
    assert all(
        len(each["about"]) <= REASONS and set(each["about"]) == {"n" * 64} and each["hint"] for each in theirs
    )


def test_a_liar_makes_nobody_wait_longer_nor_hides_what_others_say() -> None:
    _, (a, b, c) = mesh("a", "b", "c")
    client_of(c, "ear").subscribed("news")
    replies(
        b, AskWhy, {"reasons": [{"code": "SUBSCRIBED", "rank": "state"}, {"code": "ASKS", "about": ["b"]}]}
    )
    found = codes(reasons(client_of(a), "topic", "news"))
    assert ("c", "SUBSCRIBED") in found and ("a", "ACCEPTED_HERE") in found


def test_who_does_not_answer_within_two_seconds_is_named() -> None:
    net, (a, *_) = mesh("a", "b", "c")
    pub = client_of(a, "pub").connected()
    net.cut("a", "b")
    began = net.now
    reply = pub.call("why", kind="topic", text="k")
    assert reply["missing"] == ["b"] and net.now - began < 2.5
    assert ("a", "NOT_ASKED") in codes(reply["reasons"])


def test_a_node_of_an_earlier_release_is_named_too() -> None:
    *_, b, pub = two()
    del b.core.parts.context.face.peer_verbs["why"]
    assert ("a", "NOT_ASKED") in codes(reasons(pub, "topic", "k"))


def refusal(who: SimClient, **arguments: Any) -> str:
    call = who.ask(lambda request: c.Call(request, "why", arguments))
    who.net.until(lambda: call.reply)
    assert call.reply is not None
    return call.reply.code


BAD: list[tuple[dict[str, Any], str]] = [
        ({}, "BAD_QUERY"), ({"kind": "topic"}, "BAD_QUERY"), ({"kind": 5, "text": "k"}, "BAD_QUERY"),
        ({"kind": "topic", "text": None}, "BAD_QUERY"), ({"kind": "planet", "text": "k"}, "BAD_ARGUMENT"),
        ({"kind": "topic", "text": ""}, "BAD_KEY"), ({"kind": "topic", "text": "a/#"}, "BAD_KEY"),
        ({"kind": "topic", "text": "k" * 100_000}, "BAD_KEY"), ({"kind": "node", "text": "a/b"}, "BAD_NAME"),
        ({"kind": "message", "text": "1"}, "BAD_NAME"), ({"kind": "client", "text": "/node/"}, "BAD_NAME"),
        ({"kind": "message", "text": f"{'ab' * 16}:{10**40}"}, "BAD_NAME"),
        ({"kind": "topic", "text": "k", "domain": "d" * 999}, "BAD_KEY"),
]  # fmt: skip


def test_what_cannot_be_asked_is_refused_by_name_and_costs_nobody_anything() -> None:
    _, a, b, pub = two()
    for arguments, code in BAD:
        assert refusal(pub, **arguments) == code, arguments
        peer = a.core.parts.neighbours.peers[b.uuid]
        assert peer.data is None, "nobody was asked"
    assert refusal(pub, kind="topic", text="k") == ""


def test_whoever_may_read_may_ask() -> None:
    _, a, _, pub = two()
    pub.connected()
    for conn in a.core._conns.values():
        conn.grant = "monitor"
    assert reasons(pub, "node", "b")


def test_what_a_dead_letter_says_is_not_told_only_its_code() -> None:
    found = reasons(*waited_too_long())
    (dead,) = [each for each in found if each["code"] == "DEAD"]
    assert dead["says"] == "the message is a dead letter here: EXPIRED"


class Chatty(Component):
    """A component with endless reasons."""

    def explain(self, what: What) -> Any:
        while True:
            yield reason("NODE_UNKNOWN", node="x")


def test_one_node_gives_so_many_reasons_at_most() -> None:
    face = DispatchTables()
    face.fill((Chatty(),))
    assert len(face.explain(What.of("node", "x"))) == REASONS


def test_the_room_of_a_part_is_told() -> None:
    net = SimNetwork()
    parts = net.node("a").core.parts
    rooms = {room_of(part) for part in parts.context.face}
    assert {"peers", "delivery", "forwarding", "subscribers", "services", "queues", "status"} <= rooms


def listens(node: SimNode, name: str, heard: list[str]) -> None:
    """Record in `heard` each `why` question of another node."""
    verbs = node.core.parts.context.face.peer_verbs
    verb = verbs["why"]

    def then(asked: Any) -> None:
        heard.append(name)
        verb.then(asked)

    verbs["why"] = replace(verb, then=then)


def test_where_not_all_are_linked_the_question_is_handed_on_and_comes_to_each_once() -> None:
    c = cluster("heron", "frodo", "bilbo", "avalon", "golan")
    heard: list[str] = []
    for name, node in c.nodes.items():
        listens(node, name, heard)
    found = codes(reasons(c.client("bilbo"), "node", "heron"))
    assert set(heard) == {"avalon", "frodo", "heron"} and len(heard) <= 4
    assert ("heron", "NODE_SELF") in found


def test_who_is_silent_behind_another_is_named() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo").connected()
    c.net.cut("frodo", "heron")
    reply = joe.call("why", kind="topic", text="k", domain=RUGBY)
    assert reply["missing"] == ["heron"]


def test_nobody_speaks_for_a_node_that_is_asked_itself() -> None:
    _, (a, b, _) = mesh("a", "b", "c")
    replies(b, AskWhy, {"reasons": [{"node": name, "code": "X"} for name in ("a", "b", "c", "d")]})
    found = codes(reasons(client_of(a), "topic", "news"))
    assert {node for node, code in found if code == "X"} == {"b", "d"}
