"""Marks of deliveries: the disk records each delivery and its consumer before the message leaves."""

import pytest

from mesh.features.queues.node.keeping import marked_delivery, queue_sink
from mesh.features.queues.node.parts import QueueParts
from mesh.wire import commands as c
from mesh.wire.frames import body_frames, write
from tests.mesh.features.queues.node.worker import Worker, dead_letters
from tests.simulation import SimNetwork, SimNode

SLOW = (2.0, 2.0)  # s for a commit


def stage() -> tuple[SimNetwork, SimNode, Worker, Worker]:
    net = SimNetwork()
    (a,) = net.mesh("a")
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    return net, a, boss, joe


def test_who_takes_is_told_so_when_that_is_on_the_disk_and_given_something_when_the_mark_is() -> None:
    net, a, boss, joe = stage()
    boss.put("jobs", b"1", b"2")
    net.until(lambda: boss.state_of("jobs", 2) == "OK")
    net.disk = SLOW
    joe.got[1] = []
    joe.say(c.Consume(77, 1, "queue/jobs", 1))
    net.run(1.5)
    assert joe.said(77) is None
    net.until(lambda: joe.said(77))
    net.run(1.5)
    assert joe.contents() == []
    a.kill()  # before the mark is on disk
    net.disk = (0.001, 0.002)
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs")
    net.until(lambda: len(ann.contents()) == 2)
    assert ann.tries[1] == [0, 0]


def test_what_is_given_out_again_does_not_overtake_what_waits_for_the_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marked_delivery, "STEP", 0)
    monkeypatch.setattr(queue_sink, "AHEAD", 0)
    net, a, boss, joe = stage()
    joe.take("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])
    boss.put("jobs", b"2")
    net.until(lambda: boss.state_of("jobs", 2) == "OK")
    net.disk = SLOW
    boss.put("jobs", b"3")
    net.until(lambda: boss.state_of("jobs", 3) == "OK")  # its mark is being written
    joe.settle(entries=((1, 1, 1, 0, ""),), wait=False)
    net.until(lambda: len(joe.contents()) == 4)
    assert joe.contents() == [b"1", b"2", b"3", b"1"]
    assert a.core.parts[QueueParts].queues.get("jobs").part.deliveries.out == 3


def test_a_mark_that_finds_no_room_is_written_later_and_what_waits_for_it_comes_then() -> None:
    net, a, boss, joe = stage()
    boss.put("jobs", b"1")
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents())
    joe.leave("jobs", begun=0)
    net.run(2)
    joe.take("jobs", credit=1)
    a.disk.is_full = True
    boss.put("jobs", b"2", flags=0)
    joe.settle(entries=((1, 1, 1, 0, ""),))
    net.run(3)
    a.disk.is_full = False
    net.until(lambda: len(joe.contents()) == 2)


def test_an_ack_is_answered_when_it_is_on_the_disk_though_a_put_has_taken_it_along() -> None:
    net, a, boss, joe = stage()
    boss.put("jobs", b"1")
    joe.take("jobs")
    net.until(lambda: joe.contents() == [b"1"])
    net.disk = SLOW
    said = c.Settle(1, joe.epoch, (1, 1), request=77)
    e = boss.envelope("jobs", b"2")
    for who, frames in ((joe, write(said)), (boss, write(c.Publish((body_frames(e),)), (e,)))):
        key = next(key for key, pipe in a.came_in.items() if pipe is who._pipe)
        a.core.receive(key, frames, a.now, a.wall)  # both at once, as on a busy node
    a._carry_out_all()
    net.run(1.5)
    assert joe.said(77) is None
    net.until(lambda: joe.said(77))


def test_who_is_away_is_given_nothing_new() -> None:
    net, a, boss, joe = stage()
    ann = Worker(a, "ann")
    joe.take("jobs")
    ann.take("jobs")
    joe.vanish()
    boss.put("jobs", *(b"%d" % n for n in range(4)))
    net.run(1)
    assert len(ann.contents()) == 4


def test_rows_of_what_is_not_there_any_more_leave_the_disk() -> None:
    net, a, boss, _ = stage()
    net.run(3)
    a.kill()
    tables = a.disk.store._tables
    tables["consumer"][b"gone\0" + b"c" * 21] = b"client/joe"
    tables["part"][b"gone\0"] = b"\x81\x05\x01"
    tables["part"][b"jobs\0" + (99).to_bytes(8)] = b"\x90"
    tables["part"][b"jobs\0"] = b"\xc1"  # an unreadable row
    a.restart()
    net.run(3)
    assert not tables["consumer"]
    assert set(tables["part"]) <= {b"jobs\0"}
    joe = Worker(a, "other")
    joe.take("jobs")
    boss = Worker(a, "third")
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])


@pytest.mark.parametrize("goes", ["leaves", "does not come back"])
def test_who_takes_no_more_is_not_forgotten_before_it_is_written_down_what_he_had(goes: str) -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs", max_attempts=2)
    joe.take("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: len(joe.contents()) == 1)
    joe.settle(entries=[(1, 1, c.NACK, 0, "")])
    boss.put("jobs", b"2")
    net.until(lambda: joe.contents() == [b"1", b"1", b"2"])
    net.run(2.0)
    if goes == "leaves":
        net.disk = (0.1, 0.1)
        joe.leave("jobs")
    else:
        a.kill()
        a.restart()
        net.disk = (0.1, 0.1)
    net.until(lambda: dead_letters(a))  # its commit includes all waiting rows
    a.kill()
    net.disk = (0.001, 0.002)
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs")
    net.until(lambda: b"2" in ann.contents())
    assert 0 not in ann.tries[1]


def test_who_took_from_an_empty_queue_and_is_not_back_after_a_start_is_forgotten() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    assert a.disk.store.load().tables["consumer"]
    a.restart()
    net.until(lambda: not a.disk.store.load().tables["consumer"])
