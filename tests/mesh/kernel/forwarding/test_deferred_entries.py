"""Entries that are deferred while rules change: how many are decided at once, and their order."""

from __future__ import annotations

import pytest

from mesh.kernel.forwarding.deferred_entries import AGAIN
from mesh.mapping.agreed import NONE, AgreedNode
from mesh.mapping.rules import Rule
from mesh.routing import decision_table
from tests.mesh.kernel.asking.test_interest_sync import Counted
from tests.mesh.kernel.rules.agreeing import D, meshed, put
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

LOOKS = 4
LATELY = 10.0  # s
MANY = 30
RULES = NONE.with_all(
    {
        "heron": AgreedNode((Rule("heron", keys=("ours",)),)),
        "avalon": AgreedNode((Rule("avalon", keys=("theirs",)),)),
    }
)
OTHERS = RULES.with_all({"bilbo": AgreedNode((Rule("bilbo", domains=("OTHER",)),))})


def one_under_way(
    monkeypatch: pytest.MonkeyPatch, publishers: int = 1
) -> tuple[SimNetwork, SimNode, SimNode, list[SimClient]]:
    """Return a mesh that changes its rules while heron's messages are in transit to avalon.

    There is one message of each publisher, and avalon never answers.
    """
    monkeypatch.setattr("mesh.kernel.forwarding.deferred_entries.LATELY", LATELY)
    net, (heron, avalon) = meshed("heron", "avalon")
    assert not put(heron, RULES).code
    net.run(2 * LATELY)
    pubs = [client_of(heron, f"pub-{n}") for n in range(publishers)]
    monkeypatch.setattr(avalon.core.parts.router, "publish_here", lambda *_, **__: None)
    for pub in pubs:
        pub.publish("theirs", b"0", domain=D)
    net.run(0.5)
    assert not put(heron, OTHERS).code
    net.run(0.5)
    return net, heron, avalon, pubs


def test_of_many_that_wait_for_one_only_the_first_is_decided_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, heron, _, (pub,) = one_under_way(monkeypatch)
    for _ in range(MANY):
        pub.publish("ours", b"1", domain=D)
    net.run(1)
    routing = heron.core.parts.forwarder.routing
    assert len(routing.onward) == MANY + 1
    look = routing.apply_decision = Counted(routing.apply_decision)  # type: ignore[method-assign]
    net.run(10 * AGAIN)
    assert 5 <= look.calls <= 11


def test_what_is_put_off_no_more_goes_in_turns_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_table, "LOOKS", LOOKS)
    net, heron, avalon, (pub,) = one_under_way(monkeypatch)
    ear = client_of(heron, "ear").subscribed("ours", domain=D)
    for n in range(MANY):
        pub.publish("ours", b"%d" % n, domain=D)
    net.run(1)
    assert not ear.contents
    routing = heron.core.parts.forwarder.routing
    look = routing.apply_decision = Counted(routing.apply_decision).per_turn(heron)  # type: ignore[method-assign]
    avalon.kill()
    net.until(lambda: ear.contents)
    pub.publish("ours", b"%d" % MANY, domain=D)
    began = net.now
    net.until(lambda: len(ear.contents) == MANY + 1)
    assert ear.contents == [b"%d" % n for n in range(MANY + 1)]
    assert net.now - began < AGAIN, "it does not wait for the next time that something is due"
    assert look.calls >= MANY and look.most <= LOOKS


def test_of_many_publishers_each_waits_longer_and_all_take_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.kernel.forwarding.deferred_entries.LOOKS", LOOKS)
    net, heron, avalon, pubs = one_under_way(monkeypatch, 10)
    for pub in pubs:
        pub.publish("ours", b"1", domain=D)
    net.run(2)
    routing = heron.core.parts.forwarder.routing
    look = routing.apply_decision = Counted(routing.apply_decision)  # type: ignore[method-assign]
    net.run(10 * AGAIN)
    assert 10 <= look.calls <= 11 * LOOKS
    avalon.kill()
    net.until(lambda: all(pub.state(2, D) == "OK" for pub in pubs))
