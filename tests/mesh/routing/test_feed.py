"""Is a subscriber told in order, within its credit, and is nothing of what it is owed lost from sight?"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mesh.errors import RemoteError
from mesh.routing.feed import Credit, Feed, Portion
from mesh.routing.parcel import Parcel
from tests.mesh.envelopes import envelope

CREDIT = Credit(bytes=400, items=3, backlog=1200)


def parcel(position: int = 0, count: int = 1, size: int = 0) -> Parcel:
    """A parcel of our own log, owed to one feed if it has a position."""
    e = envelope(" ".join("a" * count), [bytes(size)] * count, persistent=position > 0)
    return Parcel(e, position, own=True, owed=int(position > 0))


class Ends:
    """A feed, and what it sent and let go."""

    def __init__(self, credit: Credit = CREDIT, peer: bool = False) -> None:
        self.sent: list[Portion] = []
        self.released: list[Parcel] = []
        self.feed = Feed(
            b"f", credit, lambda feed, portion: self.sent.append(portion), self.released.append, peer
        )

    def offer(self, *parcels: Parcel, now: float = 0.0) -> None:
        for p in parcels:
            self.feed.offer(Portion(p), now)

    @property
    def positions(self) -> list[int]:
        return [portion.parcel.position for portion in self.sent]


def test_what_the_credit_allows_goes_out_at_once_and_the_rest_when_something_is_taken() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(*[parcel(n) for n in range(1, 6)])
    assert ends.positions == [1, 2, 3]
    ends.feed.taken(2, 0.0)
    assert ends.positions == [1, 2, 3, 4, 5]
    assert (ends.feed.delivered, ends.feed.pending) == (2, 3)


def test_one_portion_may_overdraw_the_bytes() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(parcel(1, size=300), parcel(2, size=9000), parcel(3))
    assert ends.positions == [1, 2]


def test_nothing_goes_out_before_it_is_connected() -> None:
    ends = Ends()
    ends.offer(parcel(1))
    assert ends.positions == []
    ends.feed.connect(0.0)
    assert ends.positions == [1]


def test_transient_messages_for_one_who_is_away_wait_up_to_its_credit_and_then_drop_with_a_gap() -> None:
    ends = Ends()
    ends.offer(*[parcel(size=136) for _ in range(5)])  # 200 bytes each
    assert (ends.feed.pending, ends.feed.dropped, ends.feed.take_gap()) == (2, 3, 3)
    assert ends.feed.take_gap() == 0, "told once"


def test_persistent_messages_wait_up_to_the_bound_of_the_backlog() -> None:
    ends = Ends()
    ends.offer(*[parcel(n, size=136) for n in range(1, 9)])
    assert (ends.feed.pending, ends.feed.dropped) == (6, 2)
    assert [p.position for p in ends.released] == [7, 8], "what is dropped is owed no more"


def test_a_slow_subscriber_has_the_whole_backlog_and_a_stopped_one_only_its_credit() -> None:
    slow, stopped = Ends(), Ends()
    for ends in (slow, stopped):
        ends.feed.connect(0.0)
        ends.offer(*[parcel(size=136) for _ in range(3)], now=0.0)
    slow.feed.taken(1, 99.9)
    for ends in (slow, stopped):
        ends.offer(*[parcel(size=136) for _ in range(5)], now=100.0)
    assert (slow.feed.dropped, stopped.feed.dropped) == (0, 4)
    assert (slow.feed.alive(100.0), stopped.feed.alive(100.0)) == (True, False)


def test_a_persistent_message_is_settled_at_a_client_when_it_is_taken() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(parcel(1), parcel(2))
    ends.feed.taken(1, 0.0)
    assert (ends.feed.position, [p.position for p in ends.released]) == (1, [1])


def test_a_peer_settles_a_persistent_message_later_than_it_takes_it() -> None:
    ends = Ends(peer=True)
    ends.feed.connect(0.0)
    ends.offer(parcel(1), parcel(2))
    ends.feed.taken(2, 0.0)
    assert (ends.feed.position, ends.released) == (0, [])
    assert not ends.feed.settled(0)
    assert ends.feed.settled(1)
    assert (ends.feed.position, [p.position for p in ends.released]) == (1, [1])


def test_more_taken_than_sent_is_a_forgery() -> None:
    ends = Ends()
    ends.feed.connect(0.0)
    ends.offer(parcel(1))
    with pytest.raises(RemoteError, match="2 items taken, only 1 were sent") as caught:
        ends.feed.taken(2, 0.0)
    assert caught.value.code == "FORGED_ACK"
    assert ends.feed.delivered == 0


def test_after_a_restart_of_the_other_end_persistent_items_come_again_and_transient_ones_are_a_gap() -> None:
    ends = Ends(peer=True)
    ends.feed.connect(0.0)
    ends.offer(parcel(1), parcel(0), parcel(2), parcel(3))
    ends.feed.taken(1, 0.0)
    ends.feed.leave(1.0)
    ends.sent.clear()
    ends.feed.restart()
    assert (ends.feed.delivered, ends.feed.take_gap(), ends.feed.pending) == (0, 1, 3)
    ends.feed.connect(2.0)
    assert ends.positions == [1, 2, 3]
    ends.feed.taken(1, 2.0)


def test_a_part_of_an_envelope_stays_that_part_when_it_comes_again() -> None:
    ends = Ends(peer=True)
    ends.feed.connect(0.0)
    ends.feed.offer(Portion(parcel(1, count=3), (0, 2)), 0.0)
    ends.feed.taken(1, 0.0)
    ends.feed.restart()
    ends.feed.connect(0.0)
    assert [portion.indices for portion in ends.sent] == [(0, 2), (0, 2)]


def test_what_the_peer_has_already_is_not_sent_again_but_settled_when_it_says_so() -> None:
    ends = Ends(peer=True)
    ends.offer(parcel(4), parcel(5), parcel(6))  # after our restart, from the store
    ends.feed.skip(5)
    ends.feed.connect(0.0)
    assert ends.positions == [6]
    assert (ends.feed.delivered, ends.released) == (2, [])
    assert ends.feed.settled(5)
    assert [p.position for p in ends.released] == [4, 5]


def test_a_peer_that_settles_nothing_is_trusted_beyond_a_bound_and_what_it_loses_is_a_gap() -> None:
    ends = Ends(peer=True)
    ends.feed.connect(0.0)
    for n in range(1, 11):
        ends.offer(parcel(n, size=136))
        ends.feed.taken(n, 0.0)
    assert [p.position for p in ends.released] == [1, 2, 3, 4]
    assert (ends.feed.delivered, ends.feed.dropped, ends.feed.position) == (10, 0, 4)
    ends.feed.restart()
    assert (ends.feed.delivered, ends.feed.take_gap(), ends.feed.pending) == (0, 4, 6)


def test_what_a_trusted_peer_settled_after_all_is_no_gap() -> None:
    ends = Ends(peer=True)
    ends.feed.connect(0.0)
    for n in range(1, 11):
        ends.offer(parcel(n, size=136))
        ends.feed.taken(n, 0.0)
    ends.feed.settled(4)
    ends.feed.restart()
    assert (ends.feed.take_gap(), ends.feed.pending) == (0, 6)


def test_a_closed_feed_owes_nothing_and_takes_nothing() -> None:
    ends = Ends(peer=True)
    ends.feed.connect(0.0)
    ends.offer(*[parcel(n) for n in range(1, 6)])
    ends.feed.taken(1, 0.0)
    ends.feed.close()
    ends.offer(parcel(6))
    assert sorted(p.position for p in ends.released) == [1, 2, 3, 4, 5, 6]
    assert ends.feed.pending == 0


class FeedMachine(RuleBasedStateMachine):
    """Any story of a feed. The model is a list of what was offered, and the laws that must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = Ends()
        self.is_peer = False
        self.now = 0.0
        self.offered: list[Portion] = []
        self.place: dict[int, int] = {}  # id of a portion -> its place among the offered
        self.position = self.taken = self.gap_told = 0
        self.life = 0  # portions sent before the last restart

    @initialize(is_peer=st.booleans())
    def begin(self, is_peer: bool) -> None:
        self.is_peer = is_peer
        self.ends = Ends(peer=is_peer)

    @property
    def sent(self) -> list[Portion]:
        return self.ends.sent[self.life :]

    @rule(is_persistent=st.booleans(), count=st.integers(1, 3), size=st.integers(0, 300), part=st.booleans())
    def offer(self, is_persistent: bool, count: int, size: int, part: bool) -> None:
        self.position += is_persistent
        portion = Portion(parcel(self.position * is_persistent, count, size), (0,) if part else None)
        self.place[id(portion)] = len(self.offered)
        self.offered.append(portion)
        self.ends.feed.offer(portion, self.now)

    @rule(more=st.integers(0, 3))
    def take(self, more: int) -> None:
        self.taken = min(len(self.sent), self.taken + more)
        self.ends.feed.taken(self.taken, self.now)

    @rule()
    def take_too_much(self) -> None:
        with pytest.raises(RemoteError):
            self.ends.feed.taken(len(self.sent) + 1, self.now)

    @rule(back=st.integers(0, 3))
    def settle(self, back: int) -> None:
        if self.is_peer:
            taken = [p.parcel.position for p in self.sent[: self.taken] if p.parcel.position]
            self.ends.feed.settled(max([0, *taken]) - back)

    @rule()
    def connect(self) -> None:
        self.ends.feed.connect(self.now)

    @rule()
    def leave(self) -> None:
        self.ends.feed.leave(self.now)

    @rule()
    def restart(self) -> None:
        self.ends.feed.leave(self.now)
        self.ends.feed.restart()
        self.life, self.taken = len(self.ends.sent), 0

    @rule(position=st.integers(0, 20))
    def restart_knowing(self, position: int) -> None:
        """As a peer that lived on while this node restarted: it has the log up to a position."""
        self.restart()
        if self.is_peer:
            self.ends.feed.skip(position)

    @rule(seconds=st.sampled_from([0.1, 1.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def tell_gap(self) -> None:
        self.gap_told += self.ends.feed.take_gap()

    @invariant()
    def every_message_is_delivered_dropped_or_pending(self) -> None:
        feed = self.ends.feed
        offered = sum(portion.messages for portion in self.offered)
        assert offered == feed.delivered + feed.dropped + feed.pending
        assert feed.dropped == self.gap_told + feed.gap

    @invariant()
    def the_order_is_kept(self) -> None:
        places = [self.place[id(portion)] for portion in self.sent]
        assert places == sorted(set(places))

    @invariant()
    def the_credit_is_never_overdrawn_by_more_than_one(self) -> None:
        flight = self.sent[self.taken :]
        assert len(flight) <= CREDIT.items
        assert sum(portion.size for portion in flight[:-1]) < CREDIT.bytes

    @invariant()
    def what_is_kept_is_bounded(self) -> None:
        kept = [p for p in self.offered if p.parcel.owed or (p.waiting and not p.parcel.position)]
        largest = max([0, *(portion.size for portion in self.offered)])
        # Credit, backlog, and what a peer has not settled: each overdrawn by one at most. A restart
        # puts all of it into the backlog, and a peer may then take credit and backlog anew.
        bound = 2 * (CREDIT.bytes + 2 * CREDIT.backlog + 3 * largest)
        assert sum(portion.size for portion in kept) <= bound

    @invariant()
    def nothing_persistent_is_let_go_twice(self) -> None:
        assert len(self.ends.released) == len({id(p) for p in self.ends.released})

    def teardown(self) -> None:
        self.ends.feed.close()
        released = {p.position for p in self.ends.released}
        assert released == {p.parcel.position for p in self.offered if p.parcel.position}
        self.nothing_persistent_is_let_go_twice()
        assert not any(portion.waiting for portion in self.offered)


TestFeedMachine = FeedMachine.TestCase
TestFeedMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
