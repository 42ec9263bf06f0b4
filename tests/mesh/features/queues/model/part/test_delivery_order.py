"""The order of ready messages, in memory and on disk."""

from random import Random

import pytest

from mesh.features.queues.model.envelopes import disk_index
from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope
from mesh.features.queues.model.part import delivery_order
from mesh.features.queues.model.part.delivery_order import DeliveryOrder
from tests.mesh.features.queues.model.making import WALL, numbers, queue, queued, taker
from tests.seeds import scenarios

END: EnvelopeKey = (2**64, b"", 0)


def add(order: DeliveryOrder, queued: QueuedEnvelope) -> None:
    queued.add_ready(queued.open())
    order.line(queued.priority).add(queued)


def test_a_lot_that_came_late_stands_where_its_stamp_says() -> None:
    it, joe = queue(queued(3, position=3), queued(9, position=9), queued(5, position=5)), taker()
    it.consumers.add_consumer(joe)
    assert numbers(it) == [3, 5, 9]


def test_of_higher_priority_comes_first() -> None:
    it, joe = (
        queue(queued(1), queued(2, put=(9, 0, "")), queued(3, put=(0, 0, "")), queued(4, put=(9, 0, ""))),
        taker(),
    )
    it.consumers.add_consumer(joe)
    assert numbers(it) == [2, 4, 1, 3]


@pytest.mark.parametrize("seed", scenarios(range(100), 10))
def test_the_next_envelopes_are_those_of_memory_before_the_first_on_disk(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laws 1 to 3, against a sorted list of the added, evicted and read messages."""
    monkeypatch.setattr(delivery_order, "AHEAD", 2)
    monkeypatch.setattr(disk_index, "LOTS", 3)
    dice, order, here, disk = Random(seed), DeliveryOrder(), list[QueuedEnvelope](), list[QueuedEnvelope]()
    for at in range(1, 40):
        new = queued(at, put=(dice.choice((5, 7)), 0, ""))
        if order.on_disk.has(new.priority) or dice.random() < 0.4:
            order.on_disk.add(new, None)
            disk.append(new)
        else:
            add(order, new)
            here.append(new)
        if dice.random() < 0.3 and (wish := order.to_load()) is not None:
            first = {p: min((x.key for x in disk if x.priority == p), default=END) for p in (5, 7)}
            assert wish[0] == max(each.priority for each in disk), "of the highest priority on disk"
            assert sum(x.priority == wish[0] and x.key < first[wish[0]] for x in here) < 2
            read = [x for x in disk if x.stored.position in wish[1]]
            order.on_disk.loaded(wish[0])
            disk = [x for x in disk if x not in read]
            here += read
            for each in read:
                add(order, each)
        if disk and dice.random() < 0.3:  # picked for a selector, ahead of its order
            picked = dice.choice(disk)
            assert order.on_disk.take_out(picked.priority, picked.stored.position)
            disk.remove(picked)
            here.append(picked)
            add(order, picked)
        first = {p: min((x.key for x in disk if x.priority == p), default=END) for p in (5, 7)}
        ready = [x for x in here if x.key < first[x.priority]]
        assert [*order.ready_envelopes()] == sorted(ready, key=lambda x: (-x.priority, x.key))
        oldest = min((x.envelope.sent for x in (*here, *disk)), default=0)
        assert order.oldest == oldest


def test_the_stamp_ahead_counts_envelopes_in_memory_and_then_on_disk() -> None:
    order = DeliveryOrder()
    assert order.stamp_ahead(5, 3) == 0
    for at in (1, 2):
        add(order, queued(at))
    for at in (3, 4):
        order.on_disk.add(queued(at), None)
    assert [order.stamp_ahead(5, n) - WALL for n in range(6)] == [1, 2, 3, 4, 4, 4]
