"""Rules that the whole mesh shares, and how they combine with a node's own file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mesh.errors import LocalError
from mesh.mapping.agreed import (
    ALTERNATIVES,
    LATER,
    NONE,
    NOTHING,
    Agreed,
    AgreedNode,
    RuleSet,
    counting,
    packed,
    unpacked,
)
from mesh.mapping.filters import Filter
from mesh.mapping.rules import MOST_NODES, KeyRule, Rule

A = Rule("a", domains=("D",), given=(KeyRule("EXACT", "k", (Filter("ContentLength", "8"),)),))
B, C = Rule("b", domains=("D",)), Rule("c", 2, ("*",), refid="b")
OWN = RuleSet((A, B, replace(B, domains=("E",))), ("a", "b"))


def of(**rules: Any) -> Agreed:
    return Agreed({name: AgreedNode(said) for name, said in rules.items()})


def test_a_list_is_read_as_it_was_written() -> None:
    agreed = (
        NONE.with_("a", AgreedNode((A,), True)).with_("c", AgreedNode((C,))).with_("b", AgreedNode((), False))
    )
    assert list(agreed.nodes) == ["a", "b", "c"]
    assert unpacked(packed(agreed)) == agreed
    assert unpacked(b"") == NONE
    assert agreed.with_("a", NOTHING).with_("b", NOTHING).with_("c", NOTHING) == NONE


def test_terms_of_later_releases_are_left_out_unless_they_are_used() -> None:
    plain = of(a=(Rule("a", domains=("D",)),))
    terms = msgspec.msgpack.decode(packed(plain))["nodes"]["a"]["rules"][0]
    assert list(terms)[-1] == "dirty_read", "an earlier release refuses terms that it does not know"
    cached = of(a=(Rule("a", domains=("D",), cache_ttl=5.0),))
    terms = msgspec.msgpack.decode(packed(cached))["nodes"]["a"]["rules"][0]
    assert (terms["cache_ttl"], "cache_linger" in terms) == (5.0, False)
    assert unpacked(packed(cached)) == cached


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 86_401.0])
@pytest.mark.parametrize("term", ["cache_ttl", "cache_linger"])
def test_an_impossible_time_in_the_cache_is_refused(term: str, seconds: float) -> None:
    rule: Any = {term: seconds}
    with pytest.raises(LocalError, match=f"A rule of a has {term} = "):
        unpacked(packed(of(a=(Rule("a", domains=("D",), **rule),))))


@pytest.mark.parametrize("number", [0, -1, 4097])
def test_an_impossible_number_of_nodes_is_refused(number: int) -> None:
    with pytest.raises(LocalError, match=f"A rule of a has min_nodes = {number}; the limit is 4,096"):
        unpacked(packed(of(a=(Rule("a", domains=("D",), min_nodes=number),))))


@pytest.mark.parametrize(
    ("agreed", "rules", "known", "denied"),
    [
        (NONE, OWN.rules, ("a", "b"), ()),
        (of(b=(C,)), (A, C), ("a", "b"), ()),  # as a whole, in its place
        (of(b=()), (A,), ("a", "b"), ()),  # none, whatever the file contains
        (of(c=(C,)), (*OWN.rules, C), ("a", "b", "c"), ()),  # at the end
        (Agreed({"c": AgreedNode(None, True)}), OWN.rules, ("a", "b", "c"), ()),
        (Agreed({"b": AgreedNode(None, False)}), OWN.rules, ("a",), ("b",)),
        (Agreed({"c": AgreedNode((C,), False)}), (*OWN.rules, C), ("a", "b"), ("c",)),
    ],
)
def test_what_all_share_stands_in_the_place_of_what_a_file_says(
    agreed: Agreed, rules: Any, known: Any, denied: Any
) -> None:
    assert counting(OWN, agreed) == RuleSet(rules, known, frozenset(denied))


def plain(**fields: Any) -> bytes:
    """Return a shared list with one rule of node a, which has these other fields."""
    terms = {term: value for term, value in msgspec.to_builtins(B).items() if term not in LATER}
    rule = {**terms, "node": "a", **fields}
    return msgspec.msgpack.encode({"nodes": {"a": {"rules": [rule]}}})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"\xff", "cannot be read"),
        (b"\x00", "cannot be read"),
        (msgspec.msgpack.encode({"nodes": {"a": {"rules": [{"node": "a"}]}}}), "newer release"),
        (plain(colour="red"), "newer release"),
        (plain(stratum=1.0), "cannot be read"),
        (plain(stratum=2**63), "stratum"),
        (plain(stratum=-1), "stratum"),
        (plain(stratum=16), "stratum"),
        (plain(cache_ttl="5"), "cannot be read"),
        (plain(history=0), "history = 0"),
        (plain(history=2**63), "history = "),
        (plain(history=1), "newer release"),
        (plain(cache_ttl=0.0), "newer release"),
        (plain(domains="NEWS"), "cannot be read"),
        (plain(domains=["N*"]), "wildcard"),
        (plain(keys=["a/#"]), "key"),
        (plain(xpaths=["//a["]), "XPath"),
        (plain(xpaths=[f"//*[.//b[@c='{n}']]" for n in range(60)]), "nodes for one message"),
        (plain(patterns=["a/#/b"]), "#"),
        (plain(node="b"), "belongs to 'b'"),
        (plain(refid="a", stratum=1), "refid"),
        (plain(refid="b"), "refid"),
        (plain(refid="b c", stratum=1), "name"),
        (plain(keys=[f"k{n}" for n in range(ALTERNATIVES + 1)]), "more than"),
        (plain(filters=[{"type": "x", "text": "x" * 1025, "version": "1", "group": "g"}]), "characters"),
        (plain(given=[{"kind": "SOME", "text": "", "filters": []}]), "SOME"),
        (packed(Agreed({"a b": NOTHING})), "name"),
        (packed(Agreed({"b": NOTHING, "a": NOTHING})), "not sorted"),
        (packed(Agreed({f"n{n:05}": NOTHING for n in range(MOST_NODES + 1)})), "nodes"),
        (packed(Agreed({"a": AgreedNode(at=("tcp://h:1",) * 9)})), "9 addresses"),
        (packed(Agreed({"a": AgreedNode(at=("ipc:///x",))})), "no address of a"),
        (packed(Agreed({"a": AgreedNode(at=("tcp://h:1\n",))})), "no address of a"),
        (packed(Agreed({"a": AgreedNode(at=(f"tcp://{'h' * 300}:1",))})), "no address of a"),
        (packed(Agreed(by="a\nb")), "cannot be read"),
        (packed(Agreed(base=-1)), "cannot be read"),
    ],
)
def test_what_cannot_be_a_list_is_refused_at_every_node_alike(value: bytes, said: str) -> None:
    with pytest.raises(LocalError, match=said):
        unpacked(value)
