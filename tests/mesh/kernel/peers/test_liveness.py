"""The liveness of nodes, whatever other nodes claim or clocks show. (Fault rows 24 and 54.)"""

from dataclasses import replace

import pytest

from mesh.discovery.member import NodeLife
from mesh.kernel.peers.introductions import to_wire
from mesh.wire import commands as c
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

NAMES = ("heron", "frodo", "egret", "golan")
LIES, TURN = 20.0, 0.25  # s of lies, and s between two of them


@pytest.fixture
def nodes() -> list[SimNode]:
    """The nodes heron, frodo, egret and golan, of which golan lies."""
    net = SimNetwork()
    found = [net.node(name, "heron") for name in NAMES]
    net.until(lambda: all(len(node.alive) == len(NAMES) - 1 for node in found))
    net.run(5)
    return found


def accuse(golan: SimNode, heron: SimNode, state: NodeLife) -> None:
    """Let golan send all peers a rumor about heron, with the latest incarnation that it knows."""
    record = golan.core.parts.neighbours.membership._table.records[heron.uuid]
    said = c.Rumours(to_wire((record.rumour(state, golan.uuid),)))
    for peer in golan.core.parts.neighbours.peers.values():
        golan.core.parts.context.out.send(peer.control, said)
    golan._carry_out_all()


@pytest.mark.parametrize("state", scenarios([NodeLife.DEAD, NodeLife.SUSPECT]))
def test_row_54_a_node_that_a_member_calls_dead_again_and_again_goes_on_for_everybody(
    nodes: list[SimNode], state: NodeLife
) -> None:
    """The node refutes each rumor. It is missing only until then, and no message is lost."""
    heron, frodo, egret, golan = nodes
    net = heron.net
    publisher, s = client_of(heron, "pub"), client_of(frodo, "sub").subscribed("k")
    incarnation = golan.core.parts.neighbours.membership._table.records[heron.uuid].incarnation
    missed, count = 0, int(LIES / TURN)
    for n in range(count):
        accuse(golan, heron, state)
        publisher.publish("k", b"%d" % n, persistent=True)
        net.run(TURN)
        missed += sum("heron" not in node.alive for node in (frodo, egret))
    assert heron.stop is None and heron.is_up
    denied = golan.core.parts.neighbours.membership._table.records[heron.uuid].incarnation
    assert denied > incarnation + 4, "it has heard of it, and contradicted"
    assert missed < 2 * count / 10
    net.until(lambda: len(s.got) == count)
    assert s.contents == [b"%d" % n for n in range(count)]
    net.run(5)
    assert all("heron" in node.alive for node in (frodo, egret, golan))


@pytest.mark.parametrize("state", [NodeLife.DEAD, NodeLife.LEFT])
def test_trial_A2_the_end_of_processes_that_never_were_parts_no_two_nodes(
    nodes: list[SimNode], state: NodeLife
) -> None:
    """Each of the two receives a rumor that ends the next boot of the other, which no node can refute."""
    _, frodo, egret, golan = nodes
    table = golan.core.parts.neighbours.membership._table
    for whom, of in ((egret, frodo), (frodo, egret)):
        said = table.records[of.uuid].rumour(state, golan.uuid)
        rumour = replace(said, node=replace(said.node, boot=said.node.boot + 1))
        golan.core.parts.context.out.send(
            golan.core.parts.neighbours.peers[whom.uuid].control, c.Rumours(to_wire((rumour,)))
        )
    golan._carry_out_all()
    egret.net.until(lambda: "frodo" not in egret.alive and "egret" not in frodo.alive)
    egret.net.until(lambda: "frodo" in egret.alive and "egret" in frodo.alive)


PPM = 1e-6


class Drifting(SimNode):
    """A node whose clock gains `drift` seconds a second."""

    drift = 0.0
    offset = 0.0  # s by which its monotonic clock is ahead, as in a time namespace

    @property
    def now(self) -> float:
        return self.offset + self.net.now * (1 + self.drift)

    @property
    def wall(self) -> int:
        return super().wall + int(self.net.now * self.drift * 1e9)

    def when(self, moment: float) -> float:
        return (moment - self.offset) / (1 + self.drift)


@pytest.mark.slow  # for its length
@pytest.mark.parametrize(("drift", "offset"), [(1000 * PPM, 0.0), (-1000 * PPM, 100_000.0)])
def test_row_24_a_clock_that_drifts_makes_nobody_dead_and_voids_nothing(drift: float, offset: float) -> None:
    net = SimNetwork(24)
    heron = net.node("heron")
    others = []
    for name, sign in (("stork", 1), ("egret", -1)):
        node = Drifting(net, name, ("heron",), {})
        node.drift, node.offset = sign * drift, offset
        node.start()
        others.append(node)
    net.until(lambda: all(len(node.alive) == 2 for node in (heron, *others)))
    subscription = client_of(others[0], "sub").subscribed("k")
    publisher = client_of(others[1], "pub")
    for n in range(20):
        expires = others[1].wall + 600 * 10**9
        publisher.publish("k", b"%d" % n, persistent=True, expires=expires)
        net.run(60)
    assert subscription.contents == [b"%d" % n for n in range(20)]
    for each in (heron, *others):
        assert not [note for note in each.notes if "dead:" in note or "suspect:" in note]
