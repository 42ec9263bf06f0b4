"""First values of a subscription that wait for its reader, and gaps that no message follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Overflow
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import INITIAL
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import CREDIT, HERON, Ends, stored

FEW = replace(CREDIT, messages=2)


def first() -> StoredEnvelope:
    """Return a first value, whose size counts as 64 bytes."""
    return StoredEnvelope(envelope(flags=INITIAL), master=HERON)


def ends(overflow: Overflow = Overflow.DROP_NEWEST) -> tuple[Ends, list[int]]:
    """Return a connected feed for two messages in flight and two waiting, and the gaps that it reports."""
    told: list[int] = []

    def ends_in_gap(feed: Feed) -> None:
        told.append(feed.take_gap())

    it = Ends(FEW, overflow=overflow, ends_in_gap=ends_in_gap)
    it.feed.connect(0.0)
    return it, told


def take(it: Ends, total: int) -> None:
    for n in range(it.feed._flight.used + 1, total + 1):
        it.feed.on_processed(n, 0.0)


@pytest.mark.parametrize("overflow", list(Overflow))
def test_first_values_wait_whatever_the_policy_up_to_the_bytes_of_the_backlog(overflow: Overflow) -> None:
    it, told = ends(overflow)
    most = FEW.messages + -(-FEW.backlog // first().size)  # in flight, and waiting
    it.offer(*(first() for _ in range(most)))
    assert it.feed.dropped == 0
    it.offer(first())
    assert it.feed.dropped == 1
    take(it, most)
    assert (len(it.sent), told) == (most, [1])


@pytest.mark.parametrize("overflow", [Overflow.DROP_NEWEST, Overflow.DROP_OLDEST])
def test_first_values_give_way_to_nothing_and_the_rest_has_the_room_that_it_had(overflow: Overflow) -> None:
    it, _ = ends(overflow)
    it.offer(*(first() for _ in range(6)))
    it.offer(*(stored() for _ in range(5)))
    assert it.feed.dropped == 3
    take(it, 8)
    assert [slice_.is_first for slice_ in it.sent] == [True] * 6 + [False] * 2


@pytest.mark.parametrize("how", ["taken", "restarted"])
def test_first_values_that_are_gone_make_no_room(how: str) -> None:
    it, _ = ends()
    it.offer(*(first() for _ in range(6)))
    if how == "restarted":
        it.feed.restart()
        it.feed.disconnect(0.0)
        it.feed.connect(0.0)
        take(it, 4)  # two were in flight
    else:
        take(it, 6)
    before = it.feed.dropped
    it.offer(*(stored() for _ in range(5)))
    assert it.feed.dropped - before == 1, "two are under way, and two wait"


def test_a_gap_is_told_when_all_before_it_was_taken_and_once() -> None:
    it, told = ends()
    it.offer(*(stored() for _ in range(7)))
    take(it, 3)
    assert told == []
    take(it, 4)
    assert told == [3]
    it.feed.pump()
    assert told == [3]


def test_a_gap_of_others_is_told_at_once_by_a_feed_that_has_nothing() -> None:
    it, told = ends()
    it.feed.missed(5)
    assert told == [5]
    it.offer(stored())
    it.feed.missed(6)
    assert told == [5]
    take(it, 1)
    assert told == [5, 6]


def test_a_gap_waits_for_a_connection() -> None:
    it, told = ends()
    it.feed.disconnect(0.0)
    it.feed.missed(5)
    assert told == []
    it.feed.connect(1.0)
    assert told == [5]


def test_a_held_feed_sends_nothing_until_its_history_which_goes_first() -> None:
    it, told = ends(Overflow.BLOCK)
    it.feed.is_held = True
    late = [stored(), stored()]
    it.offer(*late)
    it.feed.connect(0.0)
    assert it.sent == [] and it.feed.pending == 2
    history = [EnvelopeSlice(first()) for _ in range(3)]
    it.feed.begin_with(history, 0.0)
    take(it, 5)
    assert it.sent == [*history, *it.sent[3:]] and [slice_.stored for slice_ in it.sent[3:]] == late
    numbers = [slice_.number for slice_ in it.sent]
    assert numbers == sorted(numbers) and it.feed.pending == it.feed.waiting_bytes == 0 and told == []


def test_a_feed_that_is_held_no_longer_sends_what_waits() -> None:
    it, _ = ends()
    it.feed.is_held = True
    it.offer(stored())
    it.feed.release_held()
    it.offer(stored())
    assert len(it.sent) == 2
