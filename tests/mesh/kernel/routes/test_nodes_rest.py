"""A slave for everything else: a rule without a condition, on simulated nodes."""

from __future__ import annotations

import pytest

from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import cluster

RULES = {
    "heron": (Rule("heron", domains=("NEWS",)),),
    "frodo": (Rule("frodo", 1, refid="heron"),),
    "bilbo": (Rule("bilbo", 2, refid="frodo"), Rule("heron", domains=("NEWS",))),
}


@pytest.mark.parametrize("domain", ["", "SPORTS"])
def test_42_what_no_rule_names_goes_to_the_parent_and_comes_back(domain: str) -> None:
    c = cluster("heron", "frodo", "bilbo", rules=RULES, links="any", scope="mesh")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = joe.subscribed("today", domain=domain)
    joe.publish("today", b"mine", domain=domain)
    assert joe.settled().state(1, domain) == "OK"
    ann.publish("today", b"heron's", domain=domain)
    c.net.until(lambda: heard.contents == [b"mine", b"heron's"])
    assert [got.route for got in heard.got] == [
        ("bilbo", "frodo", "heron", "frodo", "bilbo"),
        ("heron", "frodo", "bilbo"),
    ]


def test_42_a_topic_with_a_rule_of_its_own_does_not_go_to_the_parent() -> None:
    c = cluster("heron", "frodo", "bilbo", rules=RULES, links="any", scope="mesh")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.publish("today", b"news", domain="NEWS")
    assert joe.settled().state(1, "NEWS") == "OK"
    [got] = ann.get("today", domain="NEWS")
    assert got.route == ("bilbo", "heron")


def test_42_without_the_parent_it_waits() -> None:
    c = cluster("heron", "frodo", "bilbo", rules=RULES, known=("frodo", "heron"), scope="mesh")
    c["frodo"].close()
    joe = c.client("bilbo")
    joe.publish("today", b"mine")
    assert joe.settled().state(1) == "FORWARD_WARNING"
