"""A store that went backwards, and one that is cut to what is still owed: what do others see of it?"""

import copy
from collections.abc import Sequence

import pytest

from mesh.routing import shares
from mesh.store.base import Drop, Op, Rewrite
from mesh.store.memory import MemoryStore
from mesh.wire.envelope import decode
from tests.mesh.core.campaign import Campaign
from tests.seeds import stories
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

KEYS = " ".join(f"k{i}" for i in range(100))
CONTENTS = [b"%03d" % i * 100 for i in range(100)]


def rolled_back() -> tuple[SimNetwork, SimNode, SimNode, int]:
    """A network in which `a` starts again with an old copy of its store; how far that copy is."""
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    subscription = client_of(b).subscribed("k")
    publisher = client_of(a, "pub")
    publisher.publish("k", b"old", persistent=True)
    publisher.settled()
    net.until(lambda: subscription.contents == [b"old"])
    net.run(3)  # what may wait is on the disk
    old = copy.deepcopy(a.disk.store)
    for content in (b"1", b"2", b"3"):
        publisher.publish("k", content, persistent=True)
        publisher.settled()
    net.until(lambda: len(subscription.got) == 4)
    publisher.die()
    a.kill()
    a.disk.store = old
    return net, a, b, old.load().next_position


def test_row_47_a_node_whose_peers_know_more_of_its_log_than_it_does_stops() -> None:
    """An old copy was restored, with its witness. The next it would write has a position that the peer has
    had already, and would take for a repeat: the message would be lost in silence."""
    net, a, b, next_position = rolled_back()
    a.start()
    net.until(lambda: a.stop)
    assert a.stop is not None
    assert (a.stop.code, a.stop.next_position) == ("STORE_ROLLED_BACK", next_position + 3)
    assert f"b has position {next_position + 2} of its log, {next_position} is next" in a.stop.error
    assert b.stop is None and b.is_up


def test_row_47_beyond_the_positions_that_its_peers_know_it_goes_on_and_nothing_is_lost() -> None:
    """The operator has accepted what is lost. What is published from now on arrives, and once."""
    net, a, b, next_position = rolled_back()
    a.disk.store.commit([Drop(tuple(range(next_position, next_position + 50)))])
    a.start()
    late = client_of(b, "late").subscribed("k")
    publisher = client_of(a, "again")
    for content in (b"4", b"5"):
        publisher.publish("k", content, persistent=True)
    publisher.settled()
    net.until(lambda: late.contents == [b"old", b"4", b"5"])
    net.run(3)
    assert a.stop is None and a.metric("stored_envelopes") == 0
    first = next(s for s in b.core.clients.sessions.values() if s.name.client == "joe")
    assert [feed.delivered for feed in first.feeds.values()] == [6]


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
    """A hundred messages for somebody who takes all, and one who wants a single one and is away until the
    master has started again. Returns (messages, bytes) of what was on the disk then, and what each got."""
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
    stored = [decode(header, body) for _, header, body in a.disk.store.load().envelopes]
    a.start()
    net.heal()
    net.until(lambda: single.got and a.metric("stored_envelopes") == 0)
    net.run(3)
    return [(e.count, len(e.body)) for e in stored], everything.contents, single.contents


@pytest.mark.parametrize("seed", range(5))
def test_a_thinned_envelope_is_delivered_as_a_whole_one_would_be(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinned = owed_to_one(SimNetwork(seed))
    monkeypatch.setattr(shares, "LARGE", 1 << 30)
    whole = owed_to_one(SimNetwork(seed))
    assert (thinned[0], whole[0]) == ([(1, 300)], [(100, 30_000)])
    assert thinned[1:] == whole[1:] == (CONTENTS, [CONTENTS[7]])


@pytest.mark.parametrize("seed", stories([0, 1, 3, 4, 5, 6, 7]))  # without those that come to nothing
def test_a_random_story_in_which_every_envelope_is_thinned_keeps_every_promise(
    seed: int, monkeypatch: pytest.MonkeyPatch
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
    story = Campaign(seed, nodes=3, subscribers=8)
    story.run(8.0, faults=2.0)
    story.check()
    assert rewritten
