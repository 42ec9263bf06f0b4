"""Other boots and addresses of a known node, and which of them count. (Fault rows 51 and 53.)"""

from dataclasses import replace

import msgspec
import pytest

from mesh.kernel.context.effects import Stop
from mesh.kernel.peers.introductions import as_node
from mesh.wire import commands as c
from tests.mesh.kernel.subscribers.test_datalink_crashes import link
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode, copy_of


def test_row_53_words_of_a_boot_that_is_over_are_old_news() -> None:
    net = SimNetwork(53)
    heron, stork, egret = net.mesh("heron", "stork", "egret")
    old = stork.core.parts.context.me
    stork.restart()
    net.until(lambda: heron.alive == {"stork", "egret"})
    news = heron.metric("old_news")
    rumours = tuple(c.Rumour(old, 99, state, egret.uuid) for state in ("dead", "suspect", "left", "alive"))
    egret.core.parts.context.out.send(link(egret, heron, c.NODE_CONTROL), c.Rumours(rumours))
    egret._carry_out_all()
    heron.core.advertised(msgspec.structs.replace(old, address="tcp://127.0.0.1:9"), net.now, net.wall)
    heron._carry_out_all()
    net.run(40)  # too late to count as a second process
    assert heron.alive == {"stork", "egret"}
    ghost = SimNode(net, "stork", ("heron",), {"uuid": stork.uuid})
    ghost.disk = replace(stork.disk, boot=0)
    ghost.start()
    net.run(10)
    member = heron.core.parts.neighbours.membership.member_of(stork.uuid)
    assert member is not None and (str(member.state), member.boot) == ("alive", 2)
    assert member.address == stork.address and heron.metric("old_news") > news
    assert any("OLD_BOOT" in note for note in ghost.notes) or ghost.stop is not None


def test_row_51_of_two_processes_of_one_boot_the_later_one_learns_of_the_other_and_ends() -> None:
    net = SimNetwork()
    heron, stork = net.mesh("heron", "stork")
    twin = copy_of(stork)
    twin.disk.boot = stork.disk.boot - 1
    twin._seeds = (heron.address,)
    twin.start()
    net.until(lambda: twin.stop)
    assert isinstance(twin.stop, Stop) and twin.stop.code == "CONFLICT"
    assert stork.address in twin.stop.error and "may be a copy" in twin.stop.error
    net.run(30)
    assert stork.is_up and heron.alive == {"stork"}, "nobody said goodbye in its name"
    stork.close()
    stork.start()
    net.until(lambda: heron.alive == {"stork"})
    publisher = client_of(heron, "pub")
    subscription = client_of(stork, "sub").subscribed("k")
    publisher.publish("k", b"1", persistent=True)
    net.until(lambda: subscription.contents == [b"1"])


@pytest.mark.parametrize("names", [("heron", "stork"), ("heron", "stork", "egret", "ibis")])
@pytest.mark.parametrize("age", [0.0, 100.0])
def test_a_started_copy_of_a_data_directory_stops_and_the_original_continues(
    names: tuple[str, ...], age: float
) -> None:
    net = SimNetwork()
    heron, stork, *_ = nodes = net.mesh(*names)
    net.run(age)
    copy = copy_of(stork)
    copy.jumped = -3600 * 10**9  # its clock makes it look like the older process
    copy._seeds = (heron.address,)
    copy.start()
    net.until(lambda: copy.stop)
    assert isinstance(copy.stop, Stop) and (copy.stop.code, stork.stop) == ("CONFLICT", None)
    others = [node for node in nodes if node is not stork]
    net.until(lambda: all("stork" in node.alive for node in others))
    assert {node.core.parts.neighbours.peers[stork.uuid].node.boot for node in others} == {1}
    refusals = [note for note in stork.notes if note.startswith("warning: refused:")]
    assert len(refusals) <= len(others) and all("data directory may be a copy" in note for note in refusals)


def test_a_restarted_node_does_not_stop_for_late_messages_of_its_earlier_process() -> None:
    net = SimNetwork()
    heron, stork = net.mesh("heron", "stork")
    before = stork.core.parts.context.me
    stork.kill()
    stork.start()
    net.until(lambda: stork.alive == {"heron"})
    happened = heron.core.parts.neighbours.membership.on_introduction(as_node(before), heron.now)
    heron.core.parts.neighbours.happened(happened)
    heron._carry_out_all()
    assert heron.alive == set()
    net.until(lambda: heron.alive == {"stork"})
    assert stork.stop is None


def test_who_moves_and_comes_back_is_nobody_else() -> None:
    net = SimNetwork()
    heron, stork = net.mesh("heron", "stork")
    home = stork.address
    for address in ("tcp://127.0.0.1:6001", home, "tcp://127.0.0.1:6002", home):
        net.bound[address] = stork
        stork.core.readdressed(address, (), net.now, net.wall)
        stork._carry_out_all()
        net.run(3)
    assert stork.stop is None and heron.alive == {"stork"}
