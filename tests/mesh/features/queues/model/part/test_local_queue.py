"""Deliveries of a local queue, and their outcomes."""

from tests.mesh.features.queues.model.making import WALL, given, numbers, queue, queued, taker

S = 10**9


def test_several_share_evenly_and_whoever_has_less_is_first() -> None:
    it, joe, ann = queue(queued(1, 6)), taker("joe"), taker("ann")
    it.consumers.add_consumer(joe)
    it.consumers.add_consumer(ann)
    assert sorted(given(it)) == [("ann", [(4, 6)]), ("joe", [(1, 3)])]
    it.deliveries.ack(joe, 1, 2)
    it.add(queued(7), 0.0, WALL)
    assert given(it) == [("joe", [(7, 7)])]


def test_what_was_put_for_later_is_no_sooner_and_no_clock_makes_it_wait_longer() -> None:
    it, joe = queue(), taker()
    it.consumers.add_consumer(joe)
    it.add(queued(1, put=(5, 3_000, "")), 100.0, WALL + 1 * S)
    it.add(queued(2, put=(5, 3_000, "")), 100.0, WALL - 3600 * S)  # the clock went back
    assert it.ready == 0
    it.tick(101.9, WALL)
    assert numbers(it, 101.9) == []
    it.tick(102.1, WALL)
    assert numbers(it, 102.1) == [1]
    it.tick(103.1, WALL)
    assert numbers(it, 103.1) == [2]


def test_a_purge_takes_what_is_ready_or_late_and_not_what_somebody_has() -> None:
    it, joe = queue(queued(1, 4), queued(5, put=(5, 9_000, "")), queued(6, put=(5, 0, "g"))), taker(credit=2)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2]
    assert it.backlog.purge() == 4
    assert (it.backlog.messages, it.ready, it.backlog.later.messages) == (2, 0, 0)
    it.deliveries.ack(joe, 1, 2)
    assert (it.backlog.messages, it.backlog.bytes) == (0, 0)


def test_a_row_says_all_that_a_restart_needs() -> None:
    a = queued(1, 6)
    it, joe = queue(a), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    it.deliveries.ack(joe, 2, 3)
    it.deliveries.nack(joe, 4, 4, 7.0, 0.0, WALL)
    it.deliveries.nack(joe, 5, 5, 0.0, 0.0, WALL)
    b = queued(1, 6)
    b.restore_state(a.row())
    assert (b.open(), b.tries, b.late, b.left) == ([(1, 1), (4, 6)], {4: 1, 5: 1}, a.late, 4)
    again = queue()
    again.add(b, 0.0, WALL + 2 * S)
    assert (again.ready, again.backlog.later.messages, again.due) == (3, 1, 5.0)
    assert queued(1).row() == b""
