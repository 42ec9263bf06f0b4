"""Erasing a topic, at its master and at every node that knows it."""

import pytest

from mesh.wire import commands as c
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

OWN = ["__sys__deadMessage/x", "__sys__cluster.node.state[a]", "__sys__", "__sys__x/y"]

JOE = "/node/mal/client/joe/session/-3"

NAMES = ("heron", "frodo", "egret", "golan")


@pytest.fixture
def nodes() -> list[SimNode]:
    """The nodes heron, frodo, egret and golan, of which golan lies."""
    net = SimNetwork()
    found = [net.node(name, "heron") for name in NAMES]
    net.until(lambda: all(len(node.alive) == len(NAMES) - 1 for node in found))
    net.run(5)
    return found


def test_A15_an_erase_without_its_domain_stays_where_the_topic_was_never_seen() -> None:
    c = cluster("heron", "avalon", "frodo", "bilbo")
    joe, out = c.client("bilbo"), c.client("avalon", "out")
    heard = joe.subscribed("k", domain=RUGBY)
    c.client("heron", "ann").publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"1"])
    assert out.erase("k") == []
    assert joe.erase("k") == ["k"]  # frodo has the topic cached, so it knows the domain
    c.net.until(lambda: [m.is_erased for m in heard.got] == [False, True])
    assert joe.get("k", domain=RUGBY) == []


def test_a_node_that_published_a_topic_remembers_its_domain() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    assert joe.erase("k") == ["k"]


def test_an_erased_topic_stays_erased_over_a_crash_of_its_master() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k")
    joe.publish("k", b"1", domain=RUGBY, persistent=True)
    joe.settled()
    assert joe.erase("k", RUGBY) == ["k"]
    assert joe.erase("k", RUGBY) == []
    c.net.until(lambda: [m.is_erased for m in heard.got] == [False, True])
    c["heron"].restart()
    assert ann.connected().get("k") == []
    c.net.run(5)
    assert len(heard.got) == 2


def test_trial_D_an_erased_topic_that_nobody_wants_stays_erased_over_a_crash_of_its_master() -> None:
    # There is no subscriber, so the end of the topic has no place in the log: only its row is deleted.
    for is_last in (True, False):
        c = cluster("heron", "frodo")
        joe, ann = c.client("frodo"), c.client("heron", "ann")
        joe.publish("k", b"1", domain=RUGBY, persistent=True)
        joe.settled()
        if is_last:
            c.net.run(5)
        assert joe.erase("k", RUGBY) == ["k"]
        c["heron"].restart()
        assert ann.connected().get("k", domain=RUGBY) == []


def test_trial_D_an_erase_for_which_the_disk_has_no_room_is_not_called_done() -> None:
    c = cluster("heron", "frodo")
    joe, ann = c.client("frodo"), c.client("heron", "ann")
    ann.subscribed("k", domain=RUGBY)  # so that the end of the topic must be stored for ann
    joe.publish("k", b"1", domain=RUGBY, persistent=True)
    joe.settled()
    c["heron"].disk.is_full = c["heron"].disk.has_reserve = True
    assert joe.erase("k", RUGBY) == "MASTER_AWAY"
    assert [m.content for m in ann.get("k", domain=RUGBY)] == [b"1"]
    c["heron"].disk.is_full = False
    assert joe.erase("k", RUGBY) == ["k"]
    assert ann.get("k", domain=RUGBY) == []


def test_without_rules_a_topic_is_erased_on_every_node_and_each_subscriber_hears_it_once() -> None:
    c = cluster(
        "heron",
        "frodo",
        "bilbo",
        rules=dict.fromkeys(("heron", "frodo", "bilbo"), ()),
        links="any",
        scope="mesh",
    )
    one, two, ann = c.client("heron", "one"), c.client("frodo", "two"), c.client("bilbo", "ann")
    heard = ann.subscribed(pattern="#")
    one.publish("k", b"1")
    two.publish("k", b"2")
    c.net.until(lambda: len(heard.got) == 2)
    assert ann.erase("k") == ["k"]
    c.net.until(lambda: [m.is_erased for m in heard.got] == [False, False, True])
    c.net.run(3)
    assert len(heard.got) == 3
    assert ann.get("k") == []


@pytest.mark.parametrize("by", ["a client", "a node"])
def test_trial_D_an_erase_with_a_number_that_no_message_can_have_harms_nobody_who_hears_of_it(
    nodes: list[SimNode], by: str
) -> None:
    heron, frodo, _, golan = nodes
    publisher, s = client_of(heron, "pub"), client_of(frodo, "sub").subscribed("k")
    publisher.publish("k", b"1", persistent=True)
    publisher.settled()
    if by == "a client":
        client_of(heron, "eve").say(c.Call(2**63 - 1, "erase", {"key": "k", "domain": ""}))
    else:
        sender = "/node/golan/client/eve/session/1"
        said = {"key": "k", "stream": b"s" * 16, "number": 2**63 - 1, "sender": sender, "route": ["golan"]}
        peer = golan.core.parts.neighbours.peers[heron.uuid]
        golan.core.parts.context.face.login_requirers.append(lambda peer: True)
        heron.net.until(lambda: peer.data and peer.data.is_open)
        golan.core.parts.context.out.send(peer.data, c.Call(7, "erase", said))
        golan._carry_out_all()
    heron.net.until(lambda: len(s.got) == 2)
    publisher.publish("k", b"2", persistent=True)
    heron.net.until(lambda: len(s.got) == 3)
    assert [message.is_erased for message in s.got] == [False, True, False]


@pytest.mark.parametrize("domain", ["__sys__", "__sys__d"])
def test_trial_5_to_erase_in_a_domain_of_the_mesh_is_reserved_as_to_publish_there_is(domain: str) -> None:
    a = SimNetwork().node("a")
    assert SimClient(a.net, a.ipc, "joe").connected().erase("k", domain=domain) == "RESERVED"
    peer = Stranger(a)
    peer.as_node(name="mal")
    said = {"key": "k", "domain": domain, "stream": b"s" * 16, "number": 2, "sender": JOE, "route": ["mal"]}
    peer.say(c.Call(1, "erase", said))
    assert [told.code for told in peer.heard if isinstance(told, c.Reply)] == ["RESERVED"]


@pytest.mark.parametrize("key", OWN[1:])
def test_trial_A5_topics_of_the_mesh_are_not_erased(key: str) -> None:
    a = SimNetwork().node("a")
    assert SimClient(a.net, a.ipc, "joe").connected().erase(key) == "RESERVED"
