"""Messages of an envelope that are still owed, and when the rest is rewritten."""

from mesh.routing.shares import LARGE, Shares, shares
from tests.mesh.envelopes import envelope

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
    assert owed.remaining(BIG) == ()
    assert owed.settle("a")
    assert owed.remaining(BIG) == (3, 7)


def test_more_than_a_quarter_stays_as_it_is() -> None:
    for count, left in ((25, tuple(range(25))), (26, ())):
        owed = Shares([("a", None), ("b", tuple(range(count)))])
        owed.settle("a")
        assert owed.remaining(BIG) == left


def test_what_was_cut_is_cut_again_only_when_it_is_large_still() -> None:
    huge = envelope(" ".join("a" * 100), [bytes(LARGE // 10)] * 100, persistent=True)
    owed = Shares([("a", None), ("b", tuple(range(20))), ("c", (1, 2)), ("d", (2,))])
    owed.settle("a")
    owed.settle("c")
    assert owed.remaining(huge) == tuple(range(20))
    assert owed.settle("b")
    assert owed.remaining(huge) == (2,), "20 of 100 had 32 KiB still"
    assert owed.remaining(huge) == (), "one is small"


def test_with_very_many_subscribers_it_is_looked_at_when_half_have_gone() -> None:
    owed = Shares([(i, (i % 100,)) for i in range(1000)])
    looks = sum(owed.settle(i) for i in range(1000))
    assert looks == 10
