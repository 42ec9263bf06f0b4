"""Consumers that arrive, return and leave, also across a restart of the node."""

from tests.mesh.features.queues.model.making import WALL, given, numbers, queue, queued, taker

S = 10**9


def test_who_goes_leaves_what_he_had_and_what_he_has_not_seen_counts_as_new() -> None:
    a = queued(1, 4)
    it, joe, ann = queue(a), taker("joe"), taker("ann")
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2, 3, 4]
    it.consumers.close(joe, begun=2)
    it.consumers.add_consumer(ann)
    assert numbers(it) == [1, 2, 3, 4]
    assert a.column([(1, 4)]) == b"\1\1\0\0"


def test_who_comes_back_keeps_what_he_names_and_others_get_the_rest() -> None:
    a = queued(1, 4)
    it, joe = queue(a), taker()
    it.consumers.add_consumer(joe)
    numbers(it)
    it.deliveries.ack(joe, 1, 1)
    again = taker(epoch=2)
    void = it.consumers.add_consumer(again, ((b"p" * 16, (1, 2, 4, 4, 9, 9)),))
    assert void == [1, 4]
    assert (it.deliveries.out, it.ready) == (2, 1)
    assert numbers(it) == [3]
    assert it.deliveries.ack(again, 2, 3) == []
    assert a.open() == [(3, 3)]
    assert it.deliveries.ack(again, 4, 4) == [(4, 4)]
    assert it.deliveries.ack(again, 1, 1) == []  # the second time


def test_what_is_twice_in_a_queue_is_twice_in_a_takers_hands() -> None:
    it, joe = queue(queued(1, position=1), queued(1, position=2)), taker()
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 1]
    again = taker(epoch=2)
    assert it.consumers.add_consumer(
        again, ((b"p" * 16, (1, 1)), (b"p" * 16, (1, 1)), (b"p" * 16, (1, 1)))
    ) == [3]
    assert it.deliveries.out == 2


def test_after_a_restart_what_may_be_in_hands_waits_for_them() -> None:
    a, b = queued(1, 3), queued(4)
    it, joe, ann = queue(), taker("joe"), taker("ann")
    it.consumers.recover(5.0, {b"joe": 10, b"bob": 10})
    it.add(a, 0.0, WALL, is_doubtful=True)
    it.add(b, 0.0, WALL)
    it.consumers.add_consumer(ann)
    assert numbers(it) == [4]
    assert it.consumers.add_consumer(joe, ((b"p" * 16, (2, 2)),)) == []
    it.tick(4.9, WALL)
    assert (numbers(it), it.ready) == ([], 0)
    it.tick(5.0, WALL)
    assert sorted(numbers(it)) == [1, 3]
    assert a.column([(1, 3)]) == b"\1\0\1"


def test_when_all_are_back_nothing_waits_any_more() -> None:
    it, joe = queue(), taker("joe")
    it.consumers.recover(5.0, {b"joe": 10})
    it.add(queued(1, 2), 0.0, WALL, is_doubtful=True)
    it.consumers.add_consumer(joe, ((b"p" * 16, (1, 1)),))
    it.tick(0.1, WALL)
    assert numbers(it) == [2]


def test_after_a_restart_no_more_attempts_have_failed_than_could_be_with_somebody() -> None:
    a, b = queued(1, 3), queued(4, 3)
    it, joe = queue(max_attempts=1), taker("joe")
    it.consumers.recover(5.0, {b"joe": 2})
    for each in (b, a):
        it.add(each, 0.0, WALL, is_doubtful=True)
    it.tick(5.0, WALL)
    assert [dead.runs for dead in it.failures.dead] == [[(1, 2)]]
    it.consumers.add_consumer(joe)
    assert numbers(it) == [3, 4, 5, 6]
    assert (a.column([(3, 3)]), b.column([(4, 6)])) == (b"\1", b"\1\1\1")


def test_what_is_late_after_a_restart_may_have_been_in_time_before_it() -> None:
    a = queued(1, put=(5, 3_000, ""))
    it, joe = queue(), taker("joe")
    it.consumers.recover(5.0, {b"joe": 10})
    it.add(a, 0.0, WALL - 60 * S, is_doubtful=True)  # the clock was set back
    it.tick(6.0, WALL)
    it.consumers.add_consumer(joe)
    assert numbers(it, 6.0) == [1]
    assert a.column([(1, 1)]) == b"\1"


def test_an_ack_whose_answer_was_lost_is_ok_the_second_time_and_not_of_what_another_has() -> None:
    it, joe, ann = queue(queued(1, 4)), taker("joe", lease=1.0, credit=3), taker("ann")
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1, 2, 3]
    it.deliveries.ack(joe, 1, 1)
    it.deliveries.extend(joe, 3, 3, 99.0)
    it.tick(1.0, WALL)
    it.consumers.add_consumer(ann)
    assert numbers(it, 1.0) == [2, 4]
    again = taker("joe", epoch=2)
    assert it.consumers.add_consumer(again, ((b"p" * 16, (1, 3)),)) == [1, 2]
    assert it.deliveries.ack(again, 1, 3) == [(2, 2)]
    assert it.deliveries.nack(again, 1, 1, 0.0, 0.0, WALL) == [(1, 1)]


def test_after_a_restart_nobodys_word_is_proof_of_an_ack() -> None:
    it, joe = queue(), taker("joe")
    it.consumers.recover(5.0, {b"joe": 10})
    it.add(queued(2, 2), 0.0, WALL, is_doubtful=True)
    assert it.consumers.add_consumer(joe, ((b"p" * 16, (1, 3)),)) == [1]
    assert it.deliveries.ack(joe, 1, 3) == [(1, 1)]


def test_one_takes_all_of_an_exclusive_queue_until_he_goes() -> None:
    it, joe, ann = queue(queued(1, 4), exclusive=True), taker("joe", credit=2), taker("ann")
    it.consumers.add_consumer(joe)
    it.consumers.add_consumer(ann)
    assert given(it) == [("joe", [(1, 2)])]
    joe = taker("joe", credit=2)
    it.consumers.add_consumer(joe)
    assert it.consumers.eligible() == [joe], "who connects again keeps his place"
    it.consumers.close(joe)
    assert given(it) == [("ann", [(1, 4)])]
