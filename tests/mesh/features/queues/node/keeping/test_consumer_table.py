"""Consumers of a node's queues: each message goes to one until it is acked, over crashes and reconnects."""

import pytest

from mesh.features.queues.node.parts import QueueParts
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, RESENT
from tests.mesh.features.queues.node.worker import Worker, a_node, dead_letters
from tests.simulation import SimNetwork


def test_what_is_put_is_given_to_one_and_gone_when_it_is_acked() -> None:
    net, a = a_node()
    boss, joe, ann = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "ann")
    assert boss.declare("jobs")["name"] == "jobs"
    joe.take("jobs")
    ann.take("jobs")
    first = boss.put("jobs", b"1", b"2", b"3", b"4")
    net.until(lambda: len(joe.contents()) + len(ann.contents()) == 4)
    assert boss.state_of("jobs", first) == "OK"
    assert sorted(joe.contents() + ann.contents()) == [b"1", b"2", b"3", b"4"]
    assert len(joe.contents()) == len(ann.contents()) == 2
    assert joe.settle(1, 2) == []
    info = boss.info("jobs")
    assert (info["ready"], info["out"], info["consumers"], info["acked"]) == (0, 2, 2, 2)
    assert ann.settle(1, 2) == []
    assert boss.info("jobs")["bytes"] == 0
    net.until(lambda: a.core.parts.router.shelf.live == 0)


def test_what_nobody_takes_waits_also_over_a_crash_and_what_was_acked_does_not() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1", b"2", b"3")
    net.until(lambda: boss.state_of("jobs", 3) == "OK")
    joe = Worker(a, "joe")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents() == [b"1"])
    assert joe.settle(1, 1) == []
    joe.leave("jobs", begun=1)
    net.run(6.0)  # until that is on disk
    a.kill()
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs")
    net.until(lambda: len(ann.contents()) == 2)
    assert ann.contents() == [b"2", b"3"]
    assert ann.tries[1] == [0, 0]


def test_who_goes_without_a_word_has_five_seconds_to_come_back() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"1", b"2")
    net.until(lambda: len(joe.contents()) == 2)
    (stream, _), _ = joe.held[1]
    joe.vanish()
    ann = Worker(a, "ann")
    ann.take("jobs")
    joe.connect()
    reply = joe.take("jobs", held=((stream, (1, 1)),))
    assert reply.value["void"] == []
    net.until(lambda: len(ann.contents()) == 1)
    assert (ann.contents(), ann.tries[1]) == ([b"2"], [1])
    assert joe.settle(1, 1) == []
    joe.vanish()
    boss.put("jobs", b"3")
    net.until(lambda: len(ann.contents()) == 2)


def test_what_somebody_had_who_does_not_come_back_is_given_to_another_and_said_to_be() -> None:
    net, a = a_node()
    boss, joe, ann = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "ann")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: len(joe.contents()) == 1)
    joe.vanish()
    ann.take("jobs")
    net.run(4.0)
    assert ann.contents() == []
    net.until(lambda: ann.contents() == [b"1"])
    assert ann.tries[1] == [1]


def test_after_a_crash_those_who_took_come_back_for_what_they_have() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs", credit=3)
    boss.put("jobs", *(b"%d" % n for n in range(1, 6)))
    net.until(lambda: len(joe.contents()) == 3)
    (stream, _), *_ = joe.held[1]
    a.kill()
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs")
    joe.connect()
    reply = joe.take("jobs", credit=3, held=((stream, (2, 3)),))
    assert reply.value["void"] == []
    net.until(lambda: len(ann.contents()) + len(joe.contents()) == 3)
    every = dict(zip(ann.contents() + joe.contents(), ann.tries[1] + joe.tries[1], strict=True))
    assert every.keys() == {b"1", b"4", b"5"}
    assert every[b"1"] == 1
    assert joe.settle(1, 2) == []


def test_B17_after_a_crash_what_nobody_comes_back_for_waits_five_seconds_and_is_there_again() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", *(b"%d" % n for n in range(10)))
    net.until(lambda: len(joe.contents()) == 10)
    a.kill()
    a.restart()
    boss = Worker(a, "other")
    assert [boss.info("jobs")[what] for what in ("ready", "out", "delayed")] == [0, 10, 0]
    assert boss.info("jobs")["arrives"] == 0, "what waits since before the start did not arrive"
    ann = Worker(a, "ann")
    ann.take("jobs")
    net.run(3)
    assert ann.contents() == []
    net.until(lambda: len(ann.contents()) == 10)
    assert ann.contents() == [b"%d" % n for n in range(10)]
    assert ann.settle(1, 10) == []
    assert boss.info("jobs")["bytes"] == 0


def test_what_nobody_was_given_does_not_die_of_crashes() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs", max_attempts=3)
    boss.put("jobs", *(b"%d" % n for n in range(20)))
    net.until(lambda: boss.state_of("jobs", 20) == "OK")
    for n in range(5):
        joe = Worker(a, f"joe{n}")
        joe.take("jobs", credit=1)
        net.until(lambda joe=joe: joe.contents())  # type: ignore[misc]
        a.kill()
        a.restart()
    boss = Worker(a, "other")
    net.until(lambda: boss.info("jobs")["ready"] >= 18)
    assert dead_letters(a) <= 2


@pytest.mark.parametrize("k", [0, 1, 2])
def test_B2_a_queue_of_one_node_alone_is_a_different_one_at_each(k: int) -> None:
    net = SimNetwork()
    nodes = net.mesh("a", "b", "c")
    workers = [Worker(node, f"w-{node.name}") for node in nodes]
    for worker in workers:
        worker.declare("jobs", scope="node")
        worker.take("jobs", credit=1000)
    contents = [b"%d" % n for n in range(100)]
    workers[k].put("jobs", *contents)
    net.until(lambda: len(workers[k].contents()) == 100)
    net.run(2)
    assert [worker.contents() for worker in workers] == [contents if i == k else [] for i in range(3)]


def test_who_takes_for_the_first_time_just_before_a_crash_makes_it_said_too() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    joe.take("jobs")
    net.until(lambda: joe.contents())
    a.kill()
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs")
    net.until(lambda: ann.contents())
    assert ann.tries[1] == [1]


def test_held_is_believed_only_of_what_one_was_given() -> None:
    net, a = a_node()
    boss, joe, eve = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "eve")
    boss.declare("jobs")
    joe.take("jobs", credit=2)
    boss.put("jobs", *(b"%d" % n for n in range(1, 5)))
    net.until(lambda: len(joe.contents()) == 2)
    (stream, _), *_ = joe.held[1]
    reply = eve.take("jobs", held=((stream, (1, 4)),))
    assert reply.value["void"] == [1, 4]
    net.until(lambda: len(eve.contents()) == 2)
    assert eve.contents() == [b"3", b"4"]


def test_an_ack_of_an_epoch_that_is_over_changes_nothing() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents())
    old = joe.epoch
    joe.take("jobs", held=((joe.held[1][0][0], (1, 1)),))
    assert joe.epoch != old
    assert joe.settle(1, 1, epoch=old) == [(1, 1, "LEASE_OVER")]
    assert boss.info("jobs")["out"] == 1
    assert joe.settle(1, 1) == []
    assert joe.settle(1, 1) == [(1, 1, "LEASE_OVER")]


@pytest.mark.parametrize(
    ("done", "code"),
    [((1, 2), "FORGED_ACK"), ((0, 0), "FORGED_ACK"), ((3, 4), "FORGED_ACK"), ((1,), "MALFORMED")],
)
def test_who_settles_what_he_was_never_given_is_cut_off(done: tuple[int, ...], code: str) -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents())
    joe.settle(*done, wait=False)
    net.until(lambda: any(isinstance(x, c.Refuse) and x.code == code for x in joe.heard))
    assert boss.info("jobs")["out"] == 1


def test_priorities_delays_and_groups_travel_with_what_is_put() -> None:
    net, a = a_node()
    boss, joe, ann = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "ann")
    boss.declare("jobs")
    boss.put("jobs", b"late", put=(5, 3_000, ""))
    boss.put("jobs", b"low", put=(0, 0, ""))
    boss.put("jobs", b"high", put=(9, 0, ""))
    net.until(lambda: boss.state_of("jobs", 3) == "OK")
    joe.take("jobs", credit=2)
    net.until(lambda: joe.contents() == [b"high", b"low"])
    joe.settle(1, 2)
    net.until(lambda: joe.contents()[2:] == [b"late"])
    a.kill()
    a.restart()
    del ann


def test_a_selector_is_read_at_once_and_one_that_lies_is_named() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    assert joe.take("jobs", selector="kind = 'a'").code == "BAD_SELECTOR"
    joe.take("jobs", selector="kind == 'a'")
    boss.put("jobs", b"b", kind="b")
    boss.put("jobs", b"a", kind="a")
    net.until(lambda: joe.contents() == [b"a"])
    assert boss.info("jobs")["ready"] == 1


def test_who_comes_and_goes_a_hundred_times_leaves_nothing() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    for _ in range(100):
        joe.take("jobs")
        joe.leave("jobs", begun=0)
    info = boss.info("jobs")
    assert (info["ready"], info["consumers"], info["dead"]) == (1, 0, 0)
    net.run(2.0)
    assert not a.disk.store.load().tables["consumer"]


def test_leases_end_and_can_be_made_longer() -> None:
    net, a = a_node()
    boss, joe, ann = Worker(a, "boss"), Worker(a, "joe"), Worker(a, "ann")
    boss.declare("jobs")
    boss.put("jobs", b"1", b"2")
    joe.take("jobs", lease=1000)
    net.until(lambda: len(joe.contents()) == 2)
    assert joe.settle(entries=((2, 2, 3, 60_000, ""),)) == []
    ann.take("jobs")
    net.until(lambda: ann.contents())
    assert (ann.contents(), ann.tries[1]) == ([b"1"], [1])
    assert joe.settle(1, 2) == [(1, 1, "LEASE_OVER")]


def test_who_waits_for_a_time_is_woken_then_whatever_else_wakes_the_node_before() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"1", put=(5, 200, ""))
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    (queue,) = a.core.parts[QueueParts].queues
    a.core.tick(a.now, a.wall)
    assert a.now < queue.part.due and a.core.alarm <= queue.part.due


def test_what_may_have_been_given_before_a_crash_is_told_no_attempt_above_those_of_its_queue() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs", max_attempts=2)
    boss.put("jobs", b"1")
    boss.put("jobs", b"2")
    net.until(lambda: boss.state_of("jobs", 2) == "OK")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents() == [b"1"])
    a.restart()
    net.run(6.0)  # joe does not return
    ann = Worker(a, "ann")
    ann.take("jobs")
    net.until(lambda: ann.tries[1] == [1, 1])
    ann.settle(entries=[(2, 2, c.NACK, 0, "")])
    net.until(lambda: len(ann.contents()) == 3)
    assert (ann.contents()[2], ann.tries[1][2]) == (b"2", 1)
    ann.settle(entries=[(3, 3, c.NACK, 0, "")])
    net.until(lambda: dead_letters(a) == 1)


@pytest.mark.parametrize(("is_paged", "flags"), [(False, 0), (False, PERSISTENT), (True, PERSISTENT)])
def test_a_put_that_another_node_may_have_delivered_is_flagged_also_after_a_crash(
    is_paged: bool, flags: int
) -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1", flags=flags)
    boss.put("jobs", b"2", flags=flags | RESENT)
    net.until(lambda: boss.state_of("jobs", 2) == "OK")
    if is_paged:
        a.kill()
        a.restart()
        joe = Worker(a, "ann")
    joe.take("jobs")
    net.until(lambda: len(joe.contents()) == 2)
    assert (joe.contents(), [bool(tries) for tries in joe.tries[1]]) == ([b"1", b"2"], [False, True])
