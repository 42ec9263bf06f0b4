"""Queues larger than the memory of their node: messages wait on disk, and arrive in order."""

from math import inf

import pytest

from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.part import delivery_order
from mesh.features.queues.node.keeping.reading import PartReading
from mesh.features.queues.node.parts import QueueParts
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode

MANY = 300
MEMORY = 20_000  # bytes
AHEAD = 40  # envelopes that are read ahead at once


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_order, "AHEAD", AHEAD)
    monkeypatch.setattr(disk_index, "LOTS", AHEAD)


def a_node() -> tuple[SimNetwork, SimNode]:
    net = SimNetwork()
    a = net.node("a", memory_bytes=MEMORY)
    a.start()
    return net, a


def put_many(net: SimNetwork, boss: Worker, queue: str = "jobs") -> None:
    boss.declare(queue)
    for n in range(MANY):
        boss.put(queue, b"%d" % n)
    net.until(lambda: boss.state_of(queue, MANY) == "OK")


def take_all(net: SimNetwork, joe: Worker, n: int, most: float = inf) -> list[bytes]:
    """Consume and ack `n` messages, and check that memory never holds more than `most` bytes."""
    joe.take("jobs", credit=20)
    part = joe.node.core.parts[QueueParts].queues.get("jobs").part
    done = 0
    while done < n:
        net.until(lambda done=done: len(joe.contents()) > done)  # type: ignore[misc]
        count = len(joe.contents())
        assert part.backlog._memory.used <= most
        assert joe.settle(done + 1, count) == []
        done = count
    return joe.contents()


def test_what_waits_on_the_disk_comes_in_order_and_memory_has_its_bound() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    put_many(net, boss)
    here = a.core.parts[QueueParts].queues.get("jobs")
    assert here.part.ready == MANY
    assert here.part.backlog._memory.used <= MEMORY
    most = MEMORY + 2 * AHEAD * 1_200
    assert take_all(net, Worker(a, "joe"), MANY, most) == [b"%d" % n for n in range(MANY)]
    assert (here.part.backlog.messages, here.part.backlog.bytes, here.part.backlog._memory.used) == (0, 0, 0)
    net.until(lambda: a.core.parts.router.shelf.live == 0)
    net.run(2)
    assert not list(a.disk.store.load().envelopes)


def test_so_it_does_after_a_crash() -> None:
    net, a = a_node()
    put_many(net, Worker(a, "boss"))
    joe = Worker(a, "joe")
    assert take_all(net, joe, 200)[:200] == [b"%d" % n for n in range(200)]
    acked = a.core.parts[QueueParts].queues.get("jobs").part.deliveries.acked
    a.kill()
    a.restart()
    here = a.core.parts[QueueParts].queues.get("jobs")
    assert here.part.backlog.messages == MANY - acked
    assert here.part.backlog._memory.used <= MEMORY + 2 * 4096 * 1_200  # including messages in doubt
    rest = take_all(net, Worker(a, "ann"), MANY - acked)
    assert sorted(map(int, rest)) == list(range(acked, MANY))


def test_a_purge_and_a_removal_leave_nothing_on_the_disk() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    put_many(net, boss)
    assert boss.ok(boss.ask("queue_purge", name="jobs")) == {"purged": MANY, "missing": [], "away": []}
    put_many(net, boss, "more")
    assert boss.ok(boss.ask("queue_remove", name="more", if_unused=False)) == {"removed": MANY}
    net.until(lambda: a.core.parts.router.shelf.live == 0)
    net.run(2)
    assert not list(a.disk.store.load().envelopes)


def test_a_removal_that_a_crash_cuts_short_is_finished_at_the_next_start() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    put_many(net, boss)
    boss.ask("queue_remove", name="jobs", if_unused=False)
    a.kill()
    a.restart()
    assert Worker(a, "other").ask("queue_info", name="jobs").code == "NO_QUEUE"
    net.until(lambda: a.core.parts.router.shelf.live == 0)
    net.run(2)
    assert not list(a.disk.store.load().envelopes)


def test_what_comes_after_a_restart_comes_behind_what_is_there_though_the_clock_was_set_back() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    a.kill()
    a.leap(-3600 * 10**9)
    a.restart()
    ann = Worker(a, "ann")
    ann.put("jobs", b"2")
    net.until(lambda: ann.state_of("jobs", 1) == "OK")
    ann.take("jobs", credit=1)
    net.until(lambda: ann.contents() == [b"1"])


def test_what_is_put_for_later_does_not_wait_on_the_disk_alone() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    put_many(net, boss)
    boss.put("jobs", b"late", put=(5, 60_000, ""))
    net.until(lambda: boss.state_of("jobs", MANY + 1) == "OK")
    assert boss.info("jobs")["delayed"] == 1


def test_what_is_done_of_an_envelope_far_back_stays_done_after_a_crash() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    put_many(net, boss)
    boss.put("jobs", b"x", b"y", kind="b")
    net.until(lambda: boss.state_of("jobs", MANY + 2) == "OK")
    joe.take("jobs", credit=1, selector="kind == 'b'")
    net.until(lambda: joe.contents() == [b"x"])
    assert joe.settle(1, 1) == []
    joe.leave("jobs")
    net.run(3)
    a.kill()
    a.restart()
    assert a.core.parts[QueueParts].queues.get("jobs").part.backlog.messages == MANY + 1
    ann = Worker(a, "ann")
    ann.take("jobs", selector="kind == 'b'")
    net.until(lambda: ann.contents())
    net.run(3)
    assert ann.contents() == [b"y"]


TIDIED = 5.0  # s that include several cleanups


def test_only_queues_in_which_something_is_are_tidied(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    unpage = PartReading.unpage

    def seen(self: PartReading) -> bool:
        looked.append(self._name)
        return unpage(self)

    monkeypatch.setattr(PartReading, "unpage", seen)
    net = SimNetwork()
    a = net.node("a")
    a.start()
    boss = Worker(a, "boss")
    for n in range(20):
        boss.declare(f"idle/{n}")
    boss.declare("jobs")
    net.run(TIDIED)

    def tidied() -> set[str]:
        looked.clear()
        net.run(TIDIED)
        return set(looked)

    def figures() -> tuple[int | float, ...]:
        found = a.core.parts[QueueParts].queues.figures()
        return tuple(found[name] for name in ("queues", "queue_messages", "queue_consumers", "queue_acked"))

    assert (tidied(), figures()) == (set(), (21, 0, 0, 0))
    boss.put("jobs", b"one")
    assert (tidied(), figures()) == ({"jobs"}, (21, 1, 0, 0))
    joe = Worker(a, "joe")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents() == [b"one"])
    assert joe.settle(1, 1) == []
    assert (tidied(), figures()) == ({"jobs"}, (21, 0, 1, 1)), "somebody takes"
    joe.leave("jobs")
    net.run(2)
    assert (tidied(), figures()) == (set(), (21, 0, 0, 1))
