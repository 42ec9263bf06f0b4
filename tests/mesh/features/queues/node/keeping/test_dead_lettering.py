"""Messages that failed too often and leave their queue as dead letters."""

from mesh.features.queues.node.parts import QueueParts
from mesh.reserved import DEAD_LETTERS
from mesh.wire import commands as c
from mesh.wire.properties import decode_properties
from tests.mesh.features.queues.node.worker import Worker, a_node, dead_letters


def test_what_is_given_back_comes_again_and_after_eight_times_it_is_a_dead_letter() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs", max_attempts=3)
    boss.put("jobs", b"poison", kind="x")
    joe.take("jobs", credit=1)
    for count in (1, 2, 3):
        net.until(lambda count=count: len(joe.contents()) == count)  # type: ignore[misc]
        assert joe.settle(entries=((count, count, 1, 0, ""),)) == []
    assert joe.tries[1] == [0, 1, 2]
    net.until(lambda: boss.info("jobs")["bytes"] == 0)
    info = boss.info("jobs")
    assert (info["dead"], info["ready"], info["out"]) == (1, 0, 0)
    assert a.core.parts.context.counters.values["dead"] == 1
    net.until(lambda: a.core.parts.router.shelf.live == 0)
    assert dead_letters(a) == 1


def test_a_dead_letter_goes_to_the_queue_that_is_for_that_or_to_all_if_there_is_none() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs", dead_letter="queue/failed")
    boss.put("jobs", b"1")
    joe.take("jobs")
    net.until(lambda: joe.contents())
    joe.settle(entries=((1, 1, 2, 0, "no such order"),))
    net.until(lambda: boss.info("jobs")["bytes"] == 0)
    assert dead_letters(a) == 1
    boss.declare("failed")
    boss.put("jobs", b"2", put=(8, 0, "g"))
    net.until(lambda: len(joe.contents()) == 2)
    joe.settle(entries=((2, 2, 2, 0, "no such order"),))
    net.until(lambda: boss.info("failed")["ready"] == 1)
    (queued,) = a.core.parts[QueueParts].queues.get("failed").part.order.ready_envelopes()
    assert queued.envelope.put == (8, 0, "g")
    assert boss.info("jobs")["bytes"] == 0
    assert dead_letters(a) == 1


def test_a_dead_letter_that_finds_no_room_stays_in_its_queue_until_there_is_some() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    joe.take("jobs")
    net.until(lambda: joe.contents())
    a.disk.is_full = True
    joe.settle(entries=((1, 1, 2, 0, ""),), wait=False)
    net.run(5)
    assert (dead_letters(a), boss.info("jobs")["bytes"]) == (0, 65)
    a.disk.is_full = False
    net.until(lambda: boss.info("jobs")["bytes"] == 0)
    assert dead_letters(a) == 1


def test_a_dead_letter_keeps_its_priority_and_group() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1", put=(7, 0, "g"))
    joe.take("jobs")
    net.until(lambda: joe.contents())
    joe.settle(entries=((1, 1, 2, 0, ""),))
    net.until(lambda: dead_letters(a) == 1)
    every = a.core.parts.router.log.retained.find_values(c.Query("pattern", f"{DEAD_LETTERS}/#", ""), 0)
    (last,) = every
    headers = decode_properties(last.data[: last.props]).headers
    assert (headers["dead-priority"], headers["dead-group"]) == ("7", "g")


def test_what_was_tried_and_is_done_leaves_no_row() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1", b"2")
    joe.take("jobs", credit=2)
    net.until(lambda: len(joe.contents()) == 2)
    joe.settle(1, 1, entries=((2, 2, 1, 0, ""),))
    net.run(2)
    assert len(a.disk.store._tables["part"]) == 2  # including the mark
    net.until(lambda: len(joe.contents()) == 3)
    assert joe.settle(3, 3) == []
    net.run(2)
    assert set(a.disk.store._tables["part"]) == {b"jobs\0"}


def test_a_dead_letter_for_a_key_is_published_there() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs", dead_letter="failed/jobs")
    boss.put("jobs", b"1")
    joe.take("jobs")
    net.until(lambda: joe.contents())
    joe.settle(entries=((1, 1, 2, 0, ""),))
    net.until(lambda: boss.info("jobs")["bytes"] == 0)
    assert a.core.parts.router.log.retained.get("failed/jobs", "") is not None
    assert dead_letters(a) == 0


def test_what_dies_in_a_queue_for_the_second_time_goes_round_no_more() -> None:
    net, a = a_node()
    boss, joe, ann = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "ann")
    boss.declare("jobs", dead_letter="queue/failed")
    boss.declare("failed", dead_letter="queue/jobs")
    joe.take("jobs")
    ann.take("failed")
    boss.put("jobs", b"bad", of="boss")
    for who, count in ((joe, 1), (ann, 1), (joe, 2)):
        net.until(lambda who=who, count=count: len(who.contents()) == count)  # type: ignore[misc]
        who.settle(entries=((count, count, c.REJECT, 0, ""),))
    net.until(lambda: dead_letters(a) == 1)
    assert boss.info("jobs")["bytes"] == boss.info("failed")["bytes"] == 0
    every = c.Query("pattern", f"{DEAD_LETTERS}/#", "")
    (letter,) = a.core.parts.router.log.retained.find_values(every, 0)
    headers = decode_properties(letter.data[: letter.props]).headers
    assert headers.all("dead-to") == ("queue/jobs", "queue/failed", "queue/jobs") and headers["of"] == "boss"
