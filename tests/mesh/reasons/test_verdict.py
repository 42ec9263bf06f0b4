"""The verdict from all reasons: causes first, and no reason that another one explains."""

import pytest

from mesh.reasons.reason import reason
from mesh.reasons.verdict import TOLD, of_step, verdict
from mesh.reasons.what import KINDS, What
from mesh.wire.replies import Reason, Step

TOPIC = What.of("topic", "k")


HERE = Step(node="a", decision="here", why="a rule")


def at(node: str, code: str, *about: str, **names: object) -> Reason:
    given = dict.fromkeys(
        ("node", "who", "nodes", "near", "age", "n", "domain", "group", "id", "sender", "why", "link"), "x"
    )
    one = reason(code, about, **{**given, **names})
    return Reason(node=node, code=one.code, rank=one.rank, says=one.says, about=one.about)


def codes(found: list[Reason]) -> list[tuple[str, str]]:
    return [(each.node, each.code) for each in found]


def test_causes_come_first_and_this_node_before_others() -> None:
    found = verdict(TOPIC, "a", [at("b", "LAST_VALUE"), at("b", "ERASED"), at("a", "ERASED")], [HERE])
    assert codes(found) == [
        ("a", "ERASED"), ("a", "NO_SUBSCRIBER"), ("b", "ERASED"), ("a", "ACCEPTED_HERE"), ("b", "LAST_VALUE")
    ]  # fmt: skip


def test_what_looks_like_it_counts_only_when_nobody_wants_it() -> None:
    near = [at("b", "NEAR_KEY"), at("b", "OTHER_DOMAIN"), at("b", "NOT_LINKABLE"), at("a", "NODE_DEAD")]
    assert {"NEAR_KEY", "OTHER_DOMAIN", "NO_SUBSCRIBER"} < {
        code for _, code in codes(verdict(TOPIC, "a", near))
    }
    wanted = verdict(TOPIC, "a", [*near, at("a", "SUBSCRIBED")], [HERE])
    assert codes(wanted) == [("a", "NODE_DEAD"), ("a", "SUBSCRIBED"), ("a", "ACCEPTED_HERE")]
    assert not any(each.is_cause for each in wanted)


@pytest.mark.parametrize(
    ("asks", "differs"),
    [
        ({"b": ("a",)}, False),
        ({"b": ("c",), "c": ("a",)}, False),
        ({"b": ("*",)}, False),
        ({"b": ("c",), "c": ("*",)}, False),
        ({"b": ("c",)}, True),
        ({"b": ("c",), "c": ("b",)}, True),
        ({}, True),
    ],
)
def test_rules_differ_when_what_a_subscribers_node_asks_comes_to_no_master(
    asks: dict[str, tuple[str, ...]], differs: bool
) -> None:
    found = [at("b", "SUBSCRIBED"), *(at(node, "ASKS", *about) for node, about in asks.items())]
    assert (("b", "RULES_DIFFER") in codes(verdict(TOPIC, "a", found, [HERE]))) is differs
    assert ("b", "RULES_DIFFER") not in codes(verdict(TOPIC, "b", found, [Step(node="b", decision="here")]))
    assert ("b", "RULES_DIFFER") not in codes(verdict(TOPIC, "a", found, [Step(node="a", decision="wait")]))


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (HERE, "ACCEPTED_HERE"),
        (Step(node="a", decision="forward", next="b"), "GOES_ON"),
        (Step(node="a", decision="wait", next="b", state="b is dead"), "MASTER_AWAY"),
        (Step(node="a", decision="wait"), "NO_MASTER"),
        (Step(node="a", decision="refuse", code="CIRCULAR_LOOP"), "CIRCULAR_LOOP"),
        (Step(node="a", decision="refuse", code="UNKNOWN_NODE"), "ROUTE_REFUSED"),
        (Step(node="a", decision="unknown"), "ROUTE_UNKNOWN"),
        (Step(), "ROUTE_UNKNOWN"),
        (Step(decision="{x}\n", next="{0}", why="{"), "ROUTE_UNKNOWN"),
    ],
)
def test_each_step_of_a_way_is_a_reason(step: Step, code: str) -> None:
    assert (of_step(step).code, of_step(step).node) == (code, step.node)


@pytest.mark.parametrize("kind", KINDS)
def test_without_any_reason_it_is_said_that_nobody_knows_it(kind: str) -> None:
    text = {"message": "ab" * 16 + ":1", "tx": "a/x"}.get(kind, "x")
    found = verdict(What.of(kind, text), "a", [])
    assert len(found) == (kind != "node") and all(each.is_cause and each.node == "a" for each in found)


def test_who_did_not_answer_is_named_and_all_is_bounded() -> None:
    found = verdict(TOPIC, "a", [], missing=[f"n{n}" for n in range(1000)] * 2)
    assert len([each for each in found if each.code == "NOT_ASKED"]) == 8
    many = [at(f"n{n}", "LAST_VALUE", id=n) for n in range(1000)]
    assert len(verdict(TOPIC, "a", many)) == TOLD and verdict(TOPIC, "a", many)[0].is_cause


def test_why_it_was_refused_stands_in_the_place_of_that_it_was() -> None:
    bare, given = (at(node, "REFUSED", why="REFUSED") for node in "ab"), at("b", "REFUSED", why="EXPIRED")
    told = [each.says for each in verdict(What.of("message", "0" * 32 + ":1"), "a", [*bare, given])]
    assert told == ["the message was refused here: REFUSED", "the message was refused here: EXPIRED"]


def test_who_asks_of_a_node_is_not_told_to_ask_of_it() -> None:
    found = [reason("LINK_REFUSED", node=node, by="me", no="DENIED", why="x") for node in ("b", "c")]
    hints = {each.says[0]: each.hint for each in verdict(What.of("node", "b"), "a", found)}
    assert hints == {"b": "", "c": "See `mesh why node c`."}


def test_of_a_node_others_say_only_what_is_amiss() -> None:
    what = What.of("node", "b")
    found = [at("a", "NODE_ALIVE"), at("c", "NODE_ALIVE"), at("b", "NODE_SELF"), at("c", "NODE_DEAD")]
    assert codes(verdict(what, "a", found)) == [("c", "NODE_DEAD"), ("a", "NODE_ALIVE"), ("b", "NODE_SELF")]
