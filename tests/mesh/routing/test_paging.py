"""Messages that wait on disk only because memory is full: they leave in order, as if they were in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.errors import StoreError
from mesh.features.services.node.groups import Group
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.memory import OWN, Memory
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paged import ROWS, Paged
from mesh.routing.paging import Found, Paging
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.shares import LARGE, Indices
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope, refilled
from mesh.wire.envelope import Envelope, decode
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import CREDIT, ME, Ends, inbox


class Place:
    """The disk and memory of a node, and feeds of subscribers that are disconnected at first."""

    def __init__(
        self, *names: str, limit: float = 0, kind: Callable[..., Any] = Feed, **options: Any
    ) -> None:
        self.memory = Memory(limit)
        self.shelf = StoreHandle()
        self.disk: dict[int, Envelope] = {}
        self.reads: list[tuple[list[int], Callable[[Found], None]]] = []
        self.paging = Paging(self.memory, ME, lambda places, then: self.reads.append(([*places], then)))
        self.all = {name: Ends(kind=kind, paging=self.paging, **options) for name in names}
        for ends in self.all.values():
            ends.feed._released = self.released

    def __getitem__(self, name: str) -> Ends:
        return self.all[name]

    def released(self, stored: StoredEnvelope) -> None:
        if stored.owed:
            self.shelf.shrink(stored)
            return
        self.shelf.delete_released(stored)
        self.disk.pop(stored.position)

    def accept(self, e: Envelope, now: float = 0.0, **owed: Indices | None) -> StoredEnvelope:
        """Store the envelope, and offer it to its subscribers."""
        stored = StoredEnvelope(e, master=ME, own=True)
        takers = [(self.all[name].feed, indices) for name, indices in owed.items()]
        self.shelf.append_envelope(stored, takers)
        self.disk[stored.position] = e
        for feed, indices in takers:
            feed.offer(EnvelopeSlice(stored, indices), now)
        return stored

    def cut(self) -> None:
        """Rewrite the envelopes on disk without the messages that are no longer owed."""
        for op in self.shelf._rewrites.values():
            self.disk[op.position] = decode(op.header, op.body)
        self.shelf._rewrites.clear()

    def read(self) -> None:
        """Complete all reads in progress."""
        while self.reads:
            places, then = self.reads.pop(0)
            then({place: self.disk[place] for place in places if place in self.disk})


def message(n: int, count: int = 1, size: int = 1) -> Envelope:
    contents = [b"%d.%d" % (n, i) + bytes(size) for i in range(count)]
    return envelope(" ".join("a" * count), contents, first=n, persistent=True)


def got(ends: Ends) -> list[bytes]:
    """Return the contents that were sent."""
    return [slice_.stored.envelope.message(i)[1].rstrip(b"\0") for slice_ in ends.sent for i in slice_.every]


def test_what_has_no_room_in_memory_comes_from_the_disk_in_order() -> None:
    place = Place("joe", limit=3 * (OWN + 100))
    for n in range(1, 11):
        place.accept(message(n, size=10), joe=None)
    joe = place["joe"].feed
    assert (place.memory.used, len(joe._backlog)) == (3 * (OWN + 77), 10)
    assert (joe.pending, joe.waiting_bytes) == (10, 9 * 77 + 78)
    joe.connect(0.0)
    for total in range(1, 11):
        place.read()
        joe.on_processed(total, 0.0)
    assert got(place["joe"]) == [b"%d.0" % n for n in range(1, 11)]
    assert not (place.disk or place.memory.used or joe.is_owed or joe._backlog.away)


def test_however_many_are_on_the_disk_they_keep_their_order() -> None:
    paged, many = Paged(), range(1, 2 * ROWS + 3)
    for n in many:
        paged.add(position=n, stamp=n, count=1, size=2, expires=0)
    assert (len(paged), paged.messages, paged.bytes) == (len(many), len(many), 2 * len(many))
    assert (paged.first, paged.last(ROWS), paged.first_behind(ROWS)) == (1, ROWS + 1, ROWS + 1)
    assert [paged.pop()[0] for _ in many] == [*many]
    assert not paged


def test_messages_up_to_a_number_are_counted_wherever_they_wait() -> None:
    place = Place("joe", limit=2 * (OWN + 200), credit=Credit(bytes=2000, items=3, backlog=4000))
    joe = place["joe"].feed
    for n in range(1, 8):
        place.accept(message(n, count=2), joe=None)
    place["joe"].offer(StoredEnvelope(message(8, count=2)))
    joe.connect(0.0)
    for total in range(1, 9):
        assert [joe.pending_until(n) for n in range(9)] == [2 * max(0, n + 1 - total) for n in range(9)]
        place.read()
        joe.on_processed(total, 0.0)
    assert joe.pending_until(8) == 0


def test_the_next_ones_are_read_before_they_are_wanted() -> None:
    place = Place("joe")
    for n in range(1, 13):
        place.accept(message(n), joe=None)
    joe = place["joe"].feed
    joe.connect(0.0)
    assert [len(places) for places, _ in place.reads] == [CREDIT.items]
    place.read()
    assert len(place["joe"].sent) == CREDIT.items
    assert len(joe._backlog._row) == CREDIT.items, "they are here, and the next one need not wait"
    joe.on_processed(1, 0.0)
    assert (len(place["joe"].sent), len(place.reads)) == (4, 1)


def test_what_several_wait_for_is_in_memory_as_long_as_one_of_them_has_it_in_hand() -> None:
    place = Place("joe", "ann", "bob")
    place["bob"].feed.connect(0.0)
    stored = place.accept(message(1), joe=None, ann=None, bob=None)
    assert stored.is_here and got(place["bob"]) == [b"1.0"]
    place["bob"].feed.on_processed(1, 0.0)
    assert not stored.is_here and not stored.frames
    joe, ann = place["joe"], place["ann"]
    joe.feed.connect(0.0)
    place.read()
    assert got(joe) == [b"1.0"] and stored.is_here
    joe.feed.on_processed(1, 0.0)
    assert not stored.is_here and place.disk
    ann.feed.close()
    assert not place.disk and not place.paging._shared


def test_one_that_several_read_at_once_comes_to_each_though_one_gives_up_meanwhile() -> None:
    place = Place("joe", "ann", "bob")
    stored = place.accept(message(1), joe=None, ann=None, bob=None)
    for name in ("joe", "ann"):
        place[name].feed.connect(0.0)
    place["joe"].feed.close()
    place.read()
    assert (got(place["joe"]), got(place["ann"])) == ([], [b"1.0"])
    place["ann"].feed.disconnect(0.0)
    place["ann"].feed.restart()
    assert not stored.is_here
    for name in ("bob", "ann"):
        place[name].feed.connect(0.0)
    place.read()
    assert (got(place["bob"]), got(place["ann"])) == ([b"1.0"], [b"1.0"] * 2)


def test_what_comes_for_one_who_has_given_up_does_not_stay_for_others_who_are_away() -> None:
    place = Place("joe", "ann")
    stored = place.accept(message(1), joe=None, ann=None)
    place["joe"].feed.connect(0.0)
    place["joe"].feed.close()
    place.read()
    assert not stored.is_here and place.disk


def test_what_was_cut_on_the_disk_meanwhile_is_found_by_its_numbers() -> None:
    place = Place("joe", "ann", "bob")
    place["bob"].feed.connect(0.0)
    e = message(1, count=16, size=LARGE // 8)
    stored = place.accept(e, joe=(3, 5), ann=(9,), bob=(0, 1, 2, 4))
    size = stored.size
    place["bob"].feed.on_processed(1, 0.0)
    assert not stored.is_here
    place.cut()
    assert [piece.count for piece in place.disk.values()] == [3], "the others have left the disk"
    for name, contents in (("ann", [b"1.9"]), ("joe", [b"1.3", b"1.5"])):
        place[name].feed.connect(0.0)
        place.read()
        (slice_,) = place[name].sent
        assert got(place[name]) == contents
        assert slice_.stored.envelope.cut(slice_.every).number_list(range(len(contents))) == [
            n + 1 for n in slice_.every
        ]
        assert stored.size == size
        place[name].feed.on_processed(1, 0.0)
    assert not place.disk
    assert all(ends.feed.waiting_bytes == 0 for ends in place.all.values())


def test_transient_ones_and_those_that_are_awaited_keep_their_places_in_memory() -> None:
    place = Place("joe")
    joe, ends = place["joe"].feed, place["joe"]
    place.accept(message(1), joe=None)
    ends.offer(StoredEnvelope(message(2)))
    place.accept(message(3), joe=None)
    joe.connect(0.0)  # connected, so publishers wait for its messages
    place.accept(message(4), joe=None)
    assert [p.stored.envelope.first for p in joe._backlog] == [2, 4]
    place.read()
    for total in range(1, 5):
        joe.on_processed(total, 0.0)
        place.read()
    assert got(ends) == [b"1.0", b"2.0", b"3.0", b"4.0"]


def test_what_comes_behind_something_on_the_disk_goes_there_too_though_there_is_room_again() -> None:
    place = Place("joe", limit=OWN + 78)
    for n in (1, 2):
        place.accept(message(n), joe=None)
    place.memory.limit = 1e9
    place.accept(message(3), joe=None)
    assert [p.stored.envelope.first for p in place["joe"].feed._backlog] == [1]


def test_a_group_that_has_it_at_once_does_not_keep_it_in_memory_for_one_who_is_away() -> None:
    place, given = Place("joe"), list[Envelope]()
    group = Group("workers", lambda group, e: given.append(e), place.released)
    stored = StoredEnvelope(message(1), master=ME, own=True)
    place.shelf.append_envelope(stored, [(place["joe"].feed, None), (group, None)])
    for taker in (place["joe"].feed, group):
        taker.offer(EnvelopeSlice(stored), 0.0)
    assert [e.contents() for e in given] == [[b"1.0\0"]]
    assert not stored.is_here and stored.owed == 1


def test_a_gap_is_told_with_what_follows_it_though_that_is_on_the_disk() -> None:
    place = Place("joe", overflow=Overflow.DROP_OLDEST)
    joe, ends = place["joe"].feed, place["joe"]
    ends.offer(StoredEnvelope(message(1, size=300)))
    for n in (2, 3):
        place.accept(message(n), joe=None)
    ends.offer(StoredEnvelope(message(4, size=300)))
    assert (joe.dropped, joe._backlog.gap, joe.gap) == (1, 1, 0)
    joe.connect(0.0)
    place.read()
    assert [(p.stored.envelope.first, p.gap) for p in ends.sent] == [(2, 1), (3, 0), (4, 0)]


def test_letters_that_are_void_are_read_to_be_buried_wherever_they_stand() -> None:
    place = Place("joe", kind=inbox, void_at=lambda e: e.expires, wall=lambda: 60)
    joe = place["joe"].feed
    for n, expires in enumerate((0, 50, 50, 0), 1):
        place.accept(replace(message(n), expires=expires), joe=None)

    def void() -> list[int]:
        found = joe.take_void(lambda e: 0 < e.expires <= 60)
        return [slice_.stored.envelope.first for slice_ in found]

    assert (void(), joe.pending) == ([], 4)
    place.read()
    assert (void(), joe.pending, joe.buried, sorted(place.disk)) == ([2, 3], 2, 2, [1, 4])
    assert joe._backlog.away.bytes == joe.waiting_bytes
    joe.connect(0.0)
    place.read()
    assert got(place["joe"]) == [b"1.0", b"4.0"]


def test_what_the_disk_has_lost_is_a_gap_and_holds_nobody_up() -> None:
    place = Place("joe")
    joe, ends = place["joe"].feed, place["joe"]
    for n in (1, 2, 3):
        place.accept(message(n), joe=None)
    lost = place.disk.pop(2)
    joe.connect(0.0)
    place.disk[2] = lost
    places, then = place.reads.pop()
    then({place_: place.disk[place_] for place_ in places if place_ != 2})
    assert [(p.stored.envelope.first, p.gap) for p in ends.sent] == [(1, 0), (3, 1)]
    assert (joe.matched, joe.delivered + joe.dropped + joe.pending) == (3, 3)


def test_a_store_at_its_end_gives_nothing() -> None:
    place = Place("joe")
    place.accept(message(1), joe=None)
    place["joe"].feed.connect(0.0)
    place.reads.pop()[1](StoreError("it is gone"))
    assert not place["joe"].sent


def test_what_is_read_when_a_subscriber_is_cut_off_is_read_again() -> None:
    place = Place("joe")
    place.accept(message(1), joe=None)
    place["joe"].feed.connect(0.0)
    place["joe"].feed.shed()
    place.read()
    assert got(place["joe"]) == [b"1.0"]


def test_a_peer_that_has_it_already_is_not_sent_it_and_settles_it_later() -> None:
    place = Place("ibis", kind=PeerFeed)
    for n in range(1, 6):
        place.accept(message(n), ibis=None)
    ibis, place.memory.limit = place["ibis"].feed, 1e9
    ibis.skip(ME, 3)
    assert place.memory.used == 0, "there is room for them now, and they are not here"
    ibis.connect(0.0)
    place.read()
    assert got(place["ibis"]) == [b"4.0", b"5.0"]
    ibis.settle_master(ME, 2)
    assert sorted(place.disk) == [3, 4, 5]
    ibis.disconnect(0.0)
    ibis.restart()  # ibis has forgotten its unsettled messages
    ibis.connect(0.0)
    place.read()
    assert got(place["ibis"])[2:] == [b"3.0", b"4.0", b"5.0"]


@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=12),
    is_keyed=st.booleans(),
    has_props=st.booleans(),
    dice=st.randoms(use_true_random=False),
)
def test_a_piece_has_the_places_of_its_whole(
    sizes: list[int], is_keyed: bool, has_props: bool, dice: Any
) -> None:
    keys = " ".join(dice.choice("abc") if is_keyed else "a" for _ in sizes)
    contents = [bytes([i]) * size for i, size in enumerate(sizes)]
    e = envelope(keys, contents, first=7, expires=99 if has_props else 0)
    first = sorted(dice.sample(range(e.count), dice.randint(1, e.count)))
    whole = e.cut(first)  # perhaps a piece itself
    left = sorted(dice.sample(range(whole.count), dice.randint(1, whole.count)))
    filled = refilled(whole.cut(left), whole)
    assert filled.count == whole.count
    for i in left:
        assert filled.message(i) == whole.message(i)
        assert filled.number(i) == whole.number(i)
        assert filled.keys[filled.row(i)] == whole.keys[whole.row(i)]
    assert filled.cut(left).contents() == whole.cut(left).contents()


def test_what_is_void_is_read_in_parts_of_so_many_bytes() -> None:
    paged = Paged()
    for n in range(1, ROWS + 3):
        paged.add(n, n, 1, 10, expires=0 if n == 2 else 50)
    assert [row[0] for row in paged.take_void(60, ROWS, size=25)] == [1, 3, 4]
    assert (paged.take_void(49, ROWS), paged.first, len(paged)) == ([], 2, ROWS - 1)
    assert [row[0] for row in paged.take_void(60, ROWS, size=10 * ROWS)] == [*range(5, ROWS + 3)]
    assert (len(paged), paged.messages, paged.bytes) == (1, 1, 10)
