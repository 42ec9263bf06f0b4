"""Rules change while an envelope waits, and its messages get different masters."""

from __future__ import annotations

import pytest

from mesh.kernel.rules.ruling import SWITCH
from mesh.mapping.rules import Rule
from mesh.routing.forward_stages import Keeping
from tests.mesh.kernel.rules.changing import HERON, D, adopt, mesh
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

OURS = (Rule("avalon", keys=("a",)), *HERON)  # the new rules
KEYS = ("a b a", "b a b a")

pytestmark = pytest.mark.usefixtures("short_periods")


def waiting(*envelopes: str, persistent: bool = True) -> tuple[SimNetwork, list[SimNode], SimClient]:
    """Return a mesh without heron, the only master, for which envelopes with these keys wait at avalon.

    heron has the new rules when it starts.
    """
    net, nodes = mesh(HERON)
    pub = client_of(nodes[1], "pub").connected()
    nodes[0].close()
    nodes[0]._settings["rules"] = OURS
    net.until(lambda: "heron" not in nodes[1].alive)
    sent = 0
    for keys in envelopes:
        contents = [b"%d" % n for n, _ in enumerate(keys.split(), sent)]
        pub.publish(keys, *contents, persistent=persistent, domain=D)
        sent += len(contents)
    net.until(lambda: states(pub) == ["FORWARD_WARNING"] * sent)
    return net, nodes, pub


def states(pub: SimClient) -> list[str]:
    return [answer.state for _, answer in sorted(pub.answers.items())]


def expect_each_at_its_master(nodes: list[SimNode], pub: SimClient, keys: str) -> None:
    heron, avalon, *_ = nodes
    heron.net.until(lambda: states(pub) == ["OK"] * len(keys.split()))
    assert (avalon.metric("published"), heron.metric("published")) == (keys.count("a"), keys.count("b"))
    assert avalon.metric("tailed_back") == avalon.metric("stored_envelopes") == 0


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("keys", KEYS)
def test_what_the_former_master_hands_back_in_parts_is_accepted_here_in_full(
    keys: str, persistent: bool
) -> None:
    """Seed 61000252 of rules, in which the last part was lost and the first ones were refused for a loop."""
    net, nodes = mesh(HERON)
    heron, avalon, *_ = nodes
    adopt(heron, OURS)
    net.run(SWITCH + 1)
    pub = client_of(avalon, "pub")
    pub.publish(keys, domain=D, persistent=persistent)
    net.until(lambda: heron.metric("published") == keys.count("b"))
    adopt(avalon, OURS)
    expect_each_at_its_master(nodes, pub, keys)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("keys", KEYS)
def test_each_part_of_a_waiting_envelope_goes_to_its_own_master(keys: str, persistent: bool) -> None:
    net, nodes, pub = waiting(keys, persistent=persistent)
    for node in nodes[1:]:
        adopt(node, OURS)
    net.until(lambda: states(pub).count("OK") == keys.count("a"))
    nodes[0].start()
    expect_each_at_its_master(nodes, pub, keys)


@pytest.mark.parametrize("is_master_up", [False, True])
@pytest.mark.parametrize("keys", scenarios(KEYS))
def test_so_does_each_part_of_one_that_a_node_restores_with_other_rules(
    keys: str, is_master_up: bool
) -> None:
    net, nodes, pub = waiting(keys)
    nodes[1].kill()
    for node in nodes:
        node._settings["rules"] = OURS
    if is_master_up:
        nodes[0].start()
        net.run(1)
    nodes[1].start()
    net.run(SWITCH + 1)
    if not is_master_up:
        nodes[0].start()
    expect_each_at_its_master(nodes, pub, keys)


def test_the_stored_envelope_stays_until_its_last_part_is_accepted_and_order_is_kept() -> None:
    net, nodes, pub = waiting("b a b a", "b a")
    heron, avalon, _, frodo = nodes
    ear = client_of(frodo, "ear").subscribed(pattern="#", domain=D)
    for node in nodes[1:]:
        adopt(node, OURS)
    net.until(lambda: states(pub) == ["FORWARD_WARNING", "OK"] * 3)
    avalon.restart()
    heron.start()
    net.until(lambda: states(pub) == ["OK"] * 6)
    net.until(lambda: len(ear.contents) == 6)
    assert [m.content for m in ear.got if m.key == "a"] == [b"1", b"3", b"5"]
    assert [m.content for m in ear.got if m.key == "b"] == [b"0", b"2", b"4"]
    assert avalon.metric("tailed_back") == avalon.metric("stored_envelopes") == 0


def test_the_parts_of_an_envelope_that_is_being_stored_are_stored_with_it() -> None:
    net, (heron, avalon, *_) = mesh(HERON)
    pub = client_of(avalon, "pub").connected()
    heron.kill()
    pub.publish("b a", persistent=True, domain=D)
    forwarder = avalon.core.parts.forwarder
    net.until(lambda: forwarder.onward.entries())
    (entry,) = forwarder.onward.entries()
    avalon.core._at(net.now, net.wall)
    forwarder.tailback.warn(entry)
    assert entry.keeping is Keeping.STORING
    parts = forwarder.onward.split(entry, [entry.envelope.part(1, 1), entry.envelope.part(2, 2)])
    forwarder.tailback.replace_entry(entry, parts)
    avalon._carry_out_all()
    net.until(lambda: states(pub) == ["FORWARD_WARNING"] * 2)
    assert [part.keeping for part in parts] == [Keeping.STORED] * 2
    avalon.restart()
    assert [entry.envelope.count for entry in avalon.core.parts.forwarder.onward.entries()] == [2]
    heron.start()
    net.until(lambda: states(pub) == ["OK"] * 2)
    assert avalon.metric("tailed_back") == avalon.metric("stored_envelopes") == 0
