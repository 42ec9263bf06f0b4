"""What can a member do to another one of which it says what is not so? Row 54, on simulated nodes."""

from dataclasses import replace

import pytest

from discovery.member import NodeLife
from mesh.core.peers.introductions import to_wire
from mesh.wire import commands as c
from tests.seeds import stories
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

NAMES = ("heron", "frodo", "egret", "golan")
LIES, TURN = 60.0, 0.25  # s for which somebody lies, and between two lies


@pytest.fixture
def nodes() -> list[SimNode]:
    """heron, frodo and egret; and golan, who lies."""
    net = SimNetwork()
    found = [net.node(name, "heron") for name in NAMES]
    net.until(lambda: all(len(node.alive) == len(NAMES) - 1 for node in found))
    net.run(5)
    return found


def accuse(golan: SimNode, heron: SimNode, state: NodeLife) -> None:
    """golan tells all others of heron, as new as anything that it has heard of it."""
    record = golan.core.parts.neighbours.membership._table.records[heron.uuid]
    said = c.Rumours(to_wire((record.rumour(state, golan.uuid),)))
    for peer in golan.core.parts.neighbours.peers.values():
        golan.core.parts.desk.send(peer.control, said)
    golan._carry_out_all()


@pytest.mark.parametrize("state", stories([NodeLife.DEAD, NodeLife.SUSPECT]))
def test_row_54_a_node_that_a_member_calls_dead_again_and_again_goes_on_for_everybody(
    nodes: list[SimNode], state: NodeLife
) -> None:
    """It denies each time. Nobody is without it for longer than that takes, and no message is lost."""
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
    assert denied > incarnation + 10, "it has heard of it, and contradicted"
    assert missed < 2 * count / 10
    net.until(lambda: len(s.got) == count)
    assert s.contents == [b"%d" % n for n in range(count)]
    net.run(5)
    assert all("heron" in node.alive for node in (frodo, egret, golan))


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
        golan.core.parts.desk.face.owes.append(lambda peer: True)
        heron.net.until(lambda: peer.data and peer.data.is_open)
        golan.core.parts.desk.send(peer.data, c.Call(7, "erase", said))
        golan._carry_out_all()
    heron.net.until(lambda: len(s.got) == 2)
    publisher.publish("k", b"2", persistent=True)
    heron.net.until(lambda: len(s.got) == 3)
    assert [message.is_erased for message in s.got] == [False, True, False]


def test_trial_D_a_gap_of_more_messages_than_can_be_told_ends_no_connection(nodes: list[SimNode]) -> None:
    heron, frodo, _, golan = nodes
    publisher, s = client_of(heron, "pub"), client_of(frodo, "sub").subscribed("k")
    link = frodo.core.parts.neighbours.peers[golan.uuid]
    for _ in range(3):
        frodo.core.parts.links._missed(link, (), 2**32 - 1)  # so many at once is what a node may say
    publisher.publish("k", b"1")
    heron.net.until(lambda: s.contents == [b"1"], limit=3)
    assert s.dropped == 2**32 - 1


@pytest.mark.parametrize("state", [NodeLife.DEAD, NodeLife.LEFT])
def test_trial_A2_the_end_of_processes_that_never_were_parts_no_two_nodes(
    nodes: list[SimNode], state: NodeLife
) -> None:
    """Each of them is told that the next start of the other is over, which nobody can deny."""
    _, frodo, egret, golan = nodes
    table = golan.core.parts.neighbours.membership._table
    for whom, of in ((egret, frodo), (frodo, egret)):
        said = table.records[of.uuid].rumour(state, golan.uuid)
        rumour = replace(said, node=replace(said.node, boot=said.node.boot + 1))
        golan.core.parts.desk.send(
            golan.core.parts.neighbours.peers[whom.uuid].control, c.Rumours(to_wire((rumour,)))
        )
    golan._carry_out_all()
    egret.net.until(lambda: "frodo" not in egret.alive and "egret" not in frodo.alive)
    egret.net.until(lambda: "frodo" in egret.alive and "egret" in frodo.alive)
