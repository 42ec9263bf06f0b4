"""Direct messages that wait for another site, or whose route is lost, arrive once and in order."""

import dataclasses
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.wire.envelope import Envelope
from tests.mesh.features.sites.node.meshes import FIRST, events, gateway, gateway_to, links, member
from tests.mesh.features.sites.node.site_direct_messages import FROM_LON, FROM_NYC, client, name_at, two_sites
from tests.mesh.features.sites.node.test_gateway_reload import reloaded
from tests.seeds import scenarios
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork


def test_letters_that_wait_are_counted_with_what_waits_and_told_when_their_site_is_known_no_more() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    joe = client(b, "joe")
    for node in (d, c):
        node.close()
    net.run(2)
    for _ in range(3):
        joe.send(name_at("NYC", d, "ann"), b"x", force=True)
    joe.settled()
    for node in (a, b):
        assert [row["waiting"]["messages"] for row in client(node, "eve").call("sites")["sites"]] == [3]
    reloaded(b, {})
    net.run(1)
    assert "discarded 3 direct messages for site NYC" in " ".join(events(b, "site"))
    assert not b.metric("tailed_back")


@pytest.mark.slow
def test_D16_of_a_hundred_letters_to_a_site_that_is_down_each_is_answered_and_others_go_on() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    for node in (d, c):
        node.close()
    net.run(2)
    inbox = client(a, "ann").inbox()
    for node in (b, a):
        joe = client(node, f"joe-{node.name}")
        for n in range(100):
            joe.send("/site/NYC/node/c/client/ann", b"%d" % n)
        joe.send("/node/a/client/ann/session/1", b"here")
        joe.settled()
        states = [answer.state for answer in joe.answers.values()]
        assert states.count("SITE_UNREACHABLE") == 100 and states.count("OK") == 1
    net.until(lambda: len(inbox.got) == 2)
    assert [m.sender for m in inbox.got] == [f"/node/{n}/client/joe-{n}/session/1" for n in "ba"]
    assert a.metric("tailed_back") == b.metric("tailed_back") == 0


def test_letters_that_may_wait_go_when_the_site_is_back_also_after_a_restart() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    for node in (d, c):
        node.kill()
    net.run(20)
    for n in range(3):
        joe.send(name_at("NYC", d, "ann"), b"%d" % n, force=True, persistent=True)
    joe.settled()
    assert {joe.state(n) for n in (1, 2, 3)} == {"FORWARD_WARNING"}
    b.kill()
    for node in (b, c, d):
        node.start()
    inbox = client(d, "ann").inbox()
    net.until(lambda: len(inbox.got) >= 3)
    net.run(5)
    assert inbox.contents == [b"0", b"1", b"2"] and not b.metric("tailed_back")


def flow(net: SimNetwork, joe: SimClient, to: str, inbox: Subscription, trouble: Any) -> None:
    """Send direct messages without a pause, with `trouble` after two of them. All must arrive in order."""
    for n in range(24):
        joe.send(to, b"%d" % n, persistent=n % 2 == 0, force=True)
        net.run(0.02)
        if n in (8, 16):
            trouble(n)
    net.until(lambda: len(inbox.got) >= 24)
    net.run(10)
    assert inbox.contents == [b"%d" % n for n in range(24)]


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["LON", "NYC"])
def test_gateways_that_die_lose_no_letter_and_double_none_and_order_holds(whose: str) -> None:
    net = SimNetwork()
    c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
    e = gateway(net, "e", "NYC", "LON", "", "c", tables=FROM_LON)
    a = gateway_to(net, "a", "LON", {"NYC": FIRST}, tables=FROM_NYC)
    b = gateway_to(net, "b", "LON", {"NYC": e.address}, "a", tables=FROM_NYC)
    w, d = (
        member(net, "w", "LON", "a", "b", tables=FROM_NYC),
        member(net, "d", "NYC", "c", "e", tables=FROM_LON),
    )
    net.until(lambda: links(a) == links(b) == 1 and len(w.alive) == len(d.alive) == 2)
    inbox, joe = client(d, "ann").inbox(), client(w, "joe")
    ways = (a, b) if whose == "LON" else (c, e)

    def die(n: int) -> None:
        node = ways[0] if n == 8 else ways[1]
        node.kill()
        net.run(0.3)
        node.start()
        if n == 8:
            net.until(lambda: links(a) == links(b) == 1 and len(w.alive) == len(d.alive) == 2)

    flow(net, joe, name_at("NYC", d, "ann"), inbox, die)
    assert {answer.state for answer in joe.answers.values()} <= {"OK", "FORWARD_WARNING"}


def test_the_line_breaks_while_letters_that_may_wait_flow_and_each_comes_once_in_order() -> None:
    net = SimNetwork()
    _, b, _, d = two_sites(net)
    inbox, joe = client(d, "ann").inbox(), client(b, "joe")
    flow(net, joe, name_at("NYC", d, "ann"), inbox, lambda n: net.break_all("a", "c"))


def test_D15_the_whole_site_dies_before_it_has_a_letter_and_nobody_gets_it() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    net.cut("a", "c")
    joe.send(name_at("NYC", d, "ann"), b"x")
    net.run(0.5)
    d.close()
    c.close()
    joe.settled()
    assert joe.state(1) == "FORWARD_WARNING", "it has left, so nobody may call it refused"
    net.run(30)
    sent = b.metric("forwarded")
    net.run(60)
    assert b.metric("forwarded") == sent, "and it is not sent again and again"


def test_a_letter_to_a_node_there_that_dies_with_it_waits_and_is_not_called_refused() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    joe.send(name_at("NYC", d, "ann"), b"w", force=True)
    joe.settled()
    net.cut("c", "d")
    joe.send(name_at("NYC", d, "ann"), b"x", persistent=True)
    net.until(lambda: joe.state(2) == "FORWARD_WARNING")
    d.kill()
    net.heal()
    net.until(lambda: not c.alive)
    net.run(2)
    assert joe.state(2) == "FORWARD_WARNING" and b.metric("tailed_back") == 1
    d.start()
    inbox = client(d, "ann").inbox()
    net.until(lambda: not b.metric("tailed_back"))
    net.run(3)
    assert inbox.contents in ([b"x"], []), "[]: she came behind it"


def test_a_letter_on_the_disk_is_not_called_refused_when_its_node_is_started_again_without_a_way() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    inbox = client(d, "ann").inbox()
    net.cut("a", "c")
    joe.send(name_at("NYC", d, "ann"), b"x", persistent=True)
    net.until(lambda: joe.state(1) == "FORWARD_WARNING")
    joe.close()
    net.run(20)
    b.kill()
    b.start()
    net.run(20)
    assert b.metric("tailed_back") == 1 and not b.metric("dead")
    net.heal()
    net.until(lambda: not b.metric("tailed_back"))
    assert inbox.contents == [b"x"]
    del c


@pytest.mark.parametrize("had_left", scenarios([True, False]))
def test_what_waits_for_a_site_that_is_taken_out_is_given_up_though_it_left_or_was_restored(
    had_left: bool,
) -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    joe, ann = client(b, "joe"), name_at("NYC", d, "ann")
    if had_left:
        joe.send(ann, b"x", force=True)  # so that the gateways are known
        joe.settled()
        net.cut("a", "c")
    else:
        c.kill()
        net.run(20)
    for _ in range(3):
        joe.send(ann, b"x", force=True, persistent=True)
    net.run(20)
    if not had_left:
        b.kill()
        b.start()
        net.until(lambda: "b" in a.alive)
    assert b.metric("tailed_back") == 3
    reloaded(b, {})
    net.until(lambda: not b.metric("tailed_back"), 10.0)
    assert b.metric("dead") == 3 and any("discarded 3 direct messages" in note for note in events(b, "site"))


def test_letters_that_come_again_in_another_order_than_that_of_their_numbers_are_not_held_back_for_ever() -> (
    None
):
    """After a restart, messages that were not on disk follow those that were."""
    net = SimNetwork()
    a, b, _, d = two_sites(net)
    joe, inbox = client(b, "joe"), client(d, "ann").inbox()
    transit = next(part for part in a.core.parts.context.face if isinstance(part, GatewayRelay))
    transit._lost["NYC", (joe.stream, ""), (b.uuid, True)] = 1
    taken = transit.forward

    def take(source: bytes, site: str, envelopes: list[Envelope], dropped: int = 0) -> None:
        last_first = sorted(envelopes, key=lambda e: -e.first)
        taken(source, site, [replace(envelope, low=1) for envelope in last_first], dropped)

    with patch.object(transit, "forward", take):
        for text in (b"1", b"2", b"3"):
            joe.send(name_at("NYC", d, "ann"), text, persistent=True)
        net.until(lambda: len(inbox.got) == 3)
    assert sorted(inbox.contents) == [b"1", b"2", b"3"]
    net.until(lambda: all(joe.state(n) == "OK" for n in (1, 2, 3)))


def test_a_letter_for_which_there_is_no_room_waits_where_it_was_sent_and_is_not_called_refused() -> None:
    """The message may have been accepted before, and its answer lost."""
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe, inbox = client(b, "joe"), client(d, "ann").inbox()
    with patch.object(c.core.parts.forwarder.tailback, "is_half_full", lambda: True):
        joe.send(name_at("NYC", d, "ann"), b"x", persistent=True)
        net.until(lambda: joe.state(1))
        net.run(5)
        assert joe.state(1) == "FORWARD_WARNING" and not inbox.got
    net.until(lambda: joe.state(1) == "OK")
    assert inbox.contents == [b"x"]


def test_two_sites_that_are_full_of_letters_for_each_other_do_not_wait_for_each_other() -> None:
    net = SimNetwork()
    a, _, c, _ = two_sites(net)
    pairs = [(client(a, "ann"), "NYC", c, "bob"), (client(c, "bob"), "LON", a, "ann")]
    inboxes = [each.inbox() for each, *_ in pairs]
    for node in (a, c):
        context = node.core.parts.context
        context.settings = dataclasses.replace(context.settings, tailback_count=40)
    net.cut("a", "c")
    for sender, site, node, name in pairs:
        for n in range(30):
            sender.send(name_at(site, node, name), b"%d" % n, persistent=True, force=True)
    net.until(lambda: all(sender.state(30) == "FORWARD_WARNING" for sender, *_ in pairs))
    net.heal()
    net.until(lambda: [len(inbox.got) for inbox in inboxes] == [30, 30])
