"""Searches on disk for selectors, and the deliveries that are known after a crash."""

import pytest
from msgspec.structs import replace

from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.part import delivery_order, searching
from mesh.features.queues.node.keeping import marked_delivery
from mesh.features.queues.node.parts import QueueParts
from mesh.wire import commands as c
from mesh.wire.frames import body_frames
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode

MANY = 300
MEMORY = 20_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_order, "AHEAD", 20)
    monkeypatch.setattr(disk_index, "LOTS", 20)
    monkeypatch.setattr(searching, "MESSAGES", 30)
    monkeypatch.setattr(searching, "VAIN", 120)


def stage() -> tuple[SimNetwork, SimNode, Worker]:
    """Create a queue with many messages without a kind, and three with a kind at the end."""
    net = SimNetwork()
    a = net.node("a", memory_bytes=MEMORY)
    a.start()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    for n in range(MANY):
        boss.put("jobs", b"%d" % n)
    boss.put("jobs", b"x", b"y", b"z", kind="b")
    net.until(lambda: boss.state_of("jobs", MANY + 3) == "OK")
    return net, a, boss


def test_it_is_found_and_no_more_is_in_memory_for_that() -> None:
    net, a, boss = stage()
    joe, part = Worker(a, "joe"), a.core.parts[QueueParts].queues.get("jobs").part
    joe.take("jobs", selector="kind == 'b'")
    net.until(lambda: joe.contents() == [b"x", b"y", b"z"])
    assert part.backlog._memory.used < MEMORY + 30 * 1_200
    assert boss.info("jobs")["in_vain"] == 0
    assert joe.settle(1, 3) == []
    ann = Worker(a, "ann")
    ann.take("jobs", selector="kind == 'c'")
    net.until(lambda: boss.info("jobs")["in_vain"] >= 120)
    assert boss.info("jobs")["looks_on"]
    net.until(lambda: not boss.info("jobs")["looks_on"])
    assert boss.info("jobs")["in_vain"] == MANY
    wishes = a.core.parts.disks.own._token
    net.run(3)
    assert a.core.parts.disks.own._token - wishes < 10
    boss.put("jobs", b"w", kind="c")
    net.until(lambda: ann.contents() == [b"w"])


def test_after_a_crash_only_what_was_given_is_said_to_have_been() -> None:
    net, a, _ = stage()
    joe = Worker(a, "joe")
    joe.take("jobs", selector="kind == 'b'")
    net.until(lambda: len(joe.contents()) == 3)
    assert joe.settle(1, 1) == []
    a.kill()
    a.restart()
    part = a.core.parts[QueueParts].queues.get("jobs").part
    assert part.backlog.messages == MANY + 2
    assert part.backlog._memory.used < MEMORY + 3 * 1_200
    ann = Worker(a, "ann")
    ann.take("jobs", selector="kind == 'b'")
    net.run(1)
    assert ann.contents() == []  # joe may return
    net.until(lambda: ann.contents() == [b"y", b"z"])
    assert ann.tries[1] == [1, 1]
    bob = Worker(a, "bob")
    bob.take("jobs", credit=MANY)
    net.until(lambda: len(bob.contents()) == MANY)
    assert not any(bob.tries[1])


def test_who_comes_back_after_a_crash_keeps_what_was_found_for_him() -> None:
    net, a, _ = stage()
    joe = Worker(a, "joe", b"j" * 16)
    joe.take("jobs", selector="kind == 'b'")
    net.until(lambda: len(joe.contents()) == 3)
    held = joe.held[1]
    a.kill()
    a.restart()
    again = Worker(a, "joe", b"j" * 16)
    ends = tuple(end for _, n in held for end in (n, n))
    reply = again.take("jobs", selector="kind == 'b'", held=((held[0][0], ends),))
    assert again.ok(reply)["void"] == []
    assert again.settle(1, 3) == []
    assert a.core.parts[QueueParts].queues.get("jobs").part.backlog.messages == MANY


def test_what_was_given_back_unseen_is_not_in_doubt_after_a_crash() -> None:
    net, a, _ = stage()
    joe = Worker(a, "joe")
    joe.take("jobs", selector="kind == 'b'")
    net.until(lambda: len(joe.contents()) == 3)
    joe.leave("jobs", begun=0)
    joe.take("jobs", selector="kind == 'c'")
    net.run(3)
    assert not [key for key in a.disk.store._tables["part"] if key > b"jobs\0"]
    a.kill()
    a.restart()
    ann = Worker(a, "ann")
    ann.take("jobs", selector="kind == 'b'")
    net.until(lambda: len(ann.contents()) == 3)
    assert ann.tries[1] == [0, 0, 0]


def test_a_mark_is_not_raised_above_what_waits_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marked_delivery, "STEP", 100)
    net, a, boss = stage()
    joe = Worker(a, "joe")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents())
    boss.put("jobs", b"more")
    net.until(lambda: boss.state_of("jobs", MANY + 4) == "OK")
    a.kill()
    a.restart()
    part = a.core.parts[QueueParts].queues.get("jobs").part
    assert part.backlog.messages == MANY + 4
    assert 0 < part.away < 200


def test_a_purge_leaves_no_row_of_what_was_found() -> None:
    net = SimNetwork()
    a = net.node("a", memory_bytes=MEMORY)
    a.start()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    for n in range(MANY):
        boss.put("jobs", b"%d" % n, b"b")
    net.until(lambda: boss.state_of("jobs", 2 * MANY) == "OK")
    e = replace(boss.envelope("jobs", b"x", b"y"), keys=("job", "last"), index=b"\0\0\1\0")
    boss.say(c.Publish((body_frames(e),)), e)
    net.until(lambda: boss.state_of("jobs", 2 * MANY + 2) == "OK")
    joe.take("jobs", selector="key == 'last'")
    net.until(lambda: joe.contents() == [b"y"])
    joe.settle(1, 1)
    part = a.core.parts[QueueParts].queues.get("jobs").part
    net.until(lambda: len(part.order.on_disk.rows) == 1)
    boss.ask("queue_purge", name="jobs")
    net.run(3)
    assert not [key for key in a.disk.store._tables["part"] if key > b"jobs\0"]
    assert not list(a.disk.store.load().envelopes)
