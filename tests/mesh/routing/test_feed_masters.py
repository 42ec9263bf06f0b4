"""Feeds of peers that receive the logs of several masters, and inboxes."""

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.overflow import Credit
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope
from tests.mesh.routing.feeds import HERON, ME, Ends, inbox, stored


def mine(*positions: int) -> list[StoredEnvelope]:
    return [stored(n) for n in positions]


def herons(*positions: int) -> list[StoredEnvelope]:
    return [stored(n, master=HERON) for n in positions]


def released(ends: Ends) -> list[tuple[bytes, int]]:
    return [(p.master, p.position) for p in ends.released]


def taken_by_a_peer(*all_stored: StoredEnvelope) -> Ends:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    for total, p in enumerate(all_stored, 1):
        ends.offer(p)
        ends.feed.on_processed(total, 0.0)
    return ends


# --- several masters ----------------------------------------------------------------------------------


def test_each_master_is_settled_by_itself() -> None:
    ends = taken_by_a_peer(*mine(1), *herons(1, 2), *mine(2))
    assert not ends.feed.settle_master(HERON, 1), "only our own log moves the position that is stored"
    assert (released(ends), ends.feed.position) == ([(HERON, 1)], 0)
    assert ends.feed.settle_master(ME, 2)
    assert (released(ends), ends.feed.position) == ([(HERON, 1), (ME, 1), (ME, 2)], 2)
    assert ends.feed.is_owed
    ends.feed.settle_master(HERON, 2)
    assert not ends.feed.is_owed


def test_to_settle_for_a_master_of_whom_nothing_came_changes_nothing() -> None:
    ends = taken_by_a_peer(*mine(1))
    assert not ends.feed.settle_master(HERON, 99)
    assert (released(ends), ends.feed.is_owed) == ([], True)


def test_a_peer_that_has_one_log_up_to_here_still_gets_the_other() -> None:
    ends = Ends(kind=PeerFeed)
    ends.offer(*mine(1), *herons(1), *mine(2), *herons(2))
    ends.feed.skip(HERON, 1)
    ends.feed.connect(0.0)
    assert [(p.stored.master, p.stored.position) for p in ends.sent] == [(ME, 1), (ME, 2), (HERON, 2)]
    ends.feed.settle_master(HERON, 1)
    assert released(ends) == [(HERON, 1)]


def test_a_gap_before_what_a_peer_has_already_is_still_reported() -> None:
    ends = Ends(Credit(bytes=100, items=3, backlog=1200), kind=PeerFeed)
    ends.offer(*[stored(0, size=50) for _ in range(4)], *herons(1, 2))
    assert ends.feed.dropped == 3
    ends.feed.skip(HERON, 2)
    ends.feed.connect(0.0)
    ends.feed.on_processed(1, 0.0)
    ends.offer(*mine(1))
    assert [(p.stored.position, p.gap) for p in ends.sent] == [(0, 0), (1, 3)]


def test_a_transient_item_is_in_no_log_and_never_skipped() -> None:
    ends = Ends(kind=PeerFeed)
    ends.offer(*herons(0, 1))
    ends.feed.skip(HERON, 5)
    ends.feed.connect(0.0)
    assert ends.positions == [0]


def test_after_a_restart_of_the_peer_what_it_has_not_settled_comes_again_in_each_masters_order() -> None:
    ends = taken_by_a_peer(*mine(1), *herons(1), *mine(2), *herons(2))
    ends.offer(*mine(3), *herons(0, 3))
    ends.feed.settle_master(ME, 1)
    ends.sent.clear()
    ends.feed.restart()
    ends.feed.connect(1.0)
    ends.feed.on_processed(3, 1.0)
    again = [(p.stored.master, p.stored.position) for p in ends.sent]
    assert [position for master, position in again if master == ME] == [2, 3]
    assert [position for master, position in again if master == HERON] == [1, 2, 3]
    assert ends.take_gap() == 1, "the transient one"


def test_a_peer_is_trusted_per_master() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    big = [stored(n, size=336, master=m) for n in (1, 2) for m in (HERON, ME)]  # 400 bytes each, 3 fit
    for total, p in enumerate(big, 1):
        ends.offer(p)
        ends.feed.on_processed(total, 0.0)
    assert released(ends) == [(HERON, 1)]
    ends.feed.settle_master(ME, 2)
    ends.feed.restart()
    assert (ends.take_gap(), ends.feed.pending) == (1, 1), "heron's first is lost, its second comes"


def test_a_late_item_waits_for_no_later_position() -> None:
    ends = taken_by_a_peer(*herons(1, 5, 3))
    ends.feed.settle_master(HERON, 3)
    assert released(ends) == [(HERON, 1), (HERON, 3)]
    ends.feed.settle_master(HERON, 5)
    assert (released(ends)[2:], ends.feed.is_owed) == ([(HERON, 5)], False)


def test_items_of_one_position_are_settled_in_the_order_in_which_they_were_sent() -> None:
    first, second = herons(3, 3)
    ends = taken_by_a_peer(*herons(5), first, second)
    ends.feed.settle_master(HERON, 3)
    assert ends.released == [first, second]


def test_after_a_restart_late_items_come_again_where_they_were() -> None:
    ends = taken_by_a_peer(*herons(1, 5, 3))
    ends.sent.clear()
    ends.feed.restart()
    ends.feed.connect(1.0)
    assert ends.positions == [1, 5, 3]


def test_a_peer_is_trusted_up_to_the_furthest_position() -> None:
    ends = Ends(kind=PeerFeed)
    ends.feed.connect(0.0)
    for total, position in enumerate((4, 5, 6, 7, 2), 1):  # 400 bytes each, 3 fit
        ends.offer(stored(position, size=336, master=HERON))
        ends.feed.on_processed(total, 0.0)
    assert released(ends) == [(HERON, 4), (HERON, 2)]
    ends.feed.settle_master(HERON, 3)
    ends.feed.restart()
    assert ends.take_gap() == 2, "position 4 may be unread"


# --- an inbox --------------------------------------------------------------------------------------------


def test_an_inbox_drops_nothing_however_full_it_is() -> None:
    ends = Ends(kind=inbox)
    ends.offer(*[stored(n, size=500) for n in range(1, 11)], stored(0, size=5000))
    assert (ends.feed.pending, ends.feed.dropped, ends.released) == (11, 0, [])
    assert ends.feed.waiting_bytes == 10 * 564 + 5064


def test_what_was_under_way_from_an_inbox_comes_again_transient_or_not() -> None:
    ends = Ends(kind=inbox)
    ends.feed.connect(0.0)
    ends.offer(stored(1), stored(0), stored(2), stored(0))
    ends.feed.on_processed(1, 0.0)
    ends.feed.disconnect(1.0)
    ends.feed.restart()
    ends.sent.clear()
    ends.feed.connect(2.0)
    assert (ends.positions, ends.take_gap()) == ([0, 2, 0], 0)


def test_what_waits_can_be_taken_over_in_order_by_another_feed() -> None:
    ends = Ends(kind=inbox)
    ends.offer(*mine(1, 2, 3))
    slices = ends.feed.take_all()
    assert [p.stored.position for p in slices] == [1, 2, 3]
    assert (ends.feed.pending, ends.feed.waiting_bytes, ends.feed.is_owed) == (0, 0, False)
    assert ends.released == [], "it is still owed, by whoever took it"
    assert ends.feed.take_all() == []


def test_what_is_under_way_is_not_taken_over() -> None:
    ends = Ends(kind=inbox)
    ends.feed.connect(0.0)
    ends.offer(*mine(1, 2, 3, 4))
    assert [p.stored.position for p in ends.feed.take_all()] == [4]
    ends.feed.on_processed(3, 0.0)
    assert (released(ends), ends.feed.is_owed) == ([(ME, 1), (ME, 2), (ME, 3)], False)


def test_only_what_waits_and_is_void_is_given_up() -> None:
    def is_void(e: Envelope) -> bool:
        return 0 < e.expires <= 10

    ends = Ends(kind=inbox)
    ends.feed.connect(0.0)
    ends.offer(*[stored(n, expires=10) for n in (1, 2, 3)])
    ends.feed.offer(EnvelopeSlice(stored(4, count=2, expires=11)), 0.0)
    ends.offer(stored(5, expires=10), stored(0, expires=9), stored(6))
    void = ends.feed.take_void(is_void)
    assert [p.stored.position for p in void] == [5, 0]
    assert (released(ends), ends.feed.pending) == ([(ME, 5)], 3 + 2 + 1)
    assert not any(p.waiting for p in void)
    assert ends.feed.position == 0, "a crash now must not lose what is still to come"
    ends.feed.on_processed(3, 0.0)
    assert ends.positions == [1, 2, 3, 4, 6]
    assert ends.feed.take_void(is_void) == []
