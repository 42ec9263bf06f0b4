"""Attempts are counted, and messages without attempts left and expired ones are dead."""

import pytest

from mesh.features.queues.model.part.failed_deliveries import EXPIRED, TRIED
from tests.mesh.features.queues.model.making import WALL, numbers, queue, queued, taker

S = 10**9


@pytest.mark.parametrize("most", [2, 3, 8])
def test_with_a_delivery_that_is_not_known_no_attempt_is_told_beyond_those_that_its_queue_allows(
    most: int,
) -> None:
    a = queued(1)
    a.may_have_been_given([(1, 1)])
    it, joe = queue(a, max_attempts=most), taker(credit=1)
    it.consumers.add_consumer(joe)
    attempts = []
    for count in range(1, most + 1):
        assert numbers(it) == [1]
        attempts.append(a.column([(1, 1)], most)[0] + 1)
        it.deliveries.nack(joe, count, count, 0.0, 0.0, WALL)
    assert attempts == [*range(2, most + 1), most] and len(it.failures.dead) == 1


def test_after_so_many_attempts_it_is_dead_and_leaves_when_it_is_buried() -> None:
    a = queued(1, 2)
    it, joe = queue(a, max_attempts=2), taker(credit=1)
    it.consumers.add_consumer(joe)
    for count in (1, 2):
        assert numbers(it) == [1]
        it.deliveries.nack(joe, count, count, 0.0, 0.0, WALL)
    assert numbers(it) == [2]
    (dead,) = it.failures.dead
    assert (dead.runs, dead.code, it.backlog.messages, it.ready) == ([(1, 1)], TRIED, 2, 0)
    it.failures.buried(dead)
    assert (it.backlog.messages, it.failures.died, a.left) == (1, 1, 1)


def test_what_has_waited_too_long_is_dead_and_what_somebody_has_is_not() -> None:
    it, joe = (
        queue(queued(1, expires=WALL + 2 * S), queued(2, expires=WALL + 2 * S), queued(3)),
        taker(credit=1),
    )
    it.consumers.add_consumer(joe)
    assert numbers(it, 1.0) == [1]
    it.tick(2.5, WALL + 5 * S // 2)
    assert [(dead.runs, dead.code) for dead in it.failures.dead] == [([(2, 2)], EXPIRED)]
    it.deliveries.ack(joe, 1, 1)
    assert numbers(it, 2.5) == [3]


def test_what_somebody_has_when_its_time_is_over_dies_when_he_gives_it_back() -> None:
    it, joe = queue(queued(1, 2, expires=WALL + 2 * S)), taker(credit=1)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1]
    it.tick(2.5, WALL + 5 * S // 2)
    assert [dead.runs for dead in it.failures.dead] == [[(2, 2)]]
    it.deliveries.nack(joe, 1, 1, 0.0, 3.0, WALL + 3 * S)
    it.tick(5.0, WALL + 5 * S)
    assert [dead.runs for dead in it.failures.dead] == [[(2, 2)], [(1, 1)]]


def test_a_queue_may_say_how_long_anything_waits() -> None:
    it = queue(queued(1, 2), expiry=10.0)
    it.tick(9.0, WALL + 9 * S)
    assert not it.failures.dead
    it.tick(11.0, WALL + 11 * S)
    assert [dead.runs for dead in it.failures.dead] == [[(1, 2)]]


def test_what_may_have_been_given_is_told_so_and_loses_no_attempt() -> None:
    a = queued(1, 2)
    a.may_have_been_given([(1, 1)])
    it, joe = queue(a, max_attempts=2), taker()
    it.consumers.add_consumer(joe)
    assert (numbers(it), a.column([(1, 2)])) == ([1, 2], b"\x01\x00")
    it.deliveries.nack(joe, 1, 2, 0.0, 0.0, WALL)
    b = queued(1, 2)
    b.restore_state(a.row())
    assert (numbers(it), a.column([(1, 2)]), b.column([(1, 2)])) == ([1, 2], b"\x02\x01", b"\x02\x01")
    it.deliveries.nack(joe, 3, 4, 0.0, 0.0, WALL)
    assert numbers(it) == [] and [dead.runs for dead in it.failures.dead] == [[(1, 2)]]


def test_dead_messages_stay_in_the_backlog_until_their_dead_letter_is_stored() -> None:
    a, joe = queued(1, 3), taker()
    it = queue(a, max_attempts=1)
    it.consumers.add_consumer(joe)
    numbers(it)
    it.deliveries.nack(joe, 1, 2, 0.0, 0.0, WALL)
    assert (it.failures.dying, it.failures.died, it.failures.redelivered) == (2, 2, 2)
    assert (it.ready, it.backlog.messages) == (0, 3)
    (dead,) = it.failures.take_dead()
    assert (it.failures.take_dead(), dead.runs, dead.text) == (
        [],
        [(1, 2)],
        "The message failed at 1 delivery.",
    )
    it.failures.buried(dead)
    assert (it.failures.dying, it.failures.died, it.backlog.messages) == (0, 2, 1)
