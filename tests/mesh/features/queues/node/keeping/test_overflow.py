"""Queues on a nearly full disk: puts are refused, and durable subscriptions shrink."""

from math import inf

import pytest

from mesh.features.queues.node.keeping import overflow
from mesh.features.queues.node.keeping.overflow import LEAST, Loss, shrunk
from mesh.wire.envelope import PERSISTENT
from tests.mesh.features.queues.node.reader import Reader, waiting
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

MOST = 2**45  # max_bytes of a queue, more than any disk


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()


@pytest.fixture
def node(net: SimNetwork) -> SimNode:
    return net.node("heron")


def told(node: SimNode, text: str) -> int:
    return sum(text in row.text for row in node.core.parts.context.events.events_after(0)[0])


def put(net: SimNetwork, joe: Reader, content: bytes, flags: int = PERSISTENT) -> str:
    number = joe.put("jobs", content, flags=flags)
    net.until(lambda: joe.state_of("jobs", number))
    return joe.state_of("jobs", number)


def test_a_queue_of_any_size_leaves_the_last_room_on_the_disk_to_others(
    net: SimNetwork, node: SimNode
) -> None:
    joe = Reader(node, "joe")
    joe.declare("jobs", max_bytes=MOST)
    assert put(net, joe, b"one") == "OK"
    node.disk.is_tight = True
    net.until(lambda: told(node, "has little space"))
    assert put(net, joe, b"two") == "STORE_FULL"
    assert put(net, joe, b"in memory", flags=0) == "OK"
    client_of(node, "ear").subscribed("birds/heron")
    assert joe.published(b"three", flags=PERSISTENT) == "OK", "the disk still takes what is published"
    joe.take("jobs")
    net.until(lambda: len(joe.contents()) == 2)
    assert joe.settle(1, 2) == []
    node.disk.is_tight = False
    net.until(lambda: told(node, "has space again"))
    assert put(net, joe, b"four") == "OK"


def test_while_the_disk_has_little_room_the_largest_durable_subscription_shrinks(
    net: SimNetwork, node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overflow, "LEAST", 100)
    joe = Reader(node, "joe")
    joe.ok(joe.durable("all", ("pattern", "#", "")))
    joe.ok(joe.durable("birds", ("pattern", "birds/#", "")))
    assert [joe.published(bytes(1_000), keys=("cars",)) for _ in range(40)] == ["OK"] * 40
    assert joe.published(b"small") == "OK"
    node.disk.is_tight = True
    assert [joe.published(bytes(1_000), keys=("cars",)) for _ in range(5)] == ["OK"] * 5
    assert waiting(node, name="all") == {"heron": 42} and waiting(node, name="birds") == {"heron": 1}
    net.until(lambda: waiting(node, name="all").get("heron", 0) < 30)
    assert waiting(node, name="birds") == {"heron": 1}, "what others keep is no reason to lose this"
    assert told(node, "has little space: queues must not grow") == 1
    assert told(node, "'sub/all' has too little disk space") == 1
    node.disk.is_tight = False
    net.until(lambda: told(node, "has space again"))
    before = waiting(node, name="all")["heron"]
    assert [joe.published(bytes(1_000), keys=("cars",)) for _ in range(9)] == ["OK"] * 9
    assert waiting(node, name="all") == {"heron": before + 9}


def test_an_event_reports_a_loss_at_once_and_then_once_a_minute() -> None:
    loss = Loss()
    assert loss.take_due(1.0) == 0
    loss.messages = 3
    assert (loss.take_due(1.0), loss.take_due(1.0)) == (3, 0)
    loss.messages += 2
    assert (loss.take_due(60.9), loss.take_due(61.0), loss.take_due(200.0)) == (0, 2, 0)


def test_what_durable_subscriptions_may_hold_shrinks_until_nothing_is_left() -> None:
    assert shrunk(inf, 320 * LEAST) == 320 * LEAST
    assert shrunk(320 * LEAST, 320 * LEAST) == 300 * LEAST
    assert shrunk(LEAST // 2, 0) == 0


def test_what_is_transient_leaves_the_memory_to_others_whatever_a_queue_may_hold(net: SimNetwork) -> None:
    node = net.node("heron", memory_bytes=50_000)
    joe = Reader(node, "joe")
    joe.declare("jobs", max_bytes=MOST)
    states = [put(net, joe, bytes(1_000), flags=0) for _ in range(60)]
    taken = states.count("OK")
    assert states == ["OK"] * taken + ["QUEUE_FULL"] * (60 - taken) and 40 < taken < 50, "twice memory_bytes"
    assert "memory of heron" in joe.answers[-1].text
    assert put(net, joe, bytes(1_000)) == "OK", "that waits on the disk"
    joe.take("jobs", credit=taken)
    net.until(lambda: len(joe.contents()) == taken)
    assert joe.settle(1, taken) == []
    assert put(net, joe, bytes(1_000), flags=0) == "OK"
