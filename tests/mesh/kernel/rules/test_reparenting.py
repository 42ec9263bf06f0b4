"""Slaves that take another parent, on simulated nodes: nothing is lost, and all stays in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from mesh.errors import LocalError
from mesh.kernel.subscribers.refill_source import RefillSource
from mesh.mapping.parents import BACK, PATIENCE
from mesh.mapping.rules import Rule
from tests.mesh.kernel.causes import reasons
from tests.mesh.kernel.masters import Cluster, cluster
from tests.mesh.kernel.routes.chains import way
from tests.simulated_client import Subscription
from tests.simulation import SimNetwork, SimNode

TREE = {"root": "", "a": "root", "b": "root", "a1": "a", "a2": "a", "b1": "b", "b2": "b"}
LEAVES = ("a1", "a2", "b1", "b2")
TTL = 20.0
NO_SETTINGS: dict[str, dict[str, Any]] = {}


def rule_of(parent: str) -> Rule:
    return Rule(parent or "root", 1 if parent not in ("", "root") else 0, ("NEWS",))


def nodes_of(parents: dict[str, str]) -> Cluster:
    """Return nodes of which each knows only its own parent by a rule. Each has a route to the root."""
    rules = {name: (rule_of(parent),) for name, parent in parents.items()}
    c = cluster(*parents, rules=rules, known=tuple(parents), scope="mesh", adopts_parents=True)
    c.net.until(lambda: all(way(c[name]) for name in parents))
    return c


class Load:
    """Publishers and subscribers at some nodes: each publisher publishes 4 persistent messages a second."""

    def __init__(self, c: Cluster, *nodes: str) -> None:
        self.c = c
        self.clients = {name: c.client(name, f"at-{name}") for name in nodes}
        self.heard = {
            name: client.subscribed("today", domain="NEWS") for name, client in self.clients.items()
        }
        c.net.run(1)
        self.count = 0

    def run(self, seconds: float) -> None:
        for _ in range(int(4 * seconds)):
            self.publish()
            self.c.net.run(0.25)

    def publish(self) -> None:
        self.count += 1
        for name, client in self.clients.items():
            client.publish("today", b"%s %d" % (name.encode(), self.count), persistent=True, domain="NEWS")

    def check(self) -> None:
        """Wait until each subscriber has all messages, each once, in the order of their publishers."""
        self.c.net.until(
            lambda: all(len(s.got) >= self.count * len(self.clients) for s in self.heard.values())
        )
        for subscription in self.heard.values():
            numbers = numbers_of(subscription)
            assert all(found == [*range(1, self.count + 1)] for found in numbers.values()), numbers
            assert len(numbers) == len(self.clients)


def numbers_of(subscription: Subscription) -> dict[str, list[int]]:
    found = defaultdict[str, list[int]](list)
    for got in subscription.got:
        name, number = got.content.split()
        found[name.decode()].append(int(number))
    return found


def said(node: SimNode, text: str) -> int:
    return sum(text in note for note in node.notes)


@pytest.mark.parametrize("inner", ["a", "b"])
def test_42_the_slaves_of_a_killed_node_get_all_through_another_and_return_to_it(inner: str) -> None:
    c = nodes_of(TREE)
    load = Load(c, "root", *LEAVES)
    load.run(2)
    c[inner].kill()
    load.run(12)
    children = [name for name, parent in TREE.items() if parent == inner]
    assert all(way(c[name]) == (name, "root") for name in children)
    assert all(said(c[name], f"the parent is now root, because {inner} is dead") == 1 for name in children)
    load.check()
    c.net.run(60)
    c[inner].restart()
    load.run(BACK + 10)
    assert all(way(c[name]) == (name, inner, "root") for name in children)
    assert all(said(c[name], f"{inner} is the parent again") == 1 for name in children)
    load.check()
    others = [name for name in LEAVES if name not in children]
    assert not any(said(c[name], "parent") for name in others)
    c.net.until(
        lambda: all(node.metric("refilling") == node.metric("refill_pins") == 0 for node in c.nodes.values())
    )


def test_42_a_parent_without_a_route_is_replaced_after_five_seconds() -> None:
    c = nodes_of(TREE)
    load = Load(c, "root", "a1", "b1")
    load.run(1)
    c.net.cut("a", "root")
    c.net.until(lambda: way(c["a1"]) == ())
    load.run(PATIENCE - 1)
    assert c["a1"].metric("adopted_parents") == 0
    load.run(8)
    assert way(c["a1"]) == ("a1", "root") and said(c["a1"], "because a has no route to the master") == 1
    load.check()
    c.net.heal()
    load.run(BACK + 10)
    assert way(c["a1"]) == ("a1", "a", "root")
    load.check()


def test_42_a_slave_that_restarts_gets_what_was_owed_to_a_lost_parent_before_newer_messages() -> None:
    c = nodes_of({"root": "", "a": "root", "leaf": "a"})
    load = Load(c, "root", "leaf")
    load.run(1)
    c.net.cut("a", "root")
    c.net.cut("a", "leaf")
    c.net.until(lambda: way(c["leaf"]) == ("leaf", "root"))
    load.run(3)
    c["leaf"].kill()
    c["leaf"].restart()
    load.run(12)  # until the slave takes the root again, only its configured parent has its queries
    assert way(c["leaf"]) == ("leaf", "root")
    load.check()
    late = c.client("leaf", "late").subscribed("today", domain="NEWS")
    c.net.run(1)
    load.publish()
    load.check()
    c.net.heal()
    c.net.run(5)
    assert min(min(counts) for counts in numbers_of(late).values()) == load.count - 1, "it came later"


def linked(
    parents: dict[str, str],
    links: Mapping[str, tuple[str, ...]],
    own: Mapping[str, Mapping[str, Any]] = NO_SETTINGS,
) -> Cluster:
    """Return nodes that link only with those in `links`; a node without an entry links with all.

    `own` has further settings by node.
    """
    net = SimNetwork(1)
    nodes = {
        name: net.node(
            name, "root", rules=(rule_of(parent),), known=links.get(name, tuple(parents)), links="configured",
            scope="mesh", adopts_parents=True, **own.get(name, {}),
        )
        for name, parent in parents.items()
    }  # fmt: skip
    c = Cluster(net, nodes).met()
    net.until(lambda: all(way(node) for node in nodes.values()))
    return c


DEEP = {"root": "", "b": "root", "a": "root", "b1": "b", "a1": "a", "leaf": "a1"}
LINKS = {
    "root": ("a", "b"), "a": ("root", "a1"), "b": ("root", "b1"), "a1": ("a", "leaf"), "b1": ("b", "leaf"),
    "leaf": ("a1", "b1"),
}  # fmt: skip


def test_42_a_refill_passes_relays() -> None:
    c = linked(DEEP, LINKS)
    load = Load(c, "root", "leaf")
    load.run(2)
    c["a1"].kill()
    load.run(12)
    assert way(c["leaf"]) == ("leaf", "b1", "b", "root")
    load.check()
    assert c["leaf"].metric("refilled_messages") > 0
    routes = {got.route for got in load.heard["leaf"].got if got.content.startswith(b"root")}
    assert routes == {("root", "a", "a1", "leaf"), ("root", "b", "b1", "leaf")}
    c["a1"].restart()
    load.run(BACK + 10)
    assert way(c["leaf"]) == ("leaf", "a1", "a", "root")
    load.check()


def test_42_a_refill_has_what_came_to_no_relay_of_a_slave_that_has_received_nothing_yet() -> None:
    """The master owes it to the relay next to it, not to the dead next hop of the slave."""
    c = linked(DEEP, LINKS)
    load = Load(c, "root", "leaf")
    c["a1"].kill()
    load.run(1)
    c.net.until(lambda: c["leaf"].metric("adopted_parents") == 1)
    load.run(1)
    load.check()


def test_42_what_was_received_and_not_acknowledged_survives_a_crash_of_the_slave() -> None:
    """The former parent stays away, and the messages are in the memory of a1 alone when it crashes."""
    c = linked({"root": "", "a": "root", "a1": "a", "leaf": "a1"}, {"leaf": ("a1",)})
    ann, joe = c.client("root", "ann"), c.client("leaf", "joe")
    heard = joe.subscribed("today", domain="NEWS")
    c.net.run(1)
    c.net.cut("leaf", "a1")
    for number in range(5):
        ann.publish("today", b"ann %d" % number, persistent=True, domain="NEWS")
    c.net.run(1)
    c["a"].kill()
    c.net.until(lambda: c["a1"].metric("adopted_parents") == 1)
    c.net.run(5)
    c["a1"].kill()
    c.net.run(1)
    c["a1"].restart()
    c.net.heal()
    c.net.until(lambda: numbers_of(heard)["ann"] == [*range(5)])
    c.net.until(lambda: c["root"].metric("refill_pins") == 0)


def test_42_two_slaves_of_a_dead_parent_without_another_route_do_not_take_each_other() -> None:
    c = nodes_of({"root": "", "a": "root", "a1": "a", "a2": "a"})
    for name in ("a1", "a2"):
        c.net.cut(name, "root")
    c["a"].kill()
    joe = c.client("a1", "joe")
    joe.publish("today", b"joe 1", persistent=True, domain="NEWS")
    for _ in range(60):
        c.net.run(1)
        assert not c["a1"].metric("adopted_parents") and not c["a2"].metric("adopted_parents")
    assert joe.state(1, "NEWS") == "FORWARD_WARNING"
    c.net.heal()
    c.net.until(lambda: joe.state(1, "NEWS") == "OK")


def test_42_why_topic_names_the_adopted_parent_and_the_route() -> None:
    c = nodes_of({"root": "", "a": "root", "a1": "a"})
    joe = c.client("a1", "joe")
    c["a"].kill()
    c.net.until(lambda: way(c["a1"]) == ("a1", "root"))
    told = {row["code"]: row["says"] for row in reasons(joe, "topic", "today", "NEWS")}
    assert told["ADOPTED_PARENT"].startswith("root is the parent in place of a, until a has had a route")
    assert "a1 -> root" in told["STRATUM"]
    # The rules here do not say that the root is the only master, so it must not count as one.
    assert c["a1"].core.parts.mapping.rules == (Rule("root", 1, ("NEWS",)),)


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list of codes with which nodes refuse refills as long as it has any."""
    answer, codes = RefillSource._on_refill, list[str]()

    def when_possible(self: RefillSource, asked: Any) -> None:
        if codes:
            raise LocalError("There is no route.", code=codes[0])
        answer(self, asked)

    monkeypatch.setattr(RefillSource, "_on_refill", when_possible)
    return codes


def test_42_what_the_former_parent_sends_waits_for_the_refill_too(refusals: list[str]) -> None:
    """A copy of a message that waits must not be missing between messages that come by the former parent."""
    refusals.append("MASTER_AWAY")
    parents = {"root": "", "a": "root", "b": "root", "leaf": "a", "sub": "leaf"}
    c = linked(parents, {"root": ("a", "b"), "leaf": ("a", "b"), "sub": ("leaf",)})
    ann, joe = c.client("root", "ann"), c.client("sub", "joe")
    heard = joe.subscribed("today", domain="NEWS")
    c.net.run(1)
    c.net.cut("leaf", "a")
    c.net.until(lambda: c["leaf"].metric("refilling") == 1)
    for number in range(1, 9):
        ann.publish("today", b"ann %d" % number, persistent=number % 2 == 1, domain="NEWS")
        c.net.run(0.2)
    c.net.heal()
    c.net.run(3)
    assert not heard.got
    refusals.clear()
    c.net.until(lambda: len(heard.got) == 8)
    assert numbers_of(heard)["ann"] == [*range(1, 9)]


def test_42_a_former_parent_passes_no_older_messages_to_a_later_subscription(refusals: list[str]) -> None:
    """A returning parent gets them for another slave, in one envelope with messages of an older query."""
    parents = {"root": "", "a": "root", "b": "a", "leaf": "a", "sub": "leaf"}
    c = linked(parents, {"root": ("a", "leaf"), "b": ("a",), "leaf": ("a", "root"), "sub": ("leaf",)})
    ann, joe, max_ = c.client("root", "ann"), c.client("sub", "joe"), c.client("leaf", "max")
    joe.subscribed("today", domain="NEWS")
    max_.subscribed("other", domain="NEWS")
    for key in ("today", "other"):
        c.client("b", f"eve-{key}").subscribed(key, domain="NEWS")
    c.net.run(1)

    def publish(number: int) -> None:
        content = b"ann %d" % number
        ann.publish("today other", content, content, persistent=True, domain="NEWS")

    c["a"].kill()
    publish(1)
    c.net.until(lambda: c["leaf"].metric("adopted_parents") == 1)
    c.net.until(lambda: c["leaf"].metric("refilling") == 0)
    publish(2)
    c.net.run(1)
    c.net.cut("leaf", "root")
    heard = joe.subscribed("other", domain="NEWS")
    max_.subscribed("third", domain="NEWS")  # after a change of its queries, the slave asks the root again
    publish(3)
    c.net.until(lambda: way(c["leaf"]) == ())
    refusals.append("MASTER_AWAY")
    c.net.heal()
    c.net.until(lambda: c["leaf"].metric("refilling") == 1)
    c["a"].restart()
    c.net.run(5)
    refusals.clear()
    c.net.until(lambda: c["leaf"].metric("refilling") == 0)
    publish(4)
    c.net.until(lambda: 4 in numbers_of(heard)["ann"])
    assert numbers_of(heard)["ann"] == [3, 4]


@pytest.mark.parametrize("masters", [1, 2])
def test_42_a_slave_of_several_masters_takes_no_other_parent(masters: int) -> None:
    """Each message is in the logs of both masters, and a position belongs to one of them."""
    both = tuple(Rule(name, domains=("NEWS",)) for name in ("root", "twin")[:masters])
    rules = {"root": both, "twin": both, "a": both, "b": both, "leaf": (rule_of("a"),)}
    c = cluster(*rules, rules=rules, known=tuple(rules), scope="mesh", adopts_parents=True)
    c.net.until(lambda: all(way(c[name]) for name in rules))
    c["a"].kill()
    c.net.run(20)
    assert c["leaf"].metric("adopted_parents") == (masters == 1)


DIAMOND_LINKS = {"root": ("a", "b"), "a": ("root", "leaf"), "b": ("root", "leaf"), "leaf": ("a", "b")}


@pytest.mark.parametrize("relays", [(), ("c",)], ids=["parent", "beyond the parent"])
def test_42_a_former_parent_passes_on_nothing_after_a_message_that_expired_there(
    relays: tuple[str, ...],
) -> None:
    """The slave sends the expired message by its new parent, and the later ones must not overtake it."""
    above = (*relays, "root")
    last = ("a", *relays)[-1]  # the node that waits for the root
    parents = {"root": "", **dict.fromkeys(relays, "root"), "a": above[0], "b": "root", "leaf": "a"}
    links = {
        "root": (last, "b"), "b": ("root", "leaf"), "leaf": ("a", "b"), "a": (above[0], "leaf"),
        **dict.fromkeys(relays, ("root", "a")),
    }  # fmt: skip
    c = linked(parents, links, {last: {"tailback_ttl": TTL}})
    ann, joe = c.client("root", "ann"), c.client("leaf", "joe")
    heard = ann.subscribed("today", domain="NEWS")
    c.net.run(1)
    c.net.cut(last, "root")
    c.net.cut("leaf", "b")
    c.net.until(lambda: way(c[last]) == ())
    for number in range(1, 4):
        joe.publish("today", b"joe %d" % number, persistent=True, domain="NEWS")
        c.net.run(TTL / 4)
    c.net.cut("leaf", "a")
    c.net.until(lambda: c[last].metric("expired") > 0)
    c.net.heal()
    c.net.cut("leaf", "a")
    c.net.until(lambda: c["leaf"].metric("adopted_parents") == 1)
    joe.publish("today", b"joe 4", persistent=True, domain="NEWS")
    c.net.until(lambda: len(heard.got) == 4)
    assert numbers_of(heard)["joe"] == [*range(1, 5)]


def test_42_messages_after_an_expired_one_come_by_the_same_parent() -> None:
    c = linked({"root": "", "a": "root", "leaf": "a"}, {"leaf": ("a",)}, {"a": {"tailback_ttl": TTL}})
    ann, joe = c.client("root", "ann"), c.client("leaf", "joe")
    heard = ann.subscribed("today", domain="NEWS")
    c.net.run(1)
    c.net.cut("a", "root")
    c.net.until(lambda: way(c["a"]) == ())
    for number in range(1, 4):
        joe.publish("today", b"joe %d" % number, persistent=True, domain="NEWS")
        c.net.run(TTL / 3)
    c.net.until(lambda: c["a"].metric("expired") > 0)
    c.net.heal()
    joe.publish("today", b"joe 4", persistent=True, domain="NEWS")
    c.net.until(lambda: bool(heard.got) and heard.got[-1].content == b"joe 4")
    assert numbers_of(heard)["joe"] == [2, 3, 4]
    c.net.until(lambda: joe.state(4, "NEWS") == "OK")
    assert [joe.state(number, "NEWS") for number in (1, 2, 3)] == ["EXPIRED", "OK", "OK"]
