"""Rules that the whole mesh shares, and how they combine with a node's own file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mesh.errors import LocalError
from mesh.mapping.agreed import (
    ALTERNATIVES,
    NODES,
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
from mesh.mapping.rules import KeyRule, Rule

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
    rule = {**msgspec.to_builtins(B), "node": "a", **fields}
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
        (packed(Agreed({f"n{n:05}": NOTHING for n in range(NODES + 1)})), "nodes"),
        (packed(Agreed(by="a\nb")), "cannot be read"),
        (packed(Agreed(base=-1)), "cannot be read"),
    ],
)
def test_what_cannot_be_a_list_is_refused_at_every_node_alike(value: bytes, said: str) -> None:
    with pytest.raises(LocalError, match=said):
        unpacked(value)
