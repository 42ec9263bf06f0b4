"""Messages that two masters deliver: each is passed on once, in order, and settled in time."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.routing.merging import MARKS, Merging
from mesh.routing.seen import RANGES, STREAMS, Seen
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import Hop
from mesh.wire.envelope import ERASED
from tests.mesh.envelopes import envelope

SHARED = {"k": ("heron", "avalon"), "l": ("heron", "avalon"), "mine": ("frodo", "heron"), "alone": ("heron",)}


def merging() -> Merging:
    return Merging("frodo", lambda key, envelope: SHARED[key])


def stored(
    first: int, keys: str = "k", master: bytes = b"h", position: int = 0, flags: int = 0
) -> StoredEnvelope:
    return StoredEnvelope(envelope(keys, first=first, flags=flags), position, master, source=master)


def test_whoever_is_first_is_handed_on_and_the_other_is_not() -> None:
    m = merging()
    assert m.select_new(stored(1)) is None
    assert m.select_new(stored(1, master=b"a")) == ()
    assert m.select_new(stored(2, master=b"a")) is None
    assert m.select_new(stored(2)) == ()


def test_what_is_older_than_what_went_past_is_no_news_whoever_brings_it() -> None:
    m = merging()
    m.select_new(stored(5))
    assert m.select_new(stored(4, master=b"a")) == ()


def test_only_the_new_part_of_an_envelope_is_handed_on() -> None:
    m = merging()
    m.select_new(stored(1, "k k"))
    assert m.select_new(stored(1, "k l k k", master=b"a")) == (2, 3)


def test_where_parts_may_come_first_the_rest_is_handed_on_late() -> None:
    m = Merging("frodo", lambda key, envelope: SHARED[key], lambda key, envelope: True)
    assert m.select_new(stored(17, "k")) is None
    assert m.select_new(stored(16, "k k", master=b"a")) == (0,)
    assert m.select_new(stored(16, "k k")) == ()


def test_what_has_one_master_or_this_node_for_one_counts_apart() -> None:
    m = merging()
    assert m.select_new(stored(9)) is None
    for key in ("alone", "mine"):
        assert m.select_new(stored(3, key)) is None
        assert m.select_new(stored(3, key)) is None
    assert m.select_new(stored(8, "k alone k")) == (1, 2)


def test_the_end_of_a_topic_is_always_news() -> None:
    m = merging()
    m.select_new(stored(9))
    assert m.select_new(stored(3, flags=ERASED)) is None


def test_a_last_value_that_was_given_goes_past_what_is_still_brought() -> None:
    m = merging()
    m.passed(envelope("k", first=7), "heron")
    m.passed(envelope("alone", first=9), "heron")
    assert m.select_new(stored(7)) == ()
    assert m.select_new(stored(8)) is None


def backed() -> Merging:
    """Return the state for messages of heron. Another master may have accepted some of key k in its place."""
    return Merging("frodo", lambda key, envelope: ("heron",), lambda key, envelope: key == "k")


def test_of_masters_that_stand_in_for_each_other_what_comes_late_is_news_once() -> None:
    m = backed()
    assert m.select_new(stored(21)) is None
    assert m.select_new(stored(11, "k k", master=b"a")) is None
    assert m.select_new(stored(11, master=b"h")) == ()
    assert m.select_new(stored(10, "k k k k", master=b"h")) == (0, 3)
    assert m.select_new(stored(12, "alone")) is None, "it has one master"


def test_what_this_node_took_in_the_place_of_another_is_no_news_from_that_one() -> None:
    m = backed()
    m.had(envelope("k", first=4))
    assert m.select_new(stored(4)) == ()
    assert m.select_new(stored(3)) is None


def test_a_last_value_is_a_message_that_came_if_its_own_master_told_it_and_else_it_still_comes() -> None:
    m = backed()
    value = replace(envelope("k", first=7), route=(Hop("heron", 0, 1), Hop("frodo", 1, 2)))
    m.passed(value, "frodo")
    assert m.select_new(stored(7)) is None
    m.passed(replace(value, first=8, last=8), "heron")
    assert m.select_new(stored(8)) == ()


def test_what_is_remembered_of_streams_is_bounded() -> None:
    seen = Seen()
    for n in range(1, 2 * RANGES + 3, 2):
        assert seen.is_new(envelope("k"), n)
    assert not seen.is_new(envelope("k"), 2 * RANGES + 1)
    assert seen.is_new(envelope("k"), 1), "it is forgotten, and may come twice"
    for n in range(STREAMS):
        seen.add(envelope("k", stream=n.to_bytes(16)))
    assert seen.is_new(envelope("k"), 2 * RANGES + 1)


def test_a_repeat_is_settled_with_its_first_copy() -> None:
    m = merging()
    first, second = stored(1, "k k", position=4), stored(3, position=5)
    m.remember(first)
    m.remember(second)
    repeats = [stored(2, master=b"a", position=7), stored(3, master=b"a", position=8)]
    assert [m.waits(repeat) for repeat in repeats] == [True, True]
    assert not m.waits(stored(4, master=b"a", position=9))
    assert (m.settle_duplicates(second), m.settle_duplicates(first)) == ([repeats[1]], [repeats[0]])
    assert not m.waits(stored(3, master=b"a", position=9))
    assert m.settle_duplicates(first) == []


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3)), max_size=30))
def test_however_two_masters_take_turns_it_goes_on_once_and_in_order(turns: list[tuple[bool, int]]) -> None:
    m = merging()
    brought = {True: 0, False: 0}
    handed: list[int] = []
    for who, count in turns:
        it = stored(brought[who] + 1, " ".join("k" * count), b"ah"[who : who + 1])
        news = m.select_new(it)
        handed += it.envelope.number_list(range(count) if news is None else news)
        brought[who] += count
    assert handed == list(range(1, max(brought.values()) + 1))


def test_a_subscription_that_moved_here_missed_what_was_handed_on_before() -> None:
    m = merging()
    m.select_new(stored(1, "k k l"))
    first = m.mark_arrival()
    m.select_new(stored(4, "k", master=b"a"))
    second = m.mark_arrival()
    m.select_new(stored(5, "alone k"))
    repeat = envelope("k k l k alone k")
    assert m.select_new(stored(1, "k k l k alone k", master=b"a")) == (4,)
    assert m.missed_before(first, repeat) == {0, 1, 2}
    assert m.missed_before(second, repeat) == {0, 1, 2, 3}
    assert m.missed_before(m.mark_arrival(), repeat) == {0, 1, 2, 3, 5}


def test_after_many_arrivals_a_subscription_may_get_again_what_it_has() -> None:
    m = merging()
    marks = []
    for number in range(1, MARKS + 3):
        marks.append(m.mark_arrival())
        m.select_new(stored(number))
    missed = [m.missed_before(mark, envelope("k " * (MARKS + 2))) for mark in marks]
    assert missed == [set(range(max(2, n))) for n in range(MARKS + 2)]
