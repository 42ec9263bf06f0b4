"""What is still owed of an envelope, and when is it worth to write the rest of it again?"""

from mesh.operations import Drop, Rewrite
from mesh.routing.log import Log
from mesh.routing.parcel import Parcel
from mesh.routing.shares import LARGE, Shares, shares
from mesh.wire.envelope import decode
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import Ends

BIG = envelope(
    " ".join(f"k{i}" for i in range(100)), [b"%03d" % i * 100 for i in range(100)], persistent=True
)
SMALL = envelope(" ".join(f"k{i}" for i in range(100)), persistent=True)


def test_nothing_is_kept_where_nothing_can_be_saved() -> None:
    assert shares([("a", None), ("b", (1,))], SMALL) is None
    assert shares([("a", None), ("b", None)], BIG) is None
    assert shares([("a", None), ("b", (1,))], BIG) is not None


def test_when_those_are_done_who_were_owed_all_the_rest_is_left() -> None:
    owed = Shares([("a", None), ("b", (7, 3)), ("c", (7,))])
    assert owed.left(BIG) == ()
    assert owed.settle("a")
    assert owed.left(BIG) == (3, 7)


def test_more_than_a_quarter_stays_as_it_is() -> None:
    for count, left in ((25, tuple(range(25))), (26, ())):
        owed = Shares([("a", None), ("b", tuple(range(count)))])
        owed.settle("a")
        assert owed.left(BIG) == left


def test_what_was_cut_is_cut_again_only_when_it_is_large_still() -> None:
    huge = envelope(" ".join("a" * 100), [bytes(LARGE // 10)] * 100, persistent=True)
    owed = Shares([("a", None), ("b", tuple(range(20))), ("c", (1, 2)), ("d", (2,))])
    owed.settle("a")
    owed.settle("c")
    assert owed.left(huge) == tuple(range(20))
    assert owed.settle("b")
    assert owed.left(huge) == (2,), "20 of 100 had 32 KiB still"
    assert owed.left(huge) == (), "one is small"


def test_with_very_many_subscribers_it_is_looked_at_when_half_have_gone() -> None:
    owed = Shares((i, (i % 100,)) for i in range(1000))
    looks = sum(owed.settle(i) for i in range(1000))
    assert looks == 10


def big_parcel(log: Log) -> tuple[Parcel, Ends, Ends]:
    one, other = Ends(), Ends()
    parcel = Parcel(BIG, own=True)
    log.append(parcel)
    log.owe(parcel, [(one.feed, None), (other.feed, (5,))])
    for ends in (one, other):
        ends.feed.connect(0.0)
    return parcel, one, other


def test_a_feed_that_is_done_tells_that_less_is_owed_and_the_store_is_told_of_the_rest() -> None:
    log = Log(1000)
    parcel, one, _ = big_parcel(log)
    one.offer(parcel)
    one.feed.taken(1, 0.0)
    assert (one.released, parcel.owed) == ([parcel], 1)
    log.thinned(parcel)
    assert log.live == 1
    (op,) = log.take_later()
    assert isinstance(op, Rewrite) and op.position == 1
    piece = decode(op.header, op.body)
    assert (piece.keys, piece.number_list(range(1)), piece.body) == (("k5",), [6], b"005" * 100)
    log.not_written([op])
    assert log.take_later() == [op], "a full disk: again, then"


def test_what_nobody_is_owed_any_more_is_dropped_and_not_written_again() -> None:
    log = Log(1000)
    parcel, one, other = big_parcel(log)
    one.offer(parcel)
    one.feed.taken(1, 0.0)
    log.thinned(parcel)
    other.offer(parcel)
    other.feed.taken(1, 0.0)
    assert (other.released, parcel.owed) == ([parcel], 0)
    log.released(parcel)
    assert log.take_later() == [Drop((1,))]
