"""Messages that one site relays to another: they arrive once and in order, while nodes fail between."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from mesh.mapping.rules import Rule
from mesh.site_policy.accepting import Accepts
from tests.mesh.features.services.node.test_listing import called
from tests.mesh.features.services.node.user import User
from tests.mesh.features.sites.node.meshes import FIRST, SECOND, Reader, gateway, links, member
from tests.seeds import scenarios
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

STOCK = "STOCK"
TO_NYC = {"NYC": RemoteSite("NYC", domains=(STOCK,))}
FROM_LON = {"LON": RemoteSite("LON", accepts=Accepts((STOCK,)))}


class Sites:
    """LON with gateways heron and hawk, and wren. NYC with one or two `gateways`, and tern.

    `master` is the master of STOCK in NYC, if it is set.
    """

    def __init__(self, master: str = "", persistent: bool = True, gateways: int = 1) -> None:
        self.net = net = SimNetwork()
        self.persistent = persistent
        there: dict[str, Any] = {"rules": (Rule(master, domains=(STOCK,)),)} if master else {}
        self.gull = gateway(net, "gull", "NYC", "LON", tables=FROM_LON, **there)
        dials: tuple[str, ...] = (FIRST,)
        if gateways == 2:
            self.grebe = gateway(net, "grebe", "NYC", "LON", "", "gull", tables=FROM_LON, **there)
            dials = (FIRST, SECOND)
        self.tern = member(net, "tern", "NYC", "gull", tables=FROM_LON, **there)
        self.heron = gateway(net, "heron", "LON", "NYC", dials[0], tables=TO_NYC)
        self.hawk = gateway(net, "hawk", "LON", "NYC", dials[-1], "heron", tables=TO_NYC)
        self.wren = member(net, "wren", "LON", "heron", "hawk", tables=TO_NYC)
        net.until(lambda: links(self.heron) and links(self.hawk) and len(self.wren.alive) == 2)
        net.until(lambda: len(self.tern.alive) == gateways)
        self.joe = SimClient(net, self.wren.ipc, "joe").connected()
        self.ann: SimClient = Reader(net, self.tern.ipc, "ann").connected()
        self.heard: Subscription = self.ann.subscribed("quote", domain=STOCK)
        self.sent: list[bytes] = []

    def publish(self, count: int = 1) -> None:
        for _ in range(count):
            self.sent.append(b"%d" % (len(self.sent) + 1))
            self.joe.publish("quote", self.sent[-1], domain=STOCK, persistent=self.persistent)

    @property
    def got(self) -> list[bytes]:
        return self.heard.contents

    def settled(self) -> None:
        """Wait until all messages have arrived and LON keeps none of them."""
        self.net.until(lambda: len(self.got) >= len(self.sent))
        self.net.until(lambda: not self.pending)
        self.net.run(5)
        assert self.got == self.sent
        assert [self.joe.state(n + 1, STOCK) for n in range(len(self.sent))] == ["OK"] * len(self.sent)

    @property
    def pending(self) -> int:
        return self.wren.metric("site_pending")

    def way(self) -> SimNode:
        """Return the gateway of LON through which joe's messages go."""
        flight = self.wren.core.parts[SiteParts].outbound.by_name["NYC"].feed.in_flight.streams
        self.net.until(lambda: flight.streams_by(lambda uuid: True))
        (uuid,) = {flight.route_of(stream) for stream in flight}
        return next(node for node in (self.heron, self.hawk) if node.uuid == uuid)


@pytest.mark.parametrize("master", scenarios(["tern", "", "gull"]))
def test_D1_what_is_published_in_one_site_is_read_in_the_other_once(master: str) -> None:
    sites = Sites(master)
    sites.publish(10)
    sites.settled()
    message = sites.heard.got[0]
    assert message.sender == f"/site/LON{sites.joe.session_name}"
    assert message.route[0] == "site:LON/wren"


def test_transient_messages_go_as_well() -> None:
    sites = Sites(persistent=False)
    sites.publish(10)
    sites.settled()


def test_nothing_comes_back_and_what_is_not_named_stays() -> None:
    sites = Sites()
    sites.joe.publish("quote", b"here", domain="NEWS")
    sites.publish(1)
    sites.settled()
    assert sites.tern.metric("site_pending") == sites.gull.metric("site_pending") == 0
    news = sites.ann.subscribed("quote", domain="NEWS")
    sites.joe.publish("quote", b"here", domain="NEWS")
    sites.net.run(5)
    assert not news.got


@pytest.mark.parametrize("persistent", scenarios([True, False]), ids=["persistent", "transient"])
@pytest.mark.parametrize("master", scenarios(["tern", ""]))
def test_D10_D28_a_gateway_dies_and_the_other_takes_over(master: str, persistent: bool) -> None:
    sites = Sites(master, persistent)
    sites.publish(15)
    sites.net.until(lambda: sites.got)
    sites.publish(15)
    sites.way().kill()
    sites.publish(15)
    sites.settled()


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["tern", "gull", "grebe"])
@pytest.mark.parametrize("end", ["there", "here"])
def test_of_two_gateways_on_each_side_one_dies_and_nobody_reads_twice(reader: str, end: str) -> None:
    sites = Sites(gateways=2)
    sites.ann = Reader(sites.net, getattr(sites, reader).ipc, "eve").connected()
    sites.heard = sites.ann.subscribed("quote", domain=STOCK)
    sites.publish(15)
    sites.net.until(lambda: sites.got)
    sites.publish(15)
    way = sites.way()
    gone = way if end == "here" else (sites.gull if way is sites.heron else sites.grebe)
    if gone.name == reader:
        gone = way
    gone.kill()
    sites.publish(15)
    if end == "here":
        sites.settled()
        return
    sites.net.run(20)
    gone.start()  # it alone may have messages it has answered
    sites.net.until(lambda: len(sites.got) >= len(sites.sent))
    sites.net.run(5)
    assert sorted(sites.got) == sorted(sites.sent)


@pytest.mark.slow
def test_both_gateways_of_a_site_die_and_come_back() -> None:
    sites = Sites()
    sites.publish(15)
    sites.net.until(lambda: sites.got)
    sites.heron.kill()
    sites.hawk.kill()
    sites.publish(15)
    sites.net.run(15)
    assert sites.pending
    sites.hawk.start()
    sites.settled()


def test_the_gateway_at_the_other_end_dies_with_what_it_had_not_passed_on() -> None:
    sites = Sites("tern")
    sites.publish(15)
    sites.net.until(lambda: sites.got)
    sites.gull.kill()
    sites.publish(20)
    sites.net.run(15)
    sites.gull.start()
    sites.settled()


@pytest.mark.slow
def test_the_master_in_the_other_site_dies_and_comes_back() -> None:
    sites = Sites("tern")
    sites.publish(15)
    sites.net.until(lambda: sites.got)
    sites.tern.kill()
    sites.publish(20)
    sites.net.run(15)
    sites.tern.start()
    sites.settled()


def test_the_publishers_master_dies_with_what_the_other_site_had_not_answered() -> None:
    sites = Sites()
    sites.gull.kill()
    sites.publish(15)
    sites.joe.settled()
    sites.wren.kill()
    sites.net.run(5)
    sites.wren.start()
    sites.gull.start()
    sites.publish(10)
    sites.settled()


def test_what_the_other_site_may_not_have_is_a_dead_letter_here() -> None:
    sites = Sites()
    sites.gull._settings["accepting"] = {}
    sites.gull.kill()
    sites.gull.start()
    sites.publish(3)
    sites.net.until(lambda: sites.wren.metric("dead") == 3)
    sites.net.until(lambda: not sites.pending)
    assert not sites.got


def test_what_waits_for_a_site_is_told_by_any_node_until_it_is_answered() -> None:
    it = Sites()
    asker = User(it.heron, "asker")
    it.publish()
    it.settled()
    assert waiting(asker)["messages"] == 0
    it.net.cut("heron", "gull")
    it.net.cut("hawk", "gull")
    it.publish(3)
    it.net.run(8)
    told = waiting(asker)
    assert (told["messages"], told["age"] > 7, told["bytes"] > 3) == (3, True, True)
    [queue] = [each for each in it.wren.core.parts.context.face.waiting(()) if each.name == "site/NYC"]
    assert (queue.messages, queue.bytes) == (3, told["bytes"])
    it.net.heal()
    it.settled()
    assert waiting(asker) == {"messages": 0, "bytes": 0, "age": 0.0}


def waiting(asker: User) -> dict[str, Any]:
    [row] = called(asker, "sites")["sites"]
    found: dict[str, Any] = row["waiting"]
    return found
