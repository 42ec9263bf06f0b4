"""New, repeated and late messages of a subscription."""

import pytest
from msgspec.structs import replace

from mesh.client.batch import Batch
from mesh.client.core.intake import INBOX, Intake, Terms
from mesh.errors import Closed
from mesh.values import Hop
from mesh.wire.commands import Query
from mesh.wire.envelope import ERASED, INITIAL
from tests.mesh.envelopes import envelope

MASTER = b"m" * 16


def intake(confirmed: bool = True, number: int = 1) -> Intake:
    made = Intake(number, Query("pattern", "#"), True, Terms(), lambda s: None)
    made.confirmed = confirmed
    return made


def arrive(s: Intake, *numbers: int, persistent: bool = False, flags: int = 0) -> list[int]:
    """Let each number arrive as an item of its own, and return those that the user receives."""
    given = []
    for n in numbers:
        s.on_item(MASTER, envelope(first=n, persistent=persistent, flags=flags), None, 0)
        batch = s._items[-1]
        given += [n] if batch is not None else []
    return given


def test_what_it_had_is_not_given_again() -> None:
    s = intake()
    assert arrive(s, 1, 2, 2, 1, 3) == [1, 2, 3]
    assert arrive(s, 3, 4, persistent=True) == [4]


def test_of_an_envelope_that_is_partly_known_only_the_rest_is_given() -> None:
    s = intake()
    arrive(s, 2, persistent=True)
    s.on_item(MASTER, envelope("a b c", persistent=True), None, 0)
    batch = s._items[-1]
    assert batch is not None
    assert [message.key for message in batch] == ["a", "c"]


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("is_cut", [True, False])
def test_of_an_envelope_that_comes_in_two_parts_by_two_ways_nothing_is_lost(
    is_cut: bool, persistent: bool
) -> None:
    """While rules change, a node may be asked that has itself asked the master for less."""
    s, every = intake(), envelope("a b c d e", persistent=persistent)
    part = (0, 2) if persistent else (0, 1)  # a late transient message is dropped as a gap
    some, indices = (every.cut(part), None) if is_cut else (every, part)
    position = 7 if persistent else 0
    s.on_item(MASTER, some, indices, 0, position)
    s.on_item(MASTER, every, None, 0, position)
    s.on_item(MASTER, every, (1, 3), 0, position)
    given = [[message.key for message in batch] for batch in s._items if batch is not None]
    assert sorted(key for keys in given for key in keys) == list("abcde")
    assert s.dropped == 0


def test_a_persistent_message_is_news_however_late_it_comes() -> None:
    s = intake()
    assert arrive(s, 5, persistent=True) == [5]
    assert arrive(s, 3, 4, 5, persistent=True) == [3, 4]


@pytest.mark.parametrize(
    ("number", "flags", "expected"),
    [(1, 0, [False, True, True, False]), (1, INITIAL, [False] * 4), (INBOX, 0, [False] * 4)],
)
def test_a_message_after_newer_ones_of_its_publisher_is_late_whoever_its_master_is(
    number: int, flags: int, expected: list[bool]
) -> None:
    s, found = intake(number=number), []
    for master, n in ((b"b" * 16, 3), (MASTER, 1), (MASTER, 2), (MASTER, 4)):
        s.on_item(master, envelope(first=n, persistent=True, flags=flags), None, 0)
        batch = s._items[-1]
        assert batch is not None
        found += [message.late for message in batch]
    assert found == expected


def test_what_comes_from_behind_the_last_place_in_its_log_was_dropped_and_is_told_as_a_gap() -> None:
    s = intake()
    s.on_item(MASTER, envelope("a", first=1, persistent=True), None, 0, position=10)
    s.on_item(MASTER, envelope("a", first=9, persistent=True), None, 2, position=14)
    # Its node was restarted, and sends again what it owes: of 2 to 5 the client had 3.
    s.on_item(MASTER, envelope("a", first=3, persistent=True), None, 0, position=0)
    s.on_item(MASTER, envelope("a b c d", first=2, persistent=True), None, 0, position=12)
    s.on_item(MASTER, envelope("a", first=9, persistent=True), None, 0, position=14)
    assert list(s._items)[-2:] == [None, None]
    s.on_item(MASTER, envelope("a", first=10, persistent=True), None, 0, position=15)
    s.on_item(b"other", envelope("a", first=11, persistent=True), None, 0, position=1)
    assert [(b.gap, len(list(b))) for b in s._items if b] == [(0, 1), (2, 1), (0, 1), (3, 1), (0, 1)]
    assert s.dropped == 5


@pytest.mark.parametrize("stratum", [0, 1])
def test_the_place_behind_which_a_transient_message_stands_is_passed_if_its_master_itself_brought_it(
    stratum: int,
) -> None:
    """Over another route, more of that place may still come."""
    s, route = intake(), (Hop("heron", stratum, 0),)
    s.on_item(MASTER, replace(envelope(first=4), route=route), None, 2, position=10)
    s.on_item(MASTER, replace(envelope("a b", first=2, persistent=True), route=route), None, 0, position=10)
    s.on_item(MASTER, replace(envelope(first=5, persistent=True), route=route), None, 0, position=11)
    given = [batch._envelope.first for batch in s._items if batch is not None]
    assert given == ([4, 2, 5] if stratum else [4, 5])
    assert s.dropped == (2 if stratum else 4)


def test_a_letter_is_news_wherever_it_stands() -> None:
    s = intake(number=INBOX)
    for number, position in ((1, 5), (2, 3)):
        s.on_item(MASTER, envelope(first=number, persistent=True), None, 0, position)
    assert None not in s._items


def test_a_transient_message_behind_newer_ones_was_lost_before_and_stays_lost() -> None:
    s = intake()
    assert arrive(s, 2, 5) == [2, 5]
    assert arrive(s, 2, 3, 4, 3, 6) == [6]
    last = s._items[-1]
    assert last is not None
    assert (last.gap, s.dropped) == (2, 2), "nobody has told us of 3 and 4"


def test_the_last_values_of_many_topics_are_given_in_any_order() -> None:
    s = intake(confirmed=False)
    assert arrive(s, 7) == [7]
    assert arrive(s, 2, 5, 7, flags=INITIAL) == [2, 5]


def test_last_values_of_a_restarted_node_that_are_older_than_what_came_are_not_given() -> None:
    s = intake()
    arrive(s, 7)
    s.restarted()
    assert arrive(s, 5, 7, 8, flags=INITIAL) == [8]


def test_what_came_before_it_was_confirmed_is_void_when_it_is_made_anew() -> None:
    s = intake(confirmed=False)
    arrive(s, 7, persistent=True)
    s.restarted()
    assert (len(s._items), s.used) == (0, 0)
    assert arrive(s, 5, 6, 7, persistent=True) == [5, 6, 7]


def test_items_that_lie_here_when_the_node_counts_anew_are_not_counted_to_it() -> None:
    s = intake()
    arrive(s, 1, 2)
    s.restarted()
    assert s.used == -2
    for _ in range(3):
        s.mark_consumed()
    assert s.used == 1


def test_that_a_topic_was_erased_is_news_however_late_it_comes_but_once_only() -> None:
    s = intake()
    arrive(s, 7)
    assert arrive(s, 5, 5, flags=ERASED) == [5]
    s.restarted()
    assert arrive(s, 3, 5, flags=ERASED | INITIAL) == [3]


def test_what_was_sent_to_us_is_news_however_late_it_comes_but_once_only() -> None:
    s = intake(number=INBOX)
    assert arrive(s, 7, 3, 7, 3, 5) == [7, 3, 5]


def test_nothing_is_given_before_it_is_confirmed() -> None:
    s = intake(confirmed=False)
    arrive(s, 7, persistent=True)
    assert s.next_batch() is None
    s.restarted()  # the node would repeat it, behind an older one
    arrive(s, 5, 7, persistent=True)
    assert s.next_batch() is None
    s.confirm()
    assert numbers(s.next_batch(), s.next_batch()) == ["5", "7"]


def numbers(*batches: Batch | None) -> list[str]:
    return [message.id[-1] for batch in batches for message in batch or ()]


def test_a_batch_in_use_when_the_node_counts_anew_is_not_counted_to_it() -> None:
    s = intake()
    arrive(s, 1, 2)
    assert s.next_batch() is not None and s.is_in_use
    s.restarted()
    assert s.used == -2
    s.mark_consumed()
    s.next_batch()
    s.mark_consumed()
    assert (s.used, s.is_in_use) == (0, False)


def test_repeats_are_counted_as_they_are_passed() -> None:
    s = intake()
    arrive(s, 1, 1, 1, 2)
    assert numbers(s.next_batch()) == ["1"]
    s.mark_consumed()
    assert numbers(s.next_batch()) == ["2"] and s.used == 3


def test_what_is_put_back_comes_again_first_and_was_not_used() -> None:
    s = intake()
    s.on_item(MASTER, envelope("a b c"), None, 0)
    arrive(s, 4)
    batch = s.next_batch()
    assert batch is not None
    s.put_back(list(batch)[1:], failed=False)
    assert (numbers(s.next_batch()), s.used) == (["2", "3"], 0)
    s.put_back([], failed=True)
    assert (numbers(s.next_batch()), s.used) == (["2", "3"], 0)
    s.put_back([], failed=False)
    assert (numbers(s.next_batch()), s.used) == (["4"], 1)


def test_whoever_waits_is_stirred_by_all_that_he_waits_for() -> None:
    s = intake(confirmed=False)
    stirred = list[str]()
    for why, stir in (
        ("confirmed", s.confirm),
        ("arrived", lambda: arrive(s, 1)),
        ("paused", s.pause),
        ("ended", lambda: s.end_with(Closed("over."))),
    ):
        s.stirred = lambda why=why: stirred.append(why)  # type: ignore[misc]
        stir()
    assert stirred == ["confirmed", "arrived", "paused", "ended"]


def test_an_inbox_that_is_left_gives_nothing_and_what_comes_lies_there_until_it_is_taken_up_again() -> None:
    s = intake(number=INBOX)
    arrive(s, 1)
    s.pause()
    arrive(s, 2)
    assert s.next_batch() is None
    s.is_left = False
    assert numbers(s.next_batch(), s.next_batch()) == ["1", "2"]
