"""The answer to a publisher when several masters have answered."""

from mesh.routing.verdict import verdicts
from mesh.wire.commands import Answer

FULL = "no room"


def took(first: int, last: int, matched: int = 1) -> Answer:
    return Answer("D", first, last, matched=matched)


def refused(first: int, last: int, code: str = "STORE_FULL") -> Answer:
    return Answer("D", first, last, code, 0, FULL)


def test_OK_when_all_have_it_and_all_their_subscribers_count() -> None:
    said = [("heron", took(1, 3, 2)), ("avalon", took(1, 5))]
    assert verdicts(said, 1, 3) == [Answer("D", 1, 3, matched=3)]


def test_refused_when_nobody_has_it() -> None:
    said = [("heron", refused(1, 2, "EXPIRED")), ("avalon", refused(1, 2))]
    assert verdicts(said, 1, 2) == [Answer("D", 1, 2, "EXPIRED", 0, FULL)]


def test_trial_D_who_was_given_up_without_a_word_may_have_it_whatever_others_say() -> None:
    said = [("avalon", refused(1, 2)), ("heron", Answer("D", 1, 2, "EXPIRED", 0, "too long"))]
    assert verdicts(said, 1, 2) == [Answer("D", 1, 2, "EXPIRED", 0, "too long")]


def test_what_only_some_have_is_neither_and_names_both() -> None:
    said = [("heron", took(1, 1)), ("avalon", refused(1, 1)), ("frodo", took(1, 1))]
    text = "heron, frodo accepted the message, but avalon refused: no room"
    assert verdicts(said, 1, 1) == [Answer("D", 1, 1, "PARTLY_REFUSED", 0, text)]


def test_it_is_cut_where_the_words_differ() -> None:
    said = [("heron", took(1, 6)), ("avalon", took(1, 2)), ("avalon", refused(3, 3)), ("avalon", took(4, 6))]
    words = [(a.first, a.last, a.state) for a in verdicts(said, 2, 5)]
    assert words == [(2, 2, "OK"), (3, 3, "PARTLY_REFUSED"), (4, 5, "OK")]


def test_the_last_word_counts_when_a_node_has_said_it_twice() -> None:
    said = [("heron", took(1, 4, 2)), ("avalon", took(1, 4)), ("heron", took(3, 4, 0))]
    assert [(a.first, a.last, a.matched) for a in verdicts(said, 1, 4)] == [(1, 2, 3), (3, 4, 1)]
