"""Deliveries that a transaction holds: its own until it is stored or refused."""

from math import inf

import pytest

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.envelope_row import merged_row
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.held_settlements import (
    HeldSettlement,
    HeldSettlements,
    OutstandingIndex,
    freed,
)
from mesh.features.queues.model.part.local_queue import LocalQueue
from tests.mesh.features.queues.model.making import WALL, numbers, queue, queued, taker


def held(it: LocalQueue, joe: QueueConsumer, *acked: tuple[int, int]) -> HeldSettlements:
    found = HeldSettlements(it, [HeldSettlement(joe, first, last, True) for first, last in acked])
    found.hold()
    return found


def test_a_held_message_is_out_but_nothing_of_its_consumer_touches_it() -> None:
    it, joe = queue(queued(1, 3)), taker(credit=3, lease=10.0)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2, 3]
    some = held(it, joe, (1, 2))
    assert (it.deliveries.out, it.ready, joe.busy, joe.room) == (3, 0, 1, 2)
    assert it.deliveries.ack(joe, 1, 2) == [(1, 2)]
    it.tick(1000.0, WALL)
    assert (it.ready, it.deliveries.out) == (1, 2)  # the third one, whose lease is over
    it.consumers.close(joe)
    assert (it.ready, it.deliveries.out) == (1, 2)
    assert some.land(0.0, WALL, is_removed=False) == 2
    assert (it.ready, it.deliveries.out, it.backlog.messages, it.deliveries.acked) == (1, 0, 1, 2)


def test_what_is_given_back_has_its_tags_again() -> None:
    it, joe = queue(queued(1, 4)), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    held(it, joe, (2, 3)).give_back(is_removed=False)
    assert (joe.busy, it.deliveries.out) == (4, 4)
    assert it.deliveries.ack(joe, 1, 4) == []


def test_what_is_given_back_to_a_consumer_that_left_is_redelivered() -> None:
    e = queued(1, 2)
    it, joe, ann = queue(e), taker(), taker("ann")
    it.consumers.add_consumer(joe)
    numbers(it)
    some = held(it, joe, (1, 1))
    it.consumers.close(joe)
    it.consumers.add_consumer(ann)
    some.give_back(is_removed=False)
    assert sorted(numbers(it)) == [1, 2]
    assert e.column([(1, 2)]) == b"\1\1"


def test_in_a_removed_queue_all_is_done() -> None:
    for is_stored in (True, False):
        it, joe = queue(queued(1, 2)), taker()
        it.consumers.add_consumer(joe)
        numbers(it)
        some = HeldSettlements(it, [HeldSettlement(joe, 1, 1, True), HeldSettlement(joe, 2, 2, False)])
        some.hold()
        it.end_queue()
        if is_stored:
            some.land(0.0, WALL, is_removed=True)
        else:
            some.give_back(is_removed=True)
        assert (it.backlog.messages, it.deliveries.out, it.ready) == (0, 0, 0)


@pytest.mark.parametrize("order", ["before", "after"])
def test_the_row_of_a_settlement_is_merged_with_any_other_row_of_the_envelope(order: str) -> None:
    e = queued(1, 6, position=9)
    it, joe = queue(e), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    if order == "before":
        it.deliveries.ack(joe, 5, 5)
    some = HeldSettlements(it, [HeldSettlement(joe, 1, 1, True), HeldSettlement(joe, 2, 3, False, 5000)])
    some.hold()
    ((position, row),) = some.rows(WALL)
    if order == "after":
        it.deliveries.ack(joe, 5, 5)
    plain, again = e.row(), QueuedEnvelope(e.stored)
    again.restore_state(merged_row(plain, row))
    some.land(0.0, WALL, is_removed=False)
    assert (position, again.row(), again.left) == (9, e.row(), 4)


def test_a_message_is_found_once_by_its_stream_and_number() -> None:
    e = queued(1, 2)
    it, joe = queue(e), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    index = OutstandingIndex([joe])
    assert index.take(e.key[1], 2) == (joe, 2, e)
    assert index.take(e.key[1], 2) is None
    assert index.take(e.key[1], 3) is None and index.take(b"other", 1) is None


def test_messages_of_several_ranges_are_found_each_once_by_any_consumer() -> None:
    one, two = queued(1, 4), queued(5, 6)
    joe, ann = taker(), taker()
    joe.holding.add_delivery(one, [(1, 1), (3, 4)])
    joe.holding.add_delivery(two, [(5, 6)])
    ann.holding.add_delivery(one, [(2, 3)])
    index = OutstandingIndex([joe, ann])
    stream = one.key[1]
    found = [index.take(stream, number) for number in (6, 1, 2, 4, 3, 3, 3, 7)]
    assert found[:4] == [(joe, 5, two), (joe, 1, one), (ann, 1, one), (joe, 3, one)]
    assert {found[4], found[5]} == {(joe, 2, one), (ann, 2, one)}
    assert found[6:] == [None, None]


def test_an_envelope_frees_its_bytes_when_all_of_it_is_acked() -> None:
    one, two = queued(1, 2), queued(3, 4)
    assert freed([(one, 1), (one, 1), (two, 1)]) == (3, one.size)
    assert freed([]) == (0, 0)
    assert taker().lease == inf
