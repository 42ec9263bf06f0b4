"""The order of a feed that resumes a log."""

from mesh.routing.aside import bring_back, drop_master, drop_up_to, set_aside, take_older
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.routing.feeds import HERON, ME, Ends, stored


def transient(after: int) -> StoredEnvelope:
    """Return a transient envelope of heron behind a position of its log; 0: unknown."""
    found = stored(0, master=HERON)
    found.after = after
    return found


def test_law_1_newer_messages_wait_until_the_resumed_ones_are_complete() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    set_aside(ends.feed, HERON)
    ends.offer(stored(9, master=HERON), stored(1, master=ME))
    ends.feed.offer_resumed(EnvelopeSlice(stored(4, master=HERON)), 0.0)
    assert ends.positions == [1, 4], "another master's messages do not wait"
    bring_back(ends.feed, HERON, 0.0)
    ends.offer(stored(10, master=HERON))
    ends.feed.on_processed(2, 0.0)
    assert ends.positions == [1, 4, 9, 10]


def test_law_2_a_position_up_to_the_end_is_not_delivered_twice() -> None:
    ends = Ends()
    ends.offer(stored(3, master=HERON))
    set_aside(ends.feed, HERON)
    ends.offer(stored(4, master=HERON), stored(5, master=HERON), stored(0, master=HERON))
    drop_up_to(ends.feed, HERON, 4)
    assert [p.position for p in ends.released] == [3, 4]
    assert ends.feed.floors[HERON] == 4
    bring_back(ends.feed, HERON, 0.0)
    ends.feed.connect(0.0)
    assert ends.positions == [5, 0], "a transient message has no position"
    assert ends.feed.matched == 2


def test_law_3_only_transient_messages_precede_resumed_ones_that_were_accepted_later() -> None:
    ends = Ends()
    set_aside(ends.feed, HERON)
    ends.offer(transient(5), stored(4, master=HERON), transient(3), transient(0), transient(7))
    assert [slice_.stored.after for slice_ in take_older(ends.feed, HERON, 7)] == [3, 5]
    assert take_older(ends.feed, HERON, 7) == take_older(ends.feed, ME, 7) == []
    ends.feed.connect(0.0)
    bring_back(ends.feed, HERON, 0.0)
    assert [(s.stored.position, s.stored.after) for s in ends.sent] == [(4, 0), (0, 0), (0, 7)]


def test_a_released_master_is_dropped_now_and_later() -> None:
    ends = Ends()
    ends.offer(stored(3, master=HERON), stored(1, master=ME))
    drop_master(ends.feed, HERON)
    ends.offer(stored(7, master=HERON), stored(2, master=ME))
    ends.feed.connect(0.0)
    assert (ends.positions, [p.position for p in ends.released]) == ([1, 2], [3, 7])
    assert ends.feed.masters() == {ME}


def test_a_closed_feed_releases_what_waits_aside() -> None:
    ends = Ends()
    set_aside(ends.feed, HERON)
    ends.offer(stored(3, master=HERON))
    assert ends.feed.masters() == {HERON}
    ends.feed.close()
    ends.offer(stored(4, master=HERON))
    assert [p.position for p in ends.released] == [3, 4]
