"""Direct messages to a client of another site whose node the sender does not name."""

from typing import Any

import pytest

from mesh.features.sites.node import client_locator
from mesh.features.sites.node.client_locator import ClientLocator, xpath_of
from mesh.kernel.subscribers.client_finder import ClientFinder
from mesh.names import SessionName
from mesh.wire.replies import ClientRows
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member
from tests.mesh.features.sites.node.site_direct_messages import FROM_LON, FROM_NYC, client, refused, two_sites
from tests.simulation import SimNetwork

ANN, ANN_1 = "/site/NYC/client/ann", "/site/NYC/client/ann/session/1"


class Stage:
    """A locator whose questions are answered by the test."""

    def __init__(self) -> None:
        self.clock: Any = type("Clock", (), {"now": 100.0})()
        context: Any = type("Context", (), {"clock": self.clock})()
        self.asked: list[Any] = []
        self.locator = ClientLocator(context, lambda xpath, then: self.asked.append((xpath, then)))

    def answer(self, *clients: str) -> None:
        self.asked.pop(0)[1](ClientRows(clients=list(clients)))


def test_a_client_is_looked_up_once_and_again_when_the_answer_is_old() -> None:
    stage, ann = Stage(), SessionName("ann", site="NYC")
    assert stage.locator.node_of(ann) is stage.locator.node_of(ann) is None
    assert len(stage.asked) == 1
    stage.answer("/node/d/client/ann/session/1", "/node/c/client/ann/session/2")
    assert stage.locator.node_of(ann) == "c"
    stage.clock.now += client_locator.FOUND
    assert stage.locator.node_of(ann) is None
    stage.answer()
    assert stage.locator.node_of(ann) == ""
    stage.clock.now += client_locator.NOWHERE
    assert stage.locator.node_of(ann) is None


def test_lookups_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_locator, "REMEMBERED", 5)
    stage = Stage()
    for n in range(1000):
        assert stage.locator.node_of(SessionName(f"c{n}")) is None
    assert len(stage.asked) == client_locator.ASKED
    while stage.asked:
        stage.answer()
    assert len(stage.locator._known) == 5


def test_a_client_is_sought_by_its_chosen_name_and_a_session_by_its_number() -> None:
    assert xpath_of(SessionName("ann")) == "//client[@name='ann' and @named]"
    assert xpath_of(SessionName("ann", -3)) == "//client[@name='ann' and @session='-3']"


def test_a_client_of_another_site_is_found_at_whichever_node_it_is_connected() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe, ann, bob = client(b, "joe"), client(d, "ann"), client(c, "bob")
    inbox, other = ann.inbox(), bob.inbox()
    for n in range(3):
        joe.send(ANN, b"%d" % n, persistent=n == 1)
    joe.send(ANN_1, b"3")
    joe.send("/site/NYC/client/bob", b"bob")
    joe.settled()
    net.until(lambda: [joe.state(n) for n in range(1, 6)] == ["OK"] * 5)
    net.until(lambda: (inbox.contents, other.contents) == ([b"0", b"1", b"2", b"3"], [b"bob"]))
    net.run(5)
    assert len(inbox.got) == 4


def test_a_client_that_is_connected_nowhere_is_refused_although_the_message_might_wait() -> None:
    net = SimNetwork()
    _, b, _, _ = two_sites(net)
    joe = client(b, "joe")
    for number, force in enumerate((False, True), 1):
        joe.send(ANN, b"x", force=force)
        joe.settled()
        net.until(lambda number=number: joe.state(number) == "NOT_CONNECTED")  # type: ignore[misc]
    assert "/site/NYC/node/NAME/client/ann" in joe.answers["", 1].text


def test_a_client_that_the_site_does_not_permit_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    nobody = {"LON": FROM_LON["LON"].__class__("LON", letters=("eve",))}
    _, b, _, d = two_sites(net, there=nobody)
    client(d, "ann").inbox()
    joe = client(b, "joe")
    with monkeypatch.context() as looking:
        looking.setattr(ClientLocator, "node_of", lambda self, name: pytest.fail("it was looked up"))
        joe.send(ANN, b"x")
        joe.settled()
        net.until(lambda: joe.state(1) == "NO_RIGHT")
    assert joe.state(1) == "NO_RIGHT"


@pytest.mark.parametrize("older", ["there", "here"])
def test_gateways_of_an_earlier_release_never_see_such_a_name(
    older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = SimNetwork()
    with monkeypatch.context() as earlier:
        if older == "there":
            earlier.setattr(ClientFinder, "features", lambda self: ())
        c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
    with monkeypatch.context() as earlier:
        if older == "here":
            earlier.setattr(ClientFinder, "features", lambda self: ())
        a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    b = member(net, "b", "LON", "a", tables=FROM_NYC)
    net.until(lambda: links(a) == links(c) == 1 and "b" in a.alive)
    inbox = client(c, "ann").inbox()
    joe = client(b, "joe")
    assert refused(joe, ANN) == "SITE_UNREACHABLE"
    joe.send("/site/NYC/node/c/client/ann", b"with its node")
    joe.settled()
    net.until(lambda: inbox.contents == [b"with its node"])
