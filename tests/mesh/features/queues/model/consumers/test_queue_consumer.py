"""The free credit of a consumer, the positions that it has passed, and its lapsed deliveries."""

from math import inf

import pytest

from mesh.features.queues.model.consumers.queue_consumer import LAPSED, grace
from mesh.features.queues.model.envelopes.ready_index import FIRST
from tests.mesh.features.queues.model.making import given, queue, queued, taker


def test_room_is_credit_less_what_is_held_and_none_while_paused_or_away() -> None:
    joe, it = taker(credit=3), queue(queued(1, 2))
    it.consumers.add_consumer(joe)
    assert given(it) == [("joe", [(1, 2)])] and (joe.busy, joe.room) == (2, 1)
    joe.credit = 1
    assert joe.room == 0
    joe.credit = 5
    joe.is_paused = True
    assert joe.room == 0
    joe.is_paused, joe.away = False, 7.0
    assert joe.room == 0
    joe.away = inf
    assert joe.room == 3


def test_a_taker_looks_again_at_places_that_it_has_passed_and_only_there() -> None:
    joe = taker()
    assert joe.searched_up_to(5) == FIRST and joe.place_on_disk(5) == 0
    joe.passed[5] = (10, b"s", 4)
    joe.look_again(5, (10, b"s", 5))
    assert joe.searched_up_to(5) == (10, b"s", 4)
    joe.look_again(5, (9, b"s", 7))
    assert joe.searched_up_to(5) == (9, b"s", 6)


def test_what_lapsed_may_be_settled_once_and_the_oldest_is_forgotten() -> None:
    joe, it = taker(credit=2 * LAPSED), queue(queued(1, LAPSED + 2))
    it.consumers.add_consumer(joe)
    assert given(it)
    for run in joe.holding.settle(1, LAPSED + 2):
        joe.lapse(run)
    assert len(joe.lapsed) == LAPSED and list(joe.take_lapsed(1, 2)) == []
    assert [(count, number) for count, _, number in joe.take_lapsed(3, 4)] == [(3, 3), (4, 4)]
    assert list(joe.take_lapsed(3, 4)) == []


@pytest.mark.parametrize(
    ("can_move", "lease", "seconds"),
    [(False, inf, 5), (False, 60, 5), (True, inf, 15), (True, 60, 15), (True, 8, 8), (True, 1, 5)],
)
def test_a_consumer_that_can_move_has_a_longer_grace_within_its_lease(
    can_move: bool, lease: float, seconds: float
) -> None:
    assert grace(can_move, lease) == seconds


def test_claimed_messages_use_the_credit() -> None:
    joe, it = taker(credit=3), queue(queued(1, 3))
    joe.claimed = 2
    it.consumers.add_consumer(joe)
    assert given(it) == [("joe", [(1, 1)])] and joe.room == 0


def test_a_consumer_whose_session_moved_gets_nothing_and_keeps_an_exclusive_queue() -> None:
    joe, ann, it = taker("joe"), taker("ann"), queue(queued(1, 3), exclusive=True)
    joe.is_elsewhere = joe.is_paused = True
    it.consumers.add_consumer(joe)
    assert not it.is_consumed
    it.consumers.add_consumer(ann)
    assert (given(it), it.consumers.eligible(), it.is_consumed) == ([], [], True)
    it.consumers.close(joe)
    assert it.consumers.eligible() == [ann]
