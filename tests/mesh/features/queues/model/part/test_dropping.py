"""Messages that a local queue drops because it may not refuse any: the oldest that no consumer has."""

import pytest

from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.part.dropping import drop_bytes, drop_excess
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.routing.memory import Memory
from tests.mesh.features.queues.model.making import WALL, numbers, queue, queued, taker
from tests.mesh.features.queues.model.part.test_queue_backlog import put, read


def test_the_oldest_are_dropped_until_it_keeps_to_its_terms() -> None:
    it = queue(*(queued(n) for n in range(1, 8)), max_count=4)
    assert drop_excess(it) == 3 and drop_excess(it) == 0
    assert (it.backlog.messages, it.backlog.bytes, it.ready) == (4, 4 * queued(1).size, 4)
    it.consumers.add_consumer(taker())
    assert numbers(it) == [4, 5, 6, 7]


def test_by_bytes_an_envelope_is_dropped_as_a_whole() -> None:
    it = queue(queued(1, 3), queued(4, 3), queued(7), max_bytes=2 * queued(1, 3).size)
    assert drop_excess(it) == 3 and (it.backlog.messages, it.backlog.bytes) == (
        4,
        queued(4, 3).size + queued(7).size,
    )
    assert drop_bytes(it, 1) == 3 and drop_bytes(it, 10**9) == 1 and drop_bytes(it, 10**9) == 0
    assert (it.backlog.messages, it.backlog.bytes) == (0, 0)


def test_what_a_consumer_has_is_kept_and_so_is_what_is_delayed() -> None:
    it, joe = queue(*(queued(n) for n in range(1, 4)), max_count=2), taker(credit=1)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1]
    it.deliveries.nack(joe, 1, 1, 5.0, 0.0, WALL)
    assert numbers(it) == [2]
    assert drop_excess(it) == 1 and (
        it.backlog.messages,
        it.ready,
        it.deliveries.out,
        it.backlog.later.messages,
    ) == (2, 0, 1, 1)
    it.set_terms(QueueTerms(max_count=1))
    assert drop_excess(it) == 0, "nothing is left that may go"


def test_of_several_priorities_the_oldest_goes_whatever_its_priority() -> None:
    high = (9, 0, "")
    it = queue(queued(1, put=high), queued(2), queued(3, put=high), queued(4), max_count=2)
    assert drop_excess(it) == 2
    it.consumers.add_consumer(taker())
    assert numbers(it) == [3, 4]


def test_what_waits_on_the_disk_alone_is_dropped_in_its_turn_and_leaves_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disk_index, "LOTS", 2)
    memory = Memory(3 * queued(1).cost)
    it = LocalQueue("jobs", QueueTerms(max_count=5), memory)
    disk = put(it, *(queued(n) for n in range(1, 11)))
    assert it.order.on_disk.first_accepted(5) == WALL + 4
    assert drop_excess(it) == 5
    assert (it.backlog.messages, it.backlog.bytes, memory.used) == (5, 5 * queued(1).size, 0)
    assert it.order.on_disk.take_purged(100) == (4, 5) and it.order.on_disk.take_purged(100) == ()
    it.consumers.add_consumer(taker())
    wish = it.order.to_load()
    assert wish == (5, (6, 7))
    it.set_terms(QueueTerms(max_count=2))
    assert drop_excess(it) == 0, "those that are being read come first"
    read(it, disk, wish)
    assert drop_excess(it) == 3 and it.order.on_disk.take_purged(100) == (8,)
    read(it, disk, it.order.to_load())
    assert numbers(it) == [9, 10] and not it.order.on_disk
