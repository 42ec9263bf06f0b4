"""Gaps are reported once, and again if the receiver did not acknowledge them."""

from __future__ import annotations

from array import array
from typing import Any

from msgspec.structs import replace

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.outlet import Outlet
from mesh.kernel.context.passing import read as read_gaps
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Items
from mesh.wire.frames import read
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import HERON, Ends, stored

GONE = (7,)  # path of the gaps that others have reported


class Bench:
    """An outlet to a peer, and what it has sent on its connection."""

    def __init__(self) -> None:
        self.outlet = Outlet(1 << 20, 100, lambda feed: 0, to_peer=True)
        self.feed: Any = Ends().feed
        self.told: dict[tuple[int, ...], int] = {}
        self.places: list[int] = []
        self.attach(0)

    def attach(self, have: int) -> None:
        conn = Conn("key", False, True, "ipc:///here", 0.0, 0.0)
        self.outlet.attach(conn, have, self._emit)

    def _emit(self, conn: Conn, frames: list[bytes]) -> None:
        items, _ = read(frames)
        assert isinstance(items, Items)
        for head in items.heads:
            self.places.append(head.position)
            for path, messages in read_gaps(head.gaps):
                self.told[path] = self.told.get(path, 0) + messages

    def send(self, *slices: EnvelopeSlice) -> None:
        for slice_ in slices:
            self.outlet.push_slice(self.feed, slice_)
        self.outlet.flush(self._emit)


def test_a_gap_that_was_under_way_when_the_other_end_began_anew_is_told_again() -> None:
    bench = Bench()
    first, second = EnvelopeSlice(stored(1), gap=3), EnvelopeSlice(stored(2), gap=4)
    bench.outlet.passed_on = {GONE: 5}
    bench.send(first)
    bench.send(second)
    assert (bench.told, first.gap, second.gap, bench.outlet.passed_on) == ({(): 7, GONE: 5}, 0, 0, {})
    bench.outlet.restart()
    bench.told.clear()
    bench.attach(0)
    bench.send(first, second)
    assert bench.told == {(): 7, GONE: 5}


def test_what_the_other_end_has_heard_is_told_once() -> None:
    bench = Bench()
    first, second = EnvelopeSlice(stored(1), gap=3), EnvelopeSlice(stored(2), gap=4)
    bench.outlet.passed_on = {GONE: 5}
    bench.send(first)
    bench.send(second)
    bench.outlet.on_acked(1)
    bench.outlet.restart()
    assert (first.gap, second.gap, bench.outlet.passed_on) == (0, 4, {})


def test_a_connection_that_breaks_brings_it_as_it_was() -> None:
    bench = Bench()
    slice_ = EnvelopeSlice(stored(1), gap=3)
    bench.send(slice_)
    bench.outlet.detach()
    bench.told.clear()
    bench.attach(0)
    assert (bench.told, slice_.gap) == ({(): 3}, 0)


def test_a_peer_is_told_the_place_of_what_comes_late_here_unless_it_was_told_of_one_behind_it() -> None:
    """A peer cannot settle an item without a position. It takes one with a passed position for a repeat."""
    bench = Bench()
    for place, is_late in ((5, True), (9, False), (7, True), (8, True), (11, True)):
        late = stored(place, master=HERON)
        late.is_late = is_late
        bench.send(EnvelopeSlice(late))
    assert bench.places == [5, 9, 0, 0, 11]


# --- messages of queues -----------------------------------------------------------------------------------


class Keyed:
    """A subscription of a client."""

    def __init__(self, number: int) -> None:
        self.key, self.number = bytes((number,)), number


def sent_to_a_client(*pushed: tuple[Keyed, EnvelopeSlice]) -> list[tuple[list[int], bytes, list[bytes]]]:
    """Return (subscriptions, tries, contents) of each item that arrives."""
    outlet = Outlet(1 << 20, 100, lambda feed: feed.number, to_peer=False)  # type: ignore[attr-defined]
    heard: list[tuple[list[int], bytes, list[bytes]]] = []

    def emit(conn: Conn, frames: list[bytes]) -> None:
        items, envelopes = read(frames)
        assert isinstance(items, Items)
        for head, e in zip(items.heads, envelopes, strict=True):
            heard.append(([number for number, _ in head.targets], head.tries, e.contents()))

    outlet.attach(Conn("key", False, True, "ipc:///here", 0.0, 0.0), 0, emit)
    for feed, slice_ in pushed:
        outlet.push_slice(feed, slice_)
    outlet.flush(emit)
    return heard


ONE, TWO = Keyed(1), Keyed(2)


def test_what_was_given_before_goes_to_one_subscription_alone() -> None:
    p = stored(1, 3, 1)
    three = p.envelope.contents()
    plain, tried = EnvelopeSlice(p), EnvelopeSlice(p, tries=b"\0\1\2")
    together, alone = ([1, 2], b"", three), ([2], b"\0\1\2", three)
    assert sent_to_a_client((ONE, plain), (TWO, plain)) == [together]
    assert sent_to_a_client((ONE, plain), (TWO, tried)) == [([1], b"", three), alone]
    assert sent_to_a_client((TWO, tried), (ONE, plain)) == [alone, ([1], b"", three)]
    assert sent_to_a_client((TWO, tried), (TWO, tried)) == [alone, alone]


def test_tries_are_those_of_the_messages_that_a_slice_has() -> None:
    p = stored(1, 4, 1)
    some = EnvelopeSlice(p, (1, 3), tries=b"\0\7")
    assert sent_to_a_client((ONE, some)) == [([1], b"\0\7", p.envelope.cut([1, 3]).contents())]


def test_what_is_void_takes_its_tries_with_it() -> None:
    own = [encode_properties(Properties(expires=at)) for at in (0, 5, 0, 5)]
    e = replace(envelope("a a a a", own), props=array("I", map(len, own)).tobytes(), expires=5)
    whole, some = (
        EnvelopeSlice(StoredEnvelope(e, 1, HERON), at, tries=tries)
        for at, tries in ((None, b"\1\2\3\4"), ((1, 2, 3), b"\2\3\4"))
    )
    assert list(whole.trim(10)) == [1, 3] and (whole.indices, whole.tries) == ((0, 2), b"\1\3")
    assert list(some.trim(10)) == [1, 3] and (some.indices, some.tries) == ((2,), b"\3")


# --- gaps without a later message ---------------------------------------------------------------------------


def gaps_told(outlet: Outlet) -> list[tuple[list[tuple[int, int]], int]]:
    """Return (gaps, number of targets) of each head that arrives."""
    heads: list[tuple[list[tuple[int, int]], int]] = []

    def emit(conn: Conn, frames: list[bytes]) -> None:
        items, _ = read(frames)
        assert isinstance(items, Items)
        heads.extend(([(n, gap) for n, gap in head.gaps], len(head.targets)) for head in items.heads)

    outlet.attach(Conn("key", False, True, "ipc:///here", 0.0, 0.0), 0, emit)
    outlet.flush(emit)
    return heads


def ending(gap: int) -> tuple[Feed, Outlet]:
    feed, outlet = Ends().feed, Outlet(1 << 20, 100, lambda feed: 7, to_peer=False)
    feed.gap = gap
    outlet.tell_gap(feed)
    return feed, outlet


def test_a_gap_that_nothing_follows_is_told_by_a_head_without_targets_once() -> None:
    feed, outlet = ending(3)
    assert gaps_told(outlet) == [([(7, 3)], 0)]
    assert feed.gap == 0
    outlet.tell_gap(feed)
    outlet.on_acked(1)
    assert gaps_told(outlet) == []


def test_it_is_told_behind_what_waits_and_not_again_when_that_has_told_it() -> None:
    feed, outlet = ending(3)
    outlet.push_slice(feed, EnvelopeSlice(stored(), gap=feed.take_gap()))
    assert gaps_told(outlet) == [([(7, 3)], 1)]


def test_it_is_owed_again_when_the_other_end_begins_anew_before_it_has_it() -> None:
    feed, outlet = ending(3)
    gaps_told(outlet)
    outlet.restart()
    assert feed.gap == 3


def test_a_subscription_that_is_gone_is_told_of_no_gap() -> None:
    feed, outlet = ending(3)
    outlet.drop_slices(feed)
    assert gaps_told(outlet) == []


def test_a_gap_of_unknown_size_is_told_in_a_head_of_its_own() -> None:
    feed, outlet = ending(3)
    feed.has_unknown_gap = True
    assert gaps_told(outlet) == [([(7, 3)], 0), ([(7, 0)], 0)]
    assert (feed.gap, feed.has_unknown_gap) == (0, False)
    outlet.restart()
    assert (feed.gap, feed.has_unknown_gap) == (3, True), "as neither was acknowledged"
