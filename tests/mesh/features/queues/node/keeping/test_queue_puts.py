"""Puts into a full queue: refused, or held back while a consumer is connected."""

from types import SimpleNamespace
from typing import Any, cast

from mesh.features.queues.node.keeping.queue_puts import QueuePuts
from mesh.wire.envelope import Envelope
from tests.mesh.features.queues.model.making import envelope
from tests.mesh.features.queues.node.worker import Worker, a_node


def test_a_full_queue_refuses_what_is_put() -> None:
    _, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs", max_count=2, when_full="reject")
    boss.put("jobs", b"1", b"2")
    third = boss.put("jobs", b"3")
    boss.net.until(lambda: boss.state_of("jobs", third))
    assert boss.state_of("jobs", third) == "QUEUE_FULL"


def test_or_it_lets_who_puts_wait_as_long_as_somebody_takes() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs", max_count=2)
    boss.put("jobs", b"1", b"2")
    boss.put("jobs", b"3")
    net.until(lambda: boss.state_of("jobs", 3) == "QUEUE_FULL")  # no consumer is connected
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents())
    boss.put("jobs", b"4")
    boss.put("jobs", b"5")
    net.run(10)
    assert boss.state_of("jobs", 4) == boss.state_of("jobs", 5) == ""
    info = boss.info("jobs")
    assert info["ready"] + info["out"] == 2
    joe.settle(1, 1)
    net.until(lambda: boss.state_of("jobs", 4) == "OK")
    assert boss.state_of("jobs", 5) == ""
    joe.settle(2, 2)
    net.until(lambda: boss.state_of("jobs", 5) == "OK")
    boss.put("jobs", b"6")
    net.run(1)
    assert boss.state_of("jobs", 6) == ""
    joe.leave("jobs")
    net.until(lambda: boss.state_of("jobs", 6) == "QUEUE_FULL")


def test_what_waits_for_room_goes_with_who_put_it_and_comes_in_order_when_he_is_back() -> None:
    net, a = a_node()
    boss, joe, eve = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "eve")
    boss.declare("jobs", max_count=1)
    joe.take("jobs", credit=1)
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents())
    boss.put("jobs", b"2")
    eve.put("jobs", b"e")
    boss.put("jobs", b"3")
    net.run(0.5)
    boss.vanish()
    joe.settle(1, 1)
    net.until(lambda: len(joe.contents()) == 2)
    assert joe.contents()[1:] == [b"e"]
    boss.connect()
    boss.put("jobs", b"2", first=2)
    boss.put("jobs", b"3", first=3)
    for count in (2, 3, 4):
        net.until(lambda count=count: len(joe.contents()) >= count)  # type: ignore[misc]
        joe.settle(count, count)
    assert joe.contents() == [b"1", b"e", b"2", b"3"]


def test_who_puts_far_more_than_he_may_is_refused_and_others_wait_on() -> None:
    net, a = a_node(window_count=50)
    boss, joe, eve = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "eve")
    boss.declare("jobs", max_count=1)
    joe.take("jobs", credit=1)
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents())
    boss.put("jobs", b"2")
    for n in range(2 * a.core.parts.context.settings.window_count + 1):
        eve.put("jobs", b"%d" % n)
    net.until(lambda: eve.state_of("jobs", 1) == "QUEUE_FULL")
    assert boss.state_of("jobs", 2) == ""
    joe.settle(1, 1)
    net.until(lambda: boss.state_of("jobs", 2) == "OK")


class Full:
    """A queue whose fullness, and permission to wait, are set by a test."""

    is_full = may_wait = True


def puts() -> tuple[QueuePuts, Full, list[tuple[bytes, int]]]:
    """Return the puts of a full queue, which hold back at most two of a stream, and those published."""
    queue, published = Full(), list[tuple[bytes, int]]()
    settings = SimpleNamespace(window_bytes=10**6, window_count=1)
    made = QueuePuts(
        cast(Any, settings), cast(Any, {"jobs": queue}), lambda e: published.append((e.stream, e.first))
    )
    return made, queue, published


def message(n: int, stream: bytes = b"p" * 16) -> Envelope:
    return envelope(n, stream=stream)


def test_held_messages_are_published_in_order_when_there_is_room_or_nobody_may_wait() -> None:
    it, queue, published = puts()
    it.put(message(1))
    it.put(message(1, b"q" * 16))
    queue.is_full = False
    it.put(message(2))
    assert published == [], "no message overtakes a held one"
    it.publish_held(cast(Any, queue))
    assert published == [(b"p" * 16, 1), (b"q" * 16, 1), (b"p" * 16, 2)] and not it._blocked
    queue.is_full = True
    it.put(message(3))
    it.publish_held(cast(Any, queue))
    assert len(published) == 3
    queue.may_wait = False
    it.publish_held(cast(Any, queue))
    assert published[3:] == [(b"p" * 16, 3)] and not it._blocked


def test_beyond_the_limit_all_of_a_stream_is_published_and_others_are_held_on() -> None:
    it, _, published = puts()
    for n in (1, 2):
        it.put(message(n))
    it.put(message(1, b"q" * 16))
    it.put(message(3))
    assert published == [(b"p" * 16, n) for n in (1, 2, 3)] and it._blocked


def test_a_producer_that_disconnects_leaves_nothing() -> None:
    it, queue, published = puts()
    it.put(message(1))
    it.put(message(1, b"q" * 16))
    it.drop(b"p" * 16)
    queue.is_full = False
    it.publish_held(cast(Any, queue))
    assert published == [(b"q" * 16, 1)]
    it.put(envelope(9).part(9, 9))
    assert published[1:] == [(b"p" * 16, 9)]
