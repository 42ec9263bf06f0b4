"""Conflicts of two values: all sites keep the same one, in whatever order they arrive."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.model.conflicts import conflict_key
from mesh.patterns import matches
from mesh.routing.retained_value import wins
from mesh.values import LONGEST_KEY, check_key

VALUES = st.tuples(st.integers(0, 3), st.sampled_from(["HKG", "LON", "NYC"]))


@given(VALUES, VALUES)
def test_of_two_values_one_wins_unless_they_are_the_same(a: tuple[int, str], b: tuple[int, str]) -> None:
    assert wins(*a, *b) + wins(*b, *a) == (a != b)


@given(st.lists(VALUES, min_size=1, max_size=4, unique=True))
def test_the_same_value_stays_whatever_comes_first(values: list[tuple[int, str]]) -> None:
    stays = set()
    for order in permutations(values):
        kept = order[0]
        for value in order[1:]:
            kept = value if wins(*value, *kept) else kept
        stays.add(kept)
    assert len(stays) == 1


def test_the_newer_value_wins_and_of_two_as_new_that_of_the_later_name() -> None:
    assert wins(2, "LON", 1, "NYC")
    assert wins(1, "NYC", 1, "LON")
    assert not wins(1, "LON", 1, "LON")


@given(st.text("abc/é", min_size=1, max_size=LONGEST_KEY))
def test_the_value_that_lost_has_a_topic_that_is_one(key: str) -> None:
    found = conflict_key(key)
    assert check_key(found) == found
    assert matches("__sys__conflict/#", found)
    assert not matches("#", found)


@given(st.text("ab/+#@é", max_size=64), st.text("a/b", min_size=1, max_size=LONGEST_KEY))
def test_the_topic_says_in_which_domain_it_was_and_is_one_whatever_that_is(domain: str, key: str) -> None:
    found = conflict_key(key, domain)
    assert check_key(found) == found
    assert (found == conflict_key(key)) == (not domain)


def test_what_lost_in_a_domain_is_told_by_that() -> None:
    assert conflict_key("quote", "STOCK") == "__sys__conflict/quote@STOCK"
    assert conflict_key("quote", "a/#") != conflict_key("quote", "a/+")
    assert conflict_key("quote", "a/#").startswith("__sys__conflict/quote~")


def test_keys_that_differ_at_their_end_only_are_kept_apart() -> None:
    longest = "k" * (LONGEST_KEY - 1)
    one, other = conflict_key(longest + "a"), conflict_key(longest + "b")
    assert one != other
    assert len(one) == len(other) == LONGEST_KEY
    assert conflict_key("a/b") == "__sys__conflict/a/b"
    room = LONGEST_KEY - len("__sys__conflict/")
    assert conflict_key("k" * room) == "__sys__conflict/" + "k" * room
