"""`why` names the true cause of an undelivered message: one scenario for each cause, on simulated nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.mesh.features.services.node.user import User
from tests.mesh.kernel.causes import CASES, Told, erased, number_of, reasons, two, was_local_only
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.simulated_client import client_of
from tests.simulation import SimNetwork


@pytest.mark.parametrize("scenario", CASES, ids=lambda scenario: scenario.__name__)
def test_the_true_cause_is_named(scenario: Callable[[], Told]) -> None:
    found = reasons(*scenario())
    told = [each["code"] for each in found if each["rank"] != "state"]
    assert CASES[scenario] in told[:3], found


def test_an_address_that_does_not_answer_is_no_reason_of_a_node_that_was_met() -> None:
    net = SimNetwork(1)
    net.node("ghost").kill()
    a, b = net.node("a", "ghost"), net.node("b", "a")
    net.until(lambda: a.alive == {"b"})
    net.run(20)

    def causes(node: str) -> set[str]:
        return {
            each["code"] for each in reasons(client_of(a, "who"), "node", node) if each["rank"] == "cause"
        }

    assert causes("c") == {"DIAL_FAILED", "NODE_UNKNOWN"}
    b.kill()
    net.until(lambda: a.alive == set())
    assert causes("b") == {"NODE_DEAD"}


def test_a_node_that_left_on_purpose_is_to_blame_for_no_topic_or_address() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    b.close()
    c.kill()
    net.until(lambda: a.alive == set())
    who = client_of(a, "who")
    for kind in ("topic", "address"):
        found = [each for each in reasons(who, kind, "k") if each["code"].startswith("NODE_")]
        assert [each["code"] for each in found] == ["NODE_DEAD"], "what is on its way there waits"
        assert "the program that embeds it" in found[0]["hint"]
    codes = {each["code"] for each in reasons(who, "message", f"{'00' * 16}:1")}
    assert codes >= {"NODE_DEAD", "NODE_LEFT"}, "it may be on its disk"
    assert "NODE_LEFT" in {each["code"] for each in reasons(who, "node", "b")}


def test_what_was_for_clients_of_its_node_only_is_not_called_unwanted() -> None:
    codes = {each["code"] for each in reasons(*was_local_only())}
    assert "LOCAL_ONLY" in codes and not codes & {"UNWANTED", "ASKED_BY", "WANTED_HERE"}


def test_what_was_erased_and_published_anew_is_not_called_erased() -> None:
    who, *asked = erased()
    who.publish("k", b"2")
    who.settled()
    assert "ERASED" not in {each["code"] for each in reasons(who, *asked)}


def test_one_that_wants_the_key_in_every_domain_is_no_other_domain() -> None:
    _, _, b, pub = two()
    client_of(b, "ear").subscribed("news")
    codes = {each["code"] for each in reasons(pub, "topic", "news", "RUGBY_NEWS")}
    assert "SUBSCRIBED" in codes and not codes & {"OTHER_DOMAIN", "NEAR_KEY", "NO_SUBSCRIBER"}


def test_the_chain_of_one_message_names_each_node_on_its_way() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, slow = c.client("bilbo"), c.client("heron", "slow")
    slow.subscribed("k", rate=0, domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    c.net.run(1)
    found = reasons(joe, "message", number_of(joe, 1, RUGBY))
    codes = {(each["node"], each["code"]) for each in found}
    assert {("bilbo", "PUBLISHED_HERE"), ("heron", "ACCEPTED"), ("heron", "HELD_FOR")} <= codes
    assert not any(code == "NOT_ASKED" for _, code in codes)


def healthy_topic() -> Told:
    _, _, b, pub = two()
    client_of(b, "ear").subscribed("k")
    pub.publish("k", b"1")
    pub.settled()
    return pub, "topic", "k", ""


def healthy_chain() -> Told:
    c = cluster("heron", "frodo", "bilbo")
    c.client("bilbo", "ear").subscribed("k", domain=RUGBY)
    return c.client("bilbo"), "topic", "k", RUGBY


def healthy_node() -> Told:
    *_, pub = two()
    return pub, "node", "b", ""


def healthy_client() -> Told:
    _, _, b, pub = two()
    client_of(b, "ear").subscribed("k")
    return pub, "client", "ear", ""


def healthy_address() -> Told:
    _, _, b, pub = two()
    User(b, "adder").serve("calc/add")
    return pub, "address", "calc/add", ""


def taken_message() -> Told:
    who, *_ = healthy_topic()
    who.net.run(1)
    return who, "message", number_of(who), ""


@pytest.mark.parametrize(
    "scenario",
    [healthy_topic, healthy_chain, healthy_node, healthy_client, healthy_address, taken_message],
    ids=lambda scenario: scenario.__name__,
)
def test_where_all_is_well_nothing_is_called_a_cause(scenario: Callable[[], Told]) -> None:
    found = reasons(*scenario())
    assert found and [each["code"] for each in found if each["rank"] != "state"] == []
