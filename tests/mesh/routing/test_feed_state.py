"""The state of a feed: progress, first owed positions, and slices in flight or waiting."""

from math import inf

from msgspec.structs import replace

from mesh.routing.aside import set_aside
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Query
from mesh.wire.envelope import INITIAL
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import HERON, ME, Ends, stored


def test_trial_D_a_peer_that_says_that_it_is_behind_is_waited_for_but_not_for_ever() -> None:
    says, silent = Ends(kind=PeerFeed), Ends(kind=PeerFeed)
    for ends in (says, silent):
        ends.feed.connect(0.0)
        ends.offer(stored())
    waited = []
    for now in (0.4, 0.8, 1.2, *range(2, 10)):
        says.feed.on_processed(0, now)  # its readers progress; our messages wait their turn
        waited.append((says.feed.alive(now + 0.3), silent.feed.alive(now + 0.3)))
    assert waited == [(True, False)] * len(waited)
    says.feed.on_processed(0, 10.1)
    assert not says.feed.alive(10.2), "or nodes that are ways for each other would wait in a circle"


def test_the_line_counts_what_left_and_what_waits() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    ends.offer(stored(1))
    ends.feed.on_processed(1, 0.0)
    ends.offer(*(stored(n) for n in range(2, 6)), stored(1, master=HERON))
    assert (ends.feed.line, len(ends.sent)) == (6, 4)
    ends.feed.restart()
    assert ends.feed.line == 6, "one that was taken, three under way and two that waited: all wait now"


def test_it_stands_from_its_last_progress_on_once_it_has_dropped_something() -> None:
    ends, since = Ends(), list[float | None]()
    ends.feed.connect(1.0)
    ends.offer(stored(1), stored(2), stored(3), now=1.0)
    since.append(ends.feed.stands_since)
    ends.feed.on_processed(1, 2.0)
    ends.offer(*[stored(size=136) for _ in range(5)], now=9.0)
    since.append(ends.feed.stands_since)
    ends.feed.on_processed(2, 10.0)
    since.append(ends.feed.stands_since)
    assert since == [None, 2.0, None]


def test_a_topic_is_owed_from_the_start_of_its_query_and_behind_what_is_settled() -> None:
    ends = Ends()
    ends.feed.add_query(Query("key", "a"), 5, {})
    ends.feed.add_query(Query("key", "b"), 2, {})
    owed = [ends.feed.first_owed_position(key, "") for key in ("a", "b", "c")]
    assert owed == [5, 2, inf]
    ends.feed.position = 3
    assert [ends.feed.first_owed_position(key, "") for key in ("a", "b")] == [5, 4]


def test_what_is_in_flight_and_waits_is_counted_with_its_masters() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(stored(1), stored(2), stored(3), stored(1, master=HERON), stored(4))
    feed = ends.feed
    assert (feed.items, feed.pending, feed.masters()) == (5, 5, {ME, HERON})
    assert (feed.under_way_bytes, feed.waiting_bytes) == (3 * 64, 5 * 64)
    seen = [(each.master, each.position) for each in feed.all_stored()]
    assert seen == [(ME, 1), (ME, 2), (ME, 3), (HERON, 1)], "`Memory` counts what waits of our own log"


def test_a_subscriber_that_goes_on_elsewhere_lacks_the_transient_items_that_it_has_not_received() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(stored(), stored(count=2), stored(1), stored(count=4), stored(2))
    ends.feed.on_processed(1, 0.0)
    ends.feed.gap = 16
    assert len(ends.sent) == 4, "the last one waits"
    assert [ends.feed.left_behind(received) for received in (0, 1, 2, 3, 4)] == [22, 22, 20, 20, 16]
    ends.offer(stored(count=8))
    assert ends.feed.left_behind(4) == 24
    first = EnvelopeSlice(StoredEnvelope(replace(envelope("a"), flags=INITIAL), 0, ME, own=True))
    ends.feed.offer(first, 0.0)
    assert ends.feed.left_behind(4) == 24, "first values are asked for again"
    set_aside(ends.feed, ME)
    assert ends.feed.left_behind(4) == 24, "also while they wait for a resumed log"
