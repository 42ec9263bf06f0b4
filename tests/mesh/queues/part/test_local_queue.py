"""What is given to whom, and what becomes of it?"""

from math import inf

import pytest

from mesh.errors import RemoteError
from mesh.queues.lots.queued_envelope import QueuedEnvelope
from mesh.queues.part.failed_deliveries import EXPIRED, REJECTED, TRIED
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.queues.making import WALL, given, lot, numbers, queue, taker

S = 10**9


def test_it_is_taken_in_order_up_to_the_credit_and_an_ack_makes_room() -> None:
    it, joe = queue(lot(1, 4), lot(5, 4)), taker(credit=6)
    it.consumers.open(joe)
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


@pytest.mark.parametrize("most", [2, 3, 8])
def test_with_a_delivery_that_is_not_known_no_attempt_is_told_beyond_those_that_its_queue_allows(
    most: int,
) -> None:
    a = lot(1)
    a.may_have_been_given([(1, 1)])
    it, joe = queue(a, max_attempts=most), taker(credit=1)
    it.consumers.open(joe)
    attempts = []
    for count in range(1, most + 1):
        assert numbers(it) == [1]
        attempts.append(a.column([(1, 1)], most)[0] + 1)
        it.deliveries.nack(joe, count, count, 0.0, 0.0, WALL)
    assert attempts == [*range(2, most + 1), most] and len(it.failures.dead) == 1


def test_several_share_evenly_and_whoever_has_less_is_first() -> None:
    it, joe, ann = queue(lot(1, 6)), taker("joe"), taker("ann")
    it.consumers.open(joe)
    it.consumers.open(ann)
    assert sorted(given(it)) == [("ann", [(4, 6)]), ("joe", [(1, 3)])]
    it.deliveries.ack(joe, 1, 2)
    it.add(lot(7), 0.0, WALL)
    assert given(it) == [("joe", [(7, 7)])]


def test_a_lot_that_came_late_stands_where_its_stamp_says() -> None:
    it, joe = queue(lot(3, position=3), lot(9, position=9), lot(5, position=5)), taker()
    it.consumers.open(joe)
    assert numbers(it) == [3, 5, 9]


def test_of_higher_priority_comes_first() -> None:
    it, joe = queue(lot(1), lot(2, put=(9, 0, "")), lot(3, put=(0, 0, "")), lot(4, put=(9, 0, ""))), taker()
    it.consumers.open(joe)
    assert numbers(it) == [2, 4, 1, 3]


def test_what_is_given_back_comes_again_before_the_rest_and_says_so() -> None:
    a = lot(1, 3)
    it, joe = queue(a, lot(4)), taker(credit=2)
    it.consumers.open(joe)
    assert numbers(it) == [1, 2]
    assert it.deliveries.nack(joe, 1, 1, 0.0, 0.0, WALL) == []
    assert numbers(it) == [1]
    assert a.column([(1, 3)]) == b"\1\0\0"
    assert it.failures.redelivered == 1


def test_what_is_given_back_for_later_comes_then() -> None:
    it, joe = queue(lot(1), lot(2)), taker()
    it.consumers.open(joe)
    assert numbers(it) == [1, 2]
    it.deliveries.nack(joe, 1, 1, 5.0, 10.0, WALL)
    it.tick(14.9, WALL)
    assert (numbers(it, 14.9), it.backlog.later.messages, it.due) == ([], 1, 15.0)
    it.tick(15.0, WALL)
    assert (numbers(it, 15.0), it.backlog.later.messages, it.due) == ([1], 0, inf)


def test_what_was_put_for_later_is_no_sooner_and_no_clock_makes_it_wait_longer() -> None:
    it, joe = queue(), taker()
    it.consumers.open(joe)
    it.add(lot(1, put=(5, 3_000, "")), 100.0, WALL + 1 * S)
    it.add(lot(2, put=(5, 3_000, "")), 100.0, WALL - 3600 * S)  # the clock went back
    assert it.ready == 0
    it.tick(101.9, WALL)
    assert numbers(it, 101.9) == []
    it.tick(102.1, WALL)
    assert numbers(it, 102.1) == [1]
    it.tick(103.1, WALL)
    assert numbers(it, 103.1) == [2]


def test_after_so_many_attempts_it_is_dead_and_leaves_when_it_is_buried() -> None:
    a = lot(1, 2)
    it, joe = queue(a, max_attempts=2), taker(credit=1)
    it.consumers.open(joe)
    for count in (1, 2):
        assert numbers(it) == [1]
        it.deliveries.nack(joe, count, count, 0.0, 0.0, WALL)
    assert numbers(it) == [2]
    (dead,) = it.failures.dead
    assert (dead.runs, dead.code, it.backlog.messages, it.ready) == ([(1, 1)], TRIED, 2, 0)
    it.failures.buried(dead)
    assert (it.backlog.messages, it.failures.died, a.left) == (1, 1, 1)


def test_what_is_rejected_is_dead_with_the_reason() -> None:
    it, joe = queue(lot(1, 3)), taker()
    it.consumers.open(joe)
    numbers(it)
    assert it.deliveries.reject(joe, 2, 2, "no such order") == []
    assert [(dead.runs, dead.code, dead.text) for dead in it.failures.dead] == [
        ([(2, 2)], REJECTED, "no such order")
    ]
    assert numbers(it) == []


def test_what_has_waited_too_long_is_dead_and_what_somebody_has_is_not() -> None:
    it, joe = queue(lot(1, expires=WALL + 2 * S), lot(2, expires=WALL + 2 * S), lot(3)), taker(credit=1)
    it.consumers.open(joe)
    assert numbers(it, 1.0) == [1]
    it.tick(2.5, WALL + 5 * S // 2)
    assert [(dead.runs, dead.code) for dead in it.failures.dead] == [([(2, 2)], EXPIRED)]
    it.deliveries.ack(joe, 1, 1)
    assert numbers(it, 2.5) == [3]


def test_what_somebody_has_when_its_time_is_over_dies_when_he_gives_it_back() -> None:
    it, joe = queue(lot(1, 2, expires=WALL + 2 * S)), taker(credit=1)
    it.consumers.open(joe)
    assert numbers(it) == [1]
    it.tick(2.5, WALL + 5 * S // 2)
    assert [dead.runs for dead in it.failures.dead] == [[(2, 2)]]
    it.deliveries.nack(joe, 1, 1, 0.0, 3.0, WALL + 3 * S)
    it.tick(5.0, WALL + 5 * S)
    assert [dead.runs for dead in it.failures.dead] == [[(2, 2)], [(1, 1)]]


def test_a_queue_may_say_how_long_anything_waits() -> None:
    it = queue(lot(1, 2), expiry=10.0)
    it.tick(9.0, WALL + 9 * S)
    assert not it.failures.dead
    it.tick(11.0, WALL + 11 * S)
    assert [dead.runs for dead in it.failures.dead] == [[(1, 2)]]


def test_who_goes_leaves_what_he_had_and_what_he_has_not_seen_counts_as_new() -> None:
    a = lot(1, 4)
    it, joe, ann = queue(a), taker("joe"), taker("ann")
    it.consumers.open(joe)
    assert numbers(it) == [1, 2, 3, 4]
    it.consumers.close(joe, begun=2)
    it.consumers.open(ann)
    assert numbers(it) == [1, 2, 3, 4]
    assert a.column([(1, 4)]) == b"\1\1\0\0"


def test_a_lease_ends_and_an_ack_after_it_counts_if_nobody_else_has_it() -> None:
    it, joe, ann = queue(lot(1, 3)), taker("joe", credit=3, lease=1.0), taker("ann", credit=2)
    it.consumers.open(joe)
    assert numbers(it) == [1, 2, 3]
    it.deliveries.extend(joe, 3, 3, 9.0)
    it.tick(1.0, WALL)
    assert (it.ready, it.deliveries.out) == (2, 1)
    it.takers.pop(b"joe")
    it.consumers.open(ann)
    ann.credit = 1
    assert numbers(it, 1.0) == [1]
    assert it.deliveries.ack(joe, 1, 3) == [(1, 1)]
    assert (it.backlog.messages, it.deliveries.out) == (1, 1)


def test_what_was_never_given_cannot_be_settled_and_what_is_settled_twice_is_told() -> None:
    it, joe = queue(lot(1, 2)), taker()
    it.consumers.open(joe)
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


def test_who_comes_back_keeps_what_he_names_and_others_get_the_rest() -> None:
    a = lot(1, 4)
    it, joe = queue(a), taker()
    it.consumers.open(joe)
    numbers(it)
    it.deliveries.ack(joe, 1, 1)
    again = taker(epoch=2)
    void = it.consumers.open(again, ((b"p" * 16, (1, 2, 4, 4, 9, 9)),))
    assert void == [1, 4]
    assert (it.deliveries.out, it.ready) == (2, 1)
    assert numbers(it) == [3]
    assert it.deliveries.ack(again, 2, 3) == []
    assert a.open() == [(3, 3)]
    assert it.deliveries.ack(again, 4, 4) == [(4, 4)]
    assert it.deliveries.ack(again, 1, 1) == []  # for the second time


def test_what_is_twice_in_a_queue_is_twice_in_a_takers_hands() -> None:
    it, joe = queue(lot(1, position=1), lot(1, position=2)), taker()
    it.consumers.open(joe)
    assert numbers(it) == [1, 1]
    again = taker(epoch=2)
    assert it.consumers.open(again, ((b"p" * 16, (1, 1)), (b"p" * 16, (1, 1)), (b"p" * 16, (1, 1)))) == [3]
    assert it.deliveries.out == 2


def test_after_a_restart_what_may_be_in_hands_waits_for_them() -> None:
    a, b = lot(1, 3), lot(4)
    it, joe, ann = queue(), taker("joe"), taker("ann")
    it.consumers.recover(5.0, {b"joe": 10, b"bob": 10})
    it.add(a, 0.0, WALL, is_doubtful=True)
    it.add(b, 0.0, WALL)
    it.consumers.open(ann)
    assert numbers(it) == [4]
    assert it.consumers.open(joe, ((b"p" * 16, (2, 2)),)) == []
    it.tick(4.9, WALL)
    assert (numbers(it), it.ready) == ([], 0)
    it.tick(5.0, WALL)
    assert sorted(numbers(it)) == [1, 3]
    assert a.column([(1, 3)]) == b"\1\0\1"


def test_when_all_are_back_nothing_waits_any_more() -> None:
    it, joe = queue(), taker("joe")
    it.consumers.recover(5.0, {b"joe": 10})
    it.add(lot(1, 2), 0.0, WALL, is_doubtful=True)
    it.consumers.open(joe, ((b"p" * 16, (1, 1)),))
    it.tick(0.1, WALL)
    assert numbers(it) == [2]


def test_after_a_restart_no_more_attempts_have_failed_than_could_be_with_somebody() -> None:
    a, b = lot(1, 3), lot(4, 3)
    it, joe = queue(max_attempts=1), taker("joe")
    it.consumers.recover(5.0, {b"joe": 2})
    for each in (b, a):
        it.add(each, 0.0, WALL, is_doubtful=True)
    it.tick(5.0, WALL)
    assert [dead.runs for dead in it.failures.dead] == [[(1, 2)]]
    it.consumers.open(joe)
    assert numbers(it) == [3, 4, 5, 6]
    assert (a.column([(3, 3)]), b.column([(4, 6)])) == (b"\1", b"\1\1\1")


def test_what_is_late_after_a_restart_may_have_been_in_time_before_it() -> None:
    a = lot(1, put=(5, 3_000, ""))
    it, joe = queue(), taker("joe")
    it.consumers.recover(5.0, {b"joe": 10})
    it.add(a, 0.0, WALL - 60 * S, is_doubtful=True)  # the clock was set back
    it.tick(6.0, WALL)
    it.consumers.open(joe)
    assert numbers(it, 6.0) == [1]
    assert a.column([(1, 1)]) == b"\1"


def test_an_ack_whose_answer_was_lost_is_ok_the_second_time_and_not_of_what_another_has() -> None:
    it, joe, ann = queue(lot(1, 4)), taker("joe", lease=1.0, credit=3), taker("ann")
    it.consumers.open(joe)
    assert numbers(it) == [1, 2, 3]
    it.deliveries.ack(joe, 1, 1)
    it.deliveries.extend(joe, 3, 3, 99.0)
    it.tick(1.0, WALL)
    it.consumers.open(ann)
    assert numbers(it, 1.0) == [2, 4]
    again = taker("joe", epoch=2)
    assert it.consumers.open(again, ((b"p" * 16, (1, 3)),)) == [1, 2]
    assert it.deliveries.ack(again, 1, 3) == [(2, 2)]
    assert it.deliveries.nack(again, 1, 1, 0.0, 0.0, WALL) == [(1, 1)]


def test_after_a_restart_nobodys_word_is_proof_of_an_ack() -> None:
    it, joe = queue(), taker("joe")
    it.consumers.recover(5.0, {b"joe": 10})
    it.add(lot(2, 2), 0.0, WALL, is_doubtful=True)
    assert it.consumers.open(joe, ((b"p" * 16, (1, 3)),)) == [1]
    assert it.deliveries.ack(joe, 1, 3) == [(1, 1)]


def test_a_purge_takes_what_is_ready_or_late_and_not_what_somebody_has() -> None:
    it, joe = queue(lot(1, 4), lot(5, put=(5, 9_000, "")), lot(6, put=(5, 0, "g"))), taker(credit=2)
    it.consumers.open(joe)
    assert numbers(it) == [1, 2]
    assert it.backlog.purge() == 4
    assert (it.backlog.messages, it.ready, it.backlog.later.messages) == (2, 0, 0)
    it.deliveries.ack(joe, 1, 2)
    assert (it.backlog.messages, it.backlog.bytes) == (0, 0)


def test_a_row_says_all_that_a_restart_needs() -> None:
    a = lot(1, 6)
    it, joe = queue(a), taker()
    it.consumers.open(joe)
    numbers(it)
    it.deliveries.ack(joe, 2, 3)
    it.deliveries.nack(joe, 4, 4, 7.0, 0.0, WALL)
    it.deliveries.nack(joe, 5, 5, 0.0, 0.0, WALL)
    b = lot(1, 6)
    b.restore(a.row())
    assert (b.open(), b.tries, b.late, b.left) == ([(1, 1), (4, 6)], {4: 1, 5: 1}, a.late, 4)
    again = queue()
    again.add(b, 0.0, WALL + 2 * S)
    assert (again.ready, again.backlog.later.messages, again.due) == (3, 1, 5.0)
    assert lot(1).row() == b""


def test_what_was_given_together_may_be_settled_in_parts() -> None:
    odds = lot(1, 20).envelope.cut(range(0, 20, 2))
    it, joe = queue(a := QueuedEnvelope(StoredEnvelope(odds, 1))), taker(credit=20)
    it.consumers.open(joe)
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


def test_a_row_says_what_is_on_its_way_elsewhere() -> None:
    a = lot(1, 6)
    it = queue(a)
    it.moving.start_transfer(a, [(2, 3), (5, 5)], b"heron", 7)
    it.moving.start_transfer(a, [(6, 6)], b"egret", 7)
    a.moves = 2
    b = lot(1, 6)
    b.restore(a.row())
    again = queue()
    again.add(b, 0.0, WALL)
    assert (again.backlog.messages, again.ready, again.moving.messages, b.moves) == (6, 2, 4, 2)
    again.consumers.open(taker(credit=10))
    assert numbers(again) == [1, 4]
    again.moving.finish_moved(b, b"heron", 7)
    back = again.moving.record_refused_transfer(b, b"egret", 7, is_sure=False)
    assert (again.moving.messages, numbers(again)) == (1, []), "until that is on disk"
    again.moving.came_back(b, back)
    assert (again.backlog.messages, again.moving.messages, numbers(again), b.column([(6, 6)])) == (
        3,
        0,
        [6],
        b"\x01",
    )
    again.moving.finish_moved(b, b"heron", 7)  # once more
    assert again.backlog.messages == 3


def test_what_may_have_been_given_is_told_so_and_loses_no_attempt() -> None:
    a = lot(1, 2)
    a.may_have_been_given([(1, 1)])
    it, joe = queue(a, max_attempts=2), taker()
    it.consumers.open(joe)
    assert (numbers(it), a.column([(1, 2)])) == ([1, 2], b"\x01\x00")
    it.deliveries.nack(joe, 1, 2, 0.0, 0.0, WALL)
    b = lot(1, 2)
    b.restore(a.row())
    assert (numbers(it), a.column([(1, 2)]), b.column([(1, 2)])) == ([1, 2], b"\x02\x01", b"\x02\x01")
    it.deliveries.nack(joe, 3, 4, 0.0, 0.0, WALL)
    assert numbers(it) == [] and [dead.runs for dead in it.failures.dead] == [[(1, 2)]]
