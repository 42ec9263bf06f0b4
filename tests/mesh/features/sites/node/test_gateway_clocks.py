"""Messages between two sites whose clocks differ by an hour: arrival, expiry and reports."""

import pytest

from mesh.config.sites import RemoteSite
from mesh.kernel.states.clocks import LOOK
from mesh.site_policy.accepting import Accepts
from tests.mesh.features.sites.node.meshes import FIRST, Reader, events, gateway, links, member
from tests.mesh.features.sites.node.site_direct_messages import name_at
from tests.mesh.features.sites.node.test_sitefeed import STOCK
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

S = 10**9  # ns
HOUR = 3600
FROM_LON = {"LON": RemoteSite("LON", accepts=Accepts((STOCK,)), letters=("#",))}
TO_NYC = {"NYC": RemoteSite("NYC", domains=(STOCK,), letters=("#",))}


class Apart:
    """NYC with the gateway gull and tern; LON with the gateway heron and wren, whose clocks are ahead."""

    def __init__(self, ahead: int) -> None:
        self.net = net = SimNetwork()
        self.gull = gateway(net, "gull", "NYC", "LON", tables=FROM_LON)
        self.tern = member(net, "tern", "NYC", "gull", tables=FROM_LON)
        self.heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=TO_NYC)
        self.wren = member(net, "wren", "LON", "heron", tables=TO_NYC)
        for node in (self.heron, self.wren):
            node.leap(ahead * S)
            node.restart()
        net.until(lambda: links(self.heron) == links(self.gull) == 1 and self.wren.alive and self.tern.alive)
        self.joe = SimClient(net, self.wren.ipc, "joe").connected()
        self.ann = Reader(net, self.tern.ipc, "ann", session=1).connected()
        net.run(3)

    def soon(self, node: SimNode) -> int:
        """Return the time in a minute, by the clock of `node`."""
        return node.wall + 60 * S


def test_a_message_from_a_site_whose_clock_is_behind_arrives_and_lives_as_long_as_it_should() -> None:
    it = Apart(-HOUR)
    heard = it.ann.subscribed("quote", domain=STOCK)
    it.net.run(1)
    it.joe.publish("quote", b"1", domain=STOCK, persistent=True, expires=it.soon(it.wren))
    it.net.until(lambda: heard.contents == [b"1"])
    bob = Reader(it.net, it.gull.ipc, "bob").connected()
    assert [found.content for found in bob.get("quote", domain=STOCK)] == [b"1"]
    it.net.run(61)
    assert bob.get("quote", domain=STOCK) == []


@pytest.mark.parametrize(("ahead", "state"), [(-HOUR, "OK"), (HOUR, "CLOCK_AHEAD")])
def test_a_direct_message_arrives_or_is_refused_with_the_reason(ahead: int, state: str) -> None:
    it = Apart(ahead)
    inbox = it.ann.inbox()
    it.joe.send(name_at("NYC", it.tern, "ann"), b"x", expires=it.soon(it.wren))
    it.net.run(3)
    assert (it.joe.state(1), inbox.contents) == (state, [b"x"] if state == "OK" else [])


@pytest.mark.parametrize(
    ("ahead", "at_gull", "at_heron"), [(HOUR, "ahead of", "behind"), (-HOUR, "behind", "ahead of")]
)
def test_gateways_report_the_clock_of_another_site_before_anything_is_lost(
    ahead: int, at_gull: str, at_heron: str
) -> None:
    it = Apart(ahead)
    it.net.run(2 * LOOK + 3)
    [there] = events(it.gull, "clock")
    assert f"the clock of heron of the site LON is 3,600 s {at_gull} ours" in there
    [here] = events(it.heron, "clock")
    assert f"the clock of gull of the site NYC is 3,600 s {at_heron} ours" in here
    assert it.gull.core.parts.context.figures()["clock_apart"] == pytest.approx(HOUR, abs=1)
    assert events(it.tern, "clock") == events(it.wren, "clock") == []
    it.gull.kill()
    it.net.until(lambda: not links(it.heron))
    it.net.run(LOOK)
    assert it.heron.core.parts.context.figures()["clock_apart"] < 1
