"""The states of an envelope's messages in a queue, and the row that keeps them."""

import pytest

from mesh.errors import RemoteError
from mesh.features.queues.model.envelopes.envelope_row import MOST_TRIES, PERHAPS
from mesh.wire.codec import pack
from tests.mesh.features.queues.model.making import queued

NODE = b"n" * 16


def test_a_message_that_is_done_is_neither_open_nor_tried_and_all_done_end_the_envelope() -> None:
    it = queued(1, 5)
    it.add_ready(it.at_hand())
    assert (
        it.is_whole
        and it.first_ready(2) == [(1, 2)]
        and it.take_ready(2) == [(1, 2)]
        and list(it.ready) == [(3, 5)]
    )
    it.tried([(1, 2)])
    assert it.mark_done([(2, 2)]) == 1 and it.open() == [(1, 1), (3, 5)] and set(it.tries) == {1}
    assert it.mark_done(it.open()) == 4 and (it.left, it.open(), it.tries) == (0, [], {})


def test_failures_are_counted_up_to_a_bound_and_a_doubt_is_no_failure() -> None:
    it = queued(1, 3)
    it.may_have_been_given([(1, 2)])
    for _ in range(MOST_TRIES + 5):
        it.tried([(2, 2)])
    assert [it.failures(n) for n in (1, 2, 3)] == [0, MOST_TRIES, 0]
    assert it.tries == {1: PERHAPS, 2: PERHAPS + MOST_TRIES}
    assert it.column([(1, 3)]) == bytes([1, MOST_TRIES, 0]) and it.column([(3, 3)]) == b""


def test_what_waits_or_moves_is_open_and_not_at_hand() -> None:
    it = queued(1, 10)
    it.delay_messages(2, 5, 0, 100)
    it.start_transfer([(7, 8)], NODE, 1)
    assert it.open() == [(1, 10)] and it.at_hand() == [(1, 1), (6, 6), (9, 10)]
    it.wait_no_more(3, 4)
    assert it.late == [(2, 2, 0, 100), (5, 5, 0, 100)]
    assert it.go_no_more(NODE, 2) == [] and it.go_no_more(NODE, 1) == [(7, 8)]
    assert it.at_hand() == [(1, 1), (3, 4), (6, 10)]


def test_a_row_restores_all_states() -> None:
    it = queued(1, 10)
    assert it.row() == b""
    it.mark_done([(1, 2)])
    it.tried([(4, 4)])
    it.delay_messages(5, 6, 7, 8)
    it.start_transfer([(9, 10)], NODE, 3)
    it.moves = 2
    it.record_given([(3, 3)])
    again = queued(1, 10)
    again.restore_state(it.row())
    assert again.row() == it.row() and again.has_row
    assert (again.left, again.open(), again.at_hand()) == (8, [(3, 10)], [(3, 4), (7, 8)])
    assert again.with_somebody([(3, 10)]) == [(3, 3)]


def test_a_row_says_nothing_of_messages_that_the_envelope_lacks() -> None:
    other = queued(1, 20)
    other.mark_done([(1, 2), (15, 20)])
    other.tried([(12, 12)])
    other.delay_messages(11, 13, 0, 1)
    other.start_transfer([(11, 11)], NODE, 1)
    it = queued(1, 10)
    it.restore_state(other.row())
    assert (it.open(), it.tries, it.late, it.going) == ([(3, 10)], {}, [], [])
    for wrong in (b"\xc1", pack([5]), pack([b"", {1: 0}])):
        with pytest.raises(RemoteError):
            queued().restore_state(wrong)


def test_indices_are_those_in_the_envelope() -> None:
    it = queued(11, 4)
    assert it.indices([(11, 14)]) is None and it.indices([(12, 12), (14, 14)]) == (1, 3)
