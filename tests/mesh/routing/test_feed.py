"""The feed of a subscriber: order, credit, backlog, gaps, and messages that are not settled."""

import pytest

from mesh.errors import RemoteError
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.peerfeed import PeerFeed
from tests.mesh.routing.feeds import ME, Ends, stored


def test_what_the_credit_allows_goes_out_at_once_and_the_rest_when_something_is_taken() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(*[stored(n) for n in range(1, 6)])
    assert ends.positions == [1, 2, 3]
    ends.feed.on_processed(2, 0.0)
    assert ends.positions == [1, 2, 3, 4, 5]
    assert (ends.feed.delivered, ends.feed.pending) == (2, 3)


def test_one_slice_may_overdraw_the_bytes() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(stored(1, size=300), stored(2, size=9000), stored(3))
    assert ends.positions == [1, 2]


def test_nothing_goes_out_before_it_is_connected() -> None:
    ends = Ends()
    ends.offer(stored(1))
    assert ends.positions == []
    ends.feed.connect(0.0)
    assert ends.positions == [1]


def test_transient_messages_for_one_who_is_away_wait_up_to_its_credit_and_then_drop_with_a_gap() -> None:
    ends = Ends()
    ends.offer(*[stored(size=136) for _ in range(5)])  # 200 bytes each
    assert (ends.feed.pending, ends.feed.dropped, ends.take_gap()) == (2, 3, 3)
    assert ends.take_gap() == 0, "told once"


def test_persistent_messages_wait_up_to_the_bound_of_the_backlog() -> None:
    ends = Ends()
    ends.offer(*[stored(n, size=136) for n in range(1, 9)])
    assert (ends.feed.pending, ends.feed.dropped) == (6, 2)
    assert [p.position for p in ends.released] == [7, 8], "what is dropped is owed no more"


def test_a_slow_subscriber_has_the_whole_backlog_and_a_stopped_one_only_its_credit() -> None:
    slow, stopped = Ends(), Ends()
    for ends in (slow, stopped):
        ends.feed.connect(0.0)
        ends.offer(*[stored(size=136) for _ in range(3)], now=0.0)
    slow.feed.on_processed(1, 99.9)
    for ends in (slow, stopped):
        ends.offer(*[stored(size=136) for _ in range(5)], now=100.0)
    assert (slow.feed.dropped, stopped.feed.dropped) == (0, 4)
    assert (slow.feed.alive(100.0), stopped.feed.alive(100.0)) == (True, False)


def test_a_persistent_message_is_settled_at_a_client_when_it_is_taken() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(stored(1), stored(2))
    ends.feed.on_processed(1, 0.0)
    assert (ends.feed.position, [p.position for p in ends.released]) == (1, [1])


def test_a_peer_settles_a_persistent_message_later_than_it_takes_it() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    ends.offer(stored(1), stored(2))
    ends.feed.on_processed(2, 0.0)
    assert (ends.feed.position, ends.released) == (0, [])
    assert not ends.feed.settle_master(ME, 0)
    assert ends.feed.settle_master(ME, 1)
    assert (ends.feed.position, [p.position for p in ends.released]) == (1, [1])


def test_more_taken_than_sent_is_a_forgery() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(stored(1))
    with pytest.raises(RemoteError, match="number of items is 2, but that of sent items is 1") as caught:
        ends.feed.on_processed(2, 0.0)
    assert caught.value.code == "FORGED_ACK"
    assert ends.feed.delivered == 0


def test_after_a_restart_of_the_other_end_persistent_items_come_again_and_transient_ones_are_a_gap() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    ends.offer(stored(1), stored(0), stored(2), stored(3))
    ends.feed.on_processed(1, 0.0)
    ends.feed.disconnect(1.0)
    ends.sent.clear()
    ends.feed.restart()
    assert (ends.feed.delivered, ends.take_gap(), ends.feed.pending) == (0, 1, 3)
    ends.feed.connect(2.0)
    assert ends.positions == [1, 2, 3]
    ends.feed.on_processed(1, 2.0)


def test_a_part_of_an_envelope_stays_that_part_when_it_comes_again() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    ends.feed.offer(EnvelopeSlice(stored(1, count=3), (0, 2)), 0.0)
    ends.feed.on_processed(1, 0.0)
    ends.feed.restart()
    ends.feed.connect(0.0)
    assert [slice_.indices for slice_ in ends.sent] == [(0, 2), (0, 2)]


def test_what_the_peer_has_already_is_not_sent_again_but_settled_when_it_says_so() -> None:
    ends = Ends(kind=PeerFeed)
    ends.offer(stored(4), stored(5), stored(6))  # after our restart, from the store
    ends.feed.skip(ME, 5)
    ends.feed.connect(0.0)
    assert ends.positions == [6]
    assert (ends.feed.delivered, ends.released) == (2, [])
    assert ends.feed.settle_master(ME, 5)
    assert [p.position for p in ends.released] == [4, 5]


def test_a_peer_that_settles_nothing_is_trusted_beyond_a_bound_and_what_it_loses_is_a_gap() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    for n in range(1, 11):
        ends.offer(stored(n, size=136))
        ends.feed.on_processed(n, 0.0)
    assert [p.position for p in ends.released] == [1, 2, 3, 4]
    assert (ends.feed.delivered, ends.feed.dropped, ends.feed.position) == (10, 0, 4)
    ends.feed.restart()
    assert (ends.feed.delivered, ends.take_gap(), ends.feed.pending) == (0, 4, 6)


def test_what_a_trusted_peer_settled_after_all_is_no_gap() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    for n in range(1, 11):
        ends.offer(stored(n, size=136))
        ends.feed.on_processed(n, 0.0)
    ends.feed.settle_master(ME, 4)
    ends.feed.restart()
    assert (ends.take_gap(), ends.feed.pending) == (0, 6)


def test_a_closed_feed_owes_nothing_and_takes_nothing() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    ends.offer(*[stored(n) for n in range(1, 6)])
    ends.feed.on_processed(1, 0.0)
    ends.feed.close()
    ends.offer(stored(6))
    assert sorted(p.position for p in ends.released) == [1, 2, 3, 4, 5, 6]
    assert ends.feed.pending == 0


def test_what_is_offered_for_now_alone_never_waits_and_leaves_no_gap() -> None:
    ends = Ends()
    assert not ends.feed.offer_now(EnvelopeSlice(stored()), 0.0), "it is away"
    ends.feed.connect(0.0)
    assert [ends.feed.offer_now(EnvelopeSlice(stored()), 0.0) for _ in range(5)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert (ends.feed.pending, ends.feed.dropped, ends.take_gap()) == (3, 0, 0)
