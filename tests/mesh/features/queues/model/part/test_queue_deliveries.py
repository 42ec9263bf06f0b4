"""Outcomes of outstanding messages: acks, nacks, rejections and leases."""

from math import inf

import pytest

from mesh.errors import RemoteError
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.failed_deliveries import REJECTED
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.features.queues.model.making import WALL, given, numbers, queue, queued, taker


def test_it_is_taken_in_order_up_to_the_credit_and_an_ack_makes_room() -> None:
    it, joe = queue(queued(1, 4), queued(5, 4)), taker(credit=6)
    it.consumers.add_consumer(joe)
    assert given(it) == [("joe", [(1, 4)]), ("joe", [(5, 6)])]
    assert (it.ready, it.deliveries.out, it.backlog.messages) == (2, 6, 8)
    assert it.deliveries.ack(joe, 1, 3) == []
    assert given(it) == [("joe", [(7, 8)])]
    assert it.deliveries.ack(joe, 4, 8) == []
    assert (it.ready, it.deliveries.out, it.backlog.messages, it.backlog.bytes, it.deliveries.acked) == (
        0,
        0,
        0,
        0,
        8,
    )


def test_what_is_given_back_comes_again_before_the_rest_and_says_so() -> None:
    a = queued(1, 3)
    it, joe = queue(a, queued(4)), taker(credit=2)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2]
    assert it.deliveries.nack(joe, 1, 1, 0.0, 0.0, WALL) == []
    assert numbers(it) == [1]
    assert a.column([(1, 3)]) == b"\1\0\0"
    assert it.failures.redelivered == 1


def test_what_is_given_back_for_later_comes_then() -> None:
    it, joe = queue(queued(1), queued(2)), taker()
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2]
    it.deliveries.nack(joe, 1, 1, 5.0, 10.0, WALL)
    it.tick(14.9, WALL)
    assert (numbers(it, 14.9), it.backlog.later.messages, it.due) == ([], 1, 15.0)
    it.tick(15.0, WALL)
    assert (numbers(it, 15.0), it.backlog.later.messages, it.due) == ([1], 0, inf)


def test_what_is_rejected_is_dead_with_the_reason() -> None:
    it, joe = queue(queued(1, 3)), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    assert it.deliveries.reject(joe, 2, 2, "no such order") == []
    assert [(dead.runs, dead.code, dead.text) for dead in it.failures.dead] == [
        ([(2, 2)], REJECTED, "no such order")
    ]
    assert numbers(it) == []
    [rejected] = {dead.queued for dead in it.failures.dead}
    assert rejected in it.backlog.changed and rejected.tries == {2: 1}, "after a crash it is redelivered"


def test_a_lease_ends_and_an_ack_after_it_counts_if_nobody_else_has_it() -> None:
    it, joe, ann = queue(queued(1, 3)), taker("joe", credit=3, lease=1.0), taker("ann", credit=2)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2, 3]
    it.deliveries.extend(joe, 3, 3, 9.0)
    it.tick(1.0, WALL)
    assert (it.ready, it.deliveries.out) == (2, 1)
    it.takers.pop(b"joe")
    it.consumers.add_consumer(ann)
    ann.credit = 1
    assert numbers(it, 1.0) == [1]
    assert it.deliveries.ack(joe, 1, 3) == [(1, 1)]
    assert (it.backlog.messages, it.deliveries.out) == (1, 1)


def test_what_was_never_given_cannot_be_settled_and_what_is_settled_twice_is_told() -> None:
    it, joe = queue(queued(1, 2)), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    for first, last in ((0, 1), (1, 3), (3, 3), (2, 1)):
        for settle in (
            it.deliveries.ack,
            lambda t, a, b: it.deliveries.nack(t, a, b, 0.0, 0.0, WALL),
            lambda t, a, b: it.deliveries.reject(t, a, b, ""),
        ):
            with pytest.raises(RemoteError, match="FORGED_ACK"):
                settle(joe, first, last)
    assert it.deliveries.out == 2
    assert it.deliveries.ack(joe, 1, 1) == []
    assert it.deliveries.ack(joe, 1, 2) == [(1, 1)]
    assert it.backlog.messages == 0


def test_what_was_given_together_may_be_settled_in_parts() -> None:
    odds = queued(1, 20).envelope.cut(range(0, 20, 2))
    it, joe = queue(a := QueuedEnvelope(StoredEnvelope(odds, 1))), taker(credit=20)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [*range(1, 20, 2)]
    it.deliveries.ack(joe, 2, 4)
    it.deliveries.nack(joe, 9, 10, 0.0, 0.0, WALL)
    assert a.open() == [(n, n) for n in (1, *range(9, 20, 2))]
    assert (list(a.ready), it.deliveries.out) == ([(17, 17), (19, 19)], 5)
    it.consumers.close(joe, begun=6)
    assert list(a.ready) == [(n, n) for n in (1, *range(9, 20, 2))]
    assert [a.failures(n) for n in range(1, 20, 2)] == [1, 0, 0, 0, 1, 1, 0, 0, 1, 1], "six were begun"
    a.mark_done(a.open())
    assert (a.open(), a.left) == ([], 0)
