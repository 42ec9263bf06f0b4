"""Rules of a node as XML, which are read as they were written."""

from __future__ import annotations

import pytest

from mesh.features.xmlblaster.clusternode import read_clusternode
from mesh.features.xmlblaster.properties import Property
from mesh.mapping.filters import Filter
from mesh.mapping.rules import KeyRule, Rule, standing_in
from mesh.mapping.rulesxml import info_xml, master_xml

LARGE = Filter("ContentLength", "8000")


@pytest.mark.parametrize(
    "rule",
    [
        Rule("a", domains=("NEWS", "*", "")),
        Rule("a", 2, ("NEWS",), refid="b", accept_default=False, accept_other_default=True),
        Rule("a", keys=('radar<&>"',), xpaths=("//a[@b='<&']",), patterns=("radar/+/#",)),
        Rule(
            "a", filters=(LARGE,), given=(KeyRule("XPATH", "//a", (LARGE, Filter("ContentGlob", "*<x>*"))),)
        ),
        Rule(
            "a",
            1,
            ("NEWS",),
            dirty_read=True,
            cache_ttl=0.001,
            cache_linger=86_400.0,
            history=1000,
            min_nodes=2,
        ),
        Rule("a", given=(KeyRule("EXACT", "k", (LARGE,)), KeyRule("DOMAIN", "D", (LARGE,)))),
        Rule("a", 2, refid="b"),
    ],
)
def test_rules_are_read_as_they_were_written(rule: Rule) -> None:
    found = read_clusternode(Property("clusternode", "a", master_xml("a", [rule, rule]).decode(), "x:1"))
    assert (found.name, found.rules, found.notes) == ("a", (rule, rule), [])


def test_who_stands_in_for_a_node_is_read_as_it_was_written_and_is_no_master_in_a_text_of_its_own() -> None:
    master, other = Rule("a", domains=("NEWS",)), Rule("d", domains=("REST",))
    rules = (master, other, *standing_in("c", [master, Rule("a", 1, ("FAR",))]), *standing_in("b", [master]))
    found = read_clusternode(Property("clusternode", "a", master_xml("a", rules).decode(), "x:1"))
    assert (found.rules, found.backups) == ((master,), ("c", "b"))
    for name, its in (("c", ()), ("d", (other,))):
        found = read_clusternode(Property("clusternode", name, master_xml(name, rules).decode(), "x:1"))
        assert (found.rules, found.backups) == (its, ())


def test_an_address_is_read_as_it_was_written() -> None:
    found = read_clusternode(
        Property("clusternode", "a", info_xml("a", "tcp://10.0.0.5:7710").decode(), "x:1")
    )
    assert found.addresses == ("tcp://10.0.0.5:7710",)
    assert read_clusternode(Property("clusternode", "a", info_xml("a", "").decode(), "x:1")).addresses == ()


def test_what_xml_has_not_is_shown_as_a_question_mark() -> None:
    assert b"k?\xef\xbf\xbd?" in master_xml("a", [Rule("a", keys=("k\x00\ufffd\ud800",))])
