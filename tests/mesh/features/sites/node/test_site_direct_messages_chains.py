"""Direct messages through sites in the middle: they arrive once and in order, while nodes fail there."""

import pytest

from mesh.features.sites.wire import Relayed
from mesh.wire.commands import Answer, Outcome
from tests.mesh.features.sites.node.chains import CHAIN, HF, NET1, NET2, NET3, Middle, Sites
from tests.mesh.features.sites.node.meshes import say
from tests.mesh.features.sites.node.test_requests import User
from tests.seeds import scenarios
from tests.simulated_client import SimClient
from tests.simulation import SimNode


def client(node: SimNode, name: str) -> SimClient:
    return SimClient(node.net, node.ipc, name, session=1).connected()


@pytest.mark.parametrize("apart", scenarios([True, False]), ids=["two gateways", "one"])
def test_D25_letters_by_two_sites_come_once_in_order_and_are_answered(apart: bool) -> None:
    sites = Sites(CHAIN, apart, 2, letters=("#",))
    c, z = sites.nodes[HF][1], sites.nodes[NET3][1]
    joe, ann = client(c, "joe"), client(z, "ann")
    inbox, back = ann.inbox(), joe.inbox()
    for n in range(10):
        joe.send(f"/site/NET3/node/{z.name}/client/ann", b"%d" % n, persistent=n % 2 == 0)
    sites.net.until(lambda: len(inbox.got) == 10)
    for message in inbox.got:
        assert message.sender == f"/site/HF/node/{c.name}/client/joe/session/1"
        ann.send(message.sender, b"re: " + message.content)
    sites.net.until(lambda: len(back.got) == 10)
    joe.settled()
    sites.net.run(3)
    assert inbox.contents == [b"%d" % n for n in range(10)]
    assert back.contents == [b"re: %d" % n for n in range(10)]
    assert {answer.state for answer in joe.answers.values()} == {"OK"}
    assert not any(node.metric("site_passing_bytes") + node.metric("tailed_back") for node in sites.all())


def test_D17_a_letter_to_a_site_that_the_one_in_the_middle_does_not_reach_is_refused_at_once() -> None:
    sites = Sites(CHAIN, members=1, letters=("#",))
    joe = client(sites.nodes[HF][0], "joe")
    joe.send("/site/NET3/node/nobody/client/ann", b"x")
    joe.settled()
    assert joe.state(1) == "UNKNOWN_NODE"
    for node in sites.nodes[NET3]:
        node.close()
    sites.net.run(3)
    begun = sites.net.now
    joe.send("/site/NET3/node/net30/client/ann", b"x")
    joe.settled()
    assert joe.state(2) == "SITE_UNREACHABLE" and sites.net.now - begun < 1
    for node in sites.nodes[NET1]:
        node.close()
    sites.net.run(3)
    joe.send("/site/NET2/node/net20/client/ann", b"x")
    joe.settled()
    assert joe.state(3) == "SITE_UNREACHABLE"


@pytest.mark.parametrize("trouble", scenarios(["both lines", "gateway", "line"]))
def test_what_is_lost_in_the_middle_goes_again_and_comes_once_in_order(trouble: str) -> None:
    serves: dict[str, dict[str, object]] = {site: {"letters": ("#",)} for site in (HF, NET1, NET2)}
    sites = Middle(**serves)
    inbox = client(sites.net2, "ann").inbox()
    joes = sites.joes
    for n in range(24):
        for at, joe in enumerate(joes):
            joe.send("/site/NET2/node/net20/client/ann/session/1", b"%d/%02d" % (at, n), force=True)
        sites.net.run(0.02)
        if n in (8, 16) and trouble == "gateway":
            sites.middle[n == 16].kill()
            sites.net.run(0.5)
            sites.middle[n == 16].start()
            sites.net.run(3)
        elif n in (8, 16):
            for node in sites.middle if trouble == "both lines" else sites.middle[:1]:
                sites.net.break_all(node.name, "net20")
    sites.net.until(lambda: len(inbox.got) >= 96, 200)
    sites.net.run(5)
    for at in range(4):
        wanted = [b"%d/%02d" % (at, n) for n in range(24)]
        assert [text for text in inbox.contents if text.startswith(b"%d/" % at)] == wanted
    assert not sites.hf.metric("tailed_back")


def test_a_site_that_says_of_letters_that_they_are_lost_has_them_again_twice_a_second_and_no_more() -> None:
    serves: dict[str, dict[str, object]] = {site: {"letters": ("#",)} for site in (HF, NET1, NET2)}
    sites = Middle(**serves)
    joe = client(sites.hf, "mallory")
    joe.send("/site/NET2/node/nobody/client/ann", b"x", force=True)
    joe.settled()
    sent = sites.hf.metric("forwarded")
    for _ in range(100):
        for node in sites.middle:
            lie = Outcome(joe.stream, Answer("", 1, 1, "WAY_LOST"))
            say(node, HF, Relayed(NET2, (lie,)))
        sites.net.run(0.02)
    assert 0 < sites.hf.metric("forwarded") - sent <= 5
    sites.net.run(3)
    assert sites.hf.metric("tailed_back") == 1


@pytest.mark.parametrize("apart", scenarios([True, False]), ids=["two gateways", "one"])
def test_D25_requests_to_who_stands_for_a_site_go_by_two_others_and_are_answered_once(apart: bool) -> None:
    sites = Sites(CHAIN, apart, 2, serves=("site/*", "master"))
    server, asker = User(sites.nodes[NET3][1], "server"), User(sites.nodes[HF][1], "asker")
    server.serve("master")
    numbers = [asker.request("/site/NET3/master", b"%d" % n) for n in range(10)]
    server.answer_all(10)
    sites.net.until(lambda: len(asker.replies) == 10)
    sites.net.run(3)
    assert [(n, content) for n, content, _, _ in asker.replies] == [
        (number, b"re: %d" % n) for n, number in enumerate(numbers)
    ]
    assert {sender for *_, sender in asker.replies} == {f"/site/NET3{server.session}"}
    assert server.contents() == [b"%d" % n for n in range(10)]
    assert not any(node.metric("site_requests") + node.metric("requests_open") for node in sites.all())


def test_a_request_that_was_lost_in_the_middle_is_told_so_once() -> None:
    serves: dict[str, dict[str, object]] = {site: {"serves": ("site/*", "#")} for site in (HF, NET1, NET2)}
    sites = Middle(**serves)
    server, asker = User(sites.net2, "server"), User(sites.hf, "asker")
    server.serve("calc")
    n = asker.request("/site/NET2/calc", b"1", ttl=60_000)
    sites.net.until(lambda: server.contents() and asker.state(n) == "OK")
    for node in sites.middle:
        sites.net.break_all(node.name, "net20")
    sites.net.until(lambda: asker.replies)
    sites.net.run(5)
    assert asker.codes() == {n: "HANDLER_LOST"} and len(asker.replies) == 1


def test_who_is_not_let_through_the_middle_is_told_so() -> None:
    fields: dict[str, dict[str, object]] = {NET1: {"serves": ("#",)}, NET2: {"serves": ("#",)}}
    sites = Middle(**fields)
    server, asker = User(sites.net2, "server"), User(sites.hf, "asker")
    server.serve("calc")
    n = asker.request("/site/NET2/calc", b"1")
    sites.net.until(lambda: asker.fate(n) not in ("", "OK"))
    assert asker.fate(n) in ("NO_RIGHT", "SITE_UNREACHABLE") and not server.contents()
