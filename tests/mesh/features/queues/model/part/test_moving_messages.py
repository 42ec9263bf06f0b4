"""Messages that move to other nodes, and are accepted or refused there."""

import pytest

from tests.mesh.features.queues.model.making import WALL, numbers, queue, queued, taker


def test_a_row_says_what_is_on_its_way_elsewhere() -> None:
    a = queued(1, 6)
    it = queue(a)
    it.moving.start_transfer(a, [(2, 3), (5, 5)], b"heron", 7)
    it.moving.start_transfer(a, [(6, 6)], b"egret", 7)
    a.moves = 2
    b = queued(1, 6)
    b.restore_state(a.row())
    again = queue()
    again.add(b, 0.0, WALL)
    assert (again.backlog.messages, again.ready, again.moving.messages, b.moves) == (6, 2, 4, 2)
    again.consumers.add_consumer(taker(credit=10))
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
    again.moving.finish_moved(b, b"heron", 7)  # a second time
    assert again.backlog.messages == 3


def test_moving_messages_are_not_ready_and_are_done_once_accepted() -> None:
    a, joe = queued(1, 4), taker()
    it = queue(a)
    it.consumers.add_consumer(joe)
    assert it.moving.start_transfer(a, [(1, 2)], b"heron", 1) == 2
    assert (it.ready, it.moving.messages, [*it.moving.leaving]) == (2, 2, [a])
    assert numbers(it) == [3, 4]
    assert it.moving.finish_moved(a, b"heron", 1) == 2
    assert (it.backlog.messages, it.moving.messages, [*it.moving.leaving]) == (2, 0, [])
    assert it.moving.finish_moved(a, b"heron", 1) == 0, "only once"


@pytest.mark.parametrize("is_sure", [True, False])
def test_refused_messages_are_ready_only_after_their_row_is_written(is_sure: bool) -> None:
    a, joe = queued(1, 2), taker()
    it = queue(a)
    it.consumers.add_consumer(joe)
    it.moving.start_transfer(a, [(1, 2)], b"heron", 1)
    it.backlog.take_changed()
    back = it.moving.record_refused_transfer(a, b"heron", 1, is_sure)
    assert (back, it.moving.messages, numbers(it), [*it.backlog.take_changed()]) == ([(1, 2)], 2, [], [a])
    it.moving.came_back(a, [(1, 1)])
    assert (it.moving.messages, numbers(it)) == (1, [1])
    it.moving.gave_up(a, [(2, 2)])
    assert (it.moving.messages, it.backlog.messages) == (0, 1)
    assert bool(a.column([(1, 1)])) is not is_sure, "a consumer there may have had it"


def test_a_queue_that_ends_finishes_its_moving_messages() -> None:
    a, b = queued(1, 2), queued(3)
    it = queue(a, b)
    for number, (each, runs) in enumerate([(a, [(1, 1)]), (a, [(2, 2)]), (b, [(3, 3)])]):
        it.moving.start_transfer(each, runs, b"heron", number)
    it.end_queue()
    assert (it.moving.messages, it.backlog.messages, it.backlog.bytes) == (0, 0, 0)
