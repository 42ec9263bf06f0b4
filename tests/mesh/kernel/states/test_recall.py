"""A store that went backwards, or was cut to the messages still owed, as other nodes see it."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import astuple, replace

from mesh.discovery.gossip import StateLine, read
from mesh.discovery.state import Sample
from mesh.operations import BOOT, Op, Rewrite
from mesh.routing import shares
from mesh.store.memory import MemoryStore
from mesh.wire.calls import AskState
from mesh.wire.commands import Interest
from mesh.wire.envelope import decode
from tests.mesh.kernel.campaign import Campaign
from tests.mesh.kernel.lying import replies
from tests.mesh.store.images import standing
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

IDLE = Sample(cpu=(90.0,), ram_free=4_000, ram_total=8_000)
KEYS = " ".join(f"k{i}" for i in range(100))
CONTENTS = [b"%03d" % i * 100 for i in range(100)]


def rolled_back(**settings: Any) -> tuple[SimNetwork, SimNode, SimNode]:
    """Return a mesh whose `a` is down with an old copy of its store, and `b`.

    `a` committed three more messages after the copy was made.
    """
    net = SimNetwork()
    a, b = net.mesh("a", "b", **settings)
    subscription = client_of(b).subscribed("k")
    publisher = client_of(a, "pub")
    publisher.publish("k", b"old", persistent=True)
    publisher.settled()
    net.until(lambda: subscription.contents == [b"old"])
    net.run(3)  # all deferred writes are on disk
    old = copy.deepcopy(a.disk.store)
    for content in (b"1", b"2", b"3"):
        publisher.publish("k", content, persistent=True)
        publisher.settled()
    net.until(lambda: len(subscription.got) == 4)
    net.run(3)  # its state was sent, too
    publisher.die()
    a.kill()
    a.disk.store = old
    return net, a, b


def told(node: SimNode, text: str) -> list[str]:
    return [note for note in node.notes if text in note]


def test_trial_A2_what_a_store_forgot_makes_nobody_drop_what_comes_next() -> None:
    """The node never reuses a position that its peers have, so it needs no report from them."""
    net, a, b = rolled_back()
    a.start()
    late = client_of(b, "late").subscribed("k")
    publisher = client_of(a, "again")
    for content in (b"4", b"5"):
        publisher.publish("k", content, persistent=True)
    publisher.settled()
    net.until(lambda: late.contents == [b"old", b"4", b"5"])
    net.run(3)
    assert a.stop is None and a.metric("stored_envelopes") == 0
    first = next(s for s in b.core.parts.clients.sessions.values() if s.name.client == "joe")
    assert [feed.delivered for feed in first.feeds.values()] == [6]


def lie(liar: SimNode, to: SimNode, position: int) -> None:
    """Let the liar claim in INTEREST that it has the log of `to` up to `position`."""
    peer = to.core.parts.neighbours.peers[liar.uuid]
    to.core.parts.wanted.interest(peer, Interest(99, False, (), (), ((to.uuid, position),)))
    to._carry_out_all()


@pytest.mark.parametrize("position", scenarios([1 * BOOT + 7, 2**62, 2**63 - 1]))
def test_trial_A2_a_made_up_position_stops_nobody_and_costs_only_the_liar(position: int) -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    honest, lying = (client_of(node).subscribed("k") for node in (b, c))
    publisher = client_of(a, "pub")
    publisher.publish("k", b"1", persistent=True)
    publisher.settled()
    for _ in range(3):
        lie(c, a, position)
    assert len(told(a, "c has messages of this node's log up to position")) == 1, "told once"
    publisher.publish("k", b"2", persistent=True)
    publisher.settled()
    net.until(lambda: honest.contents == lying.contents == [b"1", b"2"])
    a.restart()
    publisher.publish("k", b"3", persistent=True)
    publisher.settled()
    net.until(lambda: honest.contents == lying.contents == [b"1", b"2", b"3"])
    net.run(5)
    assert a.stop is None


def test_trial_A2_a_node_that_has_signed_a_later_state_stops_before_it_serves() -> None:
    """The operator has a newer copy (row 47): messages accepted now would be lost when it is restored."""
    net, a, b = rolled_back(sample=lambda: IDLE)
    a.start()
    publisher = SimClient(net, a.ipc, "again")
    publisher.publish("k", b"4", persistent=True)
    net.until(lambda: a.stop)
    assert a.stop is not None and a.stop.code == "STORE_ROLLED_BACK"
    assert f"is at position {BOOT}, but b kept" in a.stop.error and f"commits at {BOOT + 3}" in a.stop.error
    assert "b kept a state" in a.stop.error and "--accept-rollback" in a.stop.error
    assert not publisher.is_through and b.stop is None
    net.run(5)
    assert (b.core.parts.gossiping.gossip.last_of(a.uuid) or StateLine(b"", 0, 0, b"")).boot == 1, (
        "it said nothing"
    )
    a.restart()
    net.until(lambda: a.stop)
    assert a.stop.code == "STORE_ROLLED_BACK", "it does not get used to it"


def test_trial_A2_an_accepted_loss_stays_accepted_whoever_comes_with_an_older_state() -> None:
    net, a, b = rolled_back(sample=lambda: IDLE)
    b.kill()
    a._settings["accept_rollback"] = True
    a.start()
    net.run(5)
    assert a.stop is None
    a._settings["accept_rollback"] = False
    a.restart()
    b.start()
    net.until(lambda: a.alive == {"b"})
    net.run(5)
    assert a.stop is None


@pytest.mark.parametrize("damage", ["made up", "of another", "signed by nobody"])
def test_trial_A2_a_state_that_this_node_has_not_signed_counts_for_nothing(damage: str) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    net.run(5)
    line = b.core.parts.gossiping.gossip.last_of(a.uuid)
    assert line is not None and a.core.parts.gossiping.is_mine(line)
    state = read(line)
    assert state is not None
    state = replace(state, boot=1, counter=10**6, log=2**62, commits=2**62)
    forged = replace(line, counter=10**6, state=state.encode())
    if damage == "of another":
        forged = replace(line, uuid=b.uuid)
    elif damage == "signed by nobody":
        forged = replace(forged, signature=b"")
    replies(b, AskState, {"line": list(astuple(forged))[:5]})
    a.restart()
    net.until(lambda: a.core.parts.recall.is_over)
    net.run(3)
    assert a.stop is None


@pytest.mark.parametrize("said", [None, 7, [], ["x"], [b"", -1, 2**70, b"", b""], {"line": 1}])
def test_trial_A2_an_answer_that_is_no_state_counts_for_nothing(said: Any) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    replies(b, AskState, {"line": said})
    a.restart()
    net.until(lambda: a.core.parts.recall.is_over)
    assert a.stop is None


def test_trial_A2_a_boot_that_was_there_already_is_an_old_boot() -> None:
    """identity.json is an old copy, too. The other nodes may not remember the last boot."""
    net = SimNetwork()
    a, _ = net.mesh("a", "b", sample=lambda: IDLE)
    net.run(5)
    a.kill()
    a.disk.boot -= 1
    a.start()
    net.until(lambda: a.stop)
    assert a.stop is not None and a.stop.code == "OLD_BOOT"
    assert "The next boot would be 1, but " in a.stop.error


def test_a_node_that_reaches_nobody_serves_after_a_second() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    net.run(3)
    b.kill()
    a.restart()
    began = net.now
    publisher = client_of(a)
    publisher.publish("k", b"1")
    publisher.settled()
    assert 0.9 < net.now - began < 1.5


def test_a_restart_alone_is_no_step_back() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    subscription = client_of(b).subscribed("k")
    for turn in range(3):
        publisher = client_of(a, f"pub{turn}")
        publisher.publish("k", b"%d" % turn, persistent=True)
        publisher.settled()
        publisher.close()
        a.restart()
    net.until(lambda: subscription.contents == [b"0", b"1", b"2"])
    net.run(10)
    assert (a.stop, b.stop) == (None, None)


def owed_to_one(net: SimNetwork) -> tuple[list[tuple[int, int]], list[bytes], list[bytes]]:
    """Publish a hundred messages for a subscriber of all of them and for one of a single key.

    The latter is disconnected until the master has restarted. Returns (messages, bytes) of the envelopes on
    disk before the restart, and what each subscriber received.
    """
    a, b = net.mesh("a", "b")
    everything = client_of(b, "all").subscribed(pattern="#")
    joe = client_of(a)
    single = joe.subscribed("k7")
    net.cut("a", joe.name)
    publisher = client_of(a, "pub")
    publisher.publish(KEYS, *CONTENTS, persistent=True)
    publisher.settled()
    net.until(lambda: len(everything.got) == 100)
    net.run(3)
    a.kill()
    stored = [decode(header, body) for _, header, body in standing(a.disk.store)]
    a.start()
    net.heal()
    net.until(lambda: single.got and a.metric("stored_envelopes") == 0)
    net.run(3)
    return [(e.count, len(e.body)) for e in stored], everything.contents, single.contents


@pytest.mark.parametrize("seed", scenarios(range(5)))
def test_a_thinned_envelope_is_delivered_as_a_whole_one_would_be(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinned = owed_to_one(SimNetwork(seed))
    monkeypatch.setattr(shares, "LARGE", 1 << 30)
    whole = owed_to_one(SimNetwork(seed))
    assert (thinned[0], whole[0]) == ([(1, 300)], [(100, 30_000)])
    assert thinned[1:] == whole[1:] == (CONTENTS, [CONTENTS[7]])


@pytest.mark.slow  # the test above cuts each envelope as well
def test_a_random_scenario_in_which_every_envelope_is_thinned_keeps_every_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rewritten = 0
    commit = MemoryStore.commit

    def counted(store: MemoryStore, ops: Sequence[Op]) -> None:
        nonlocal rewritten
        rewritten += sum(isinstance(op, Rewrite) for op in ops)
        commit(store, ops)

    monkeypatch.setattr(MemoryStore, "commit", counted)
    monkeypatch.setattr(shares, "LARGE", 1)
    monkeypatch.setattr(shares, "FEW", 1)
    for seed in range(8):  # some thin no envelope
        scenario = Campaign(seed, nodes=3, subscribers=8)
        scenario.run(8.0, faults=2.0)
        scenario.check()
    assert rewritten
