"""Topic patterns: the trie finds exactly the patterns that match on their own."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import BadPattern, BadQuery
from mesh.patterns import Trie, check_meant, check_pattern, matches, may_share, meant

# There are few different levels, so that patterns and keys often match. An empty level is a level.
LEVELS = ["a", "b", ""]
KEYS = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4).map("/".join)
BEFORE = st.lists(st.sampled_from([*LEVELS, "+"]), max_size=4)
PATTERNS = st.tuples(BEFORE, st.sampled_from(["a", "", "+", "#"])).map(
    lambda both: "/".join([*both[0], both[1]])
)
CHANGES = st.lists(st.tuples(st.booleans(), PATTERNS | KEYS, st.integers(0, 3)), max_size=30)


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("sensors/temp", "sensors/temp", True),
        ("sensors/temp", "sensors", False),
        ("sensors", "sensors/temp", False),
        ("sensors/#", "sensors", True),
        ("sensors/#", "sensors/temp", True),
        ("sensors/#", "sensors/kitchen/temp", True),
        ("sensors/#", "sensors/", True),
        ("sensors/#", "sensor", False),
        ("sensors/#", "sensorsX/temp", False),
        ("#", "a", True),
        ("#", "a/b/c", True),
        ("+", "a", True),
        ("+", "a/b", False),
        ("+/temp", "kitchen/temp", True),
        ("sensors/+", "sensors", False),
        ("sensors/+", "sensors/", True),
        ("sensors/+/temp", "sensors/kitchen/temp", True),
        ("sensors/+/temp", "sensors/a/b/temp", False),
        ("sensors/+/temp", "sensors/kitchen/hum", False),
        ("+/+/#", "a", False),
        ("+/+/#", "a/b", True),
        ("a+", "a+", True),
    ],
)
def test_what_a_pattern_matches(pattern: str, key: str, expected: bool) -> None:
    trie: Trie[str] = Trie()
    trie.add(pattern, "it")
    assert matches(pattern, key) is expected
    assert trie.match(key) == ({"it"} if expected else set())


@given(CHANGES, KEYS)
def test_the_trie_agrees_with_each_pattern_alone(changes: list[tuple[bool, str, int]], key: str) -> None:
    trie: Trie[int] = Trie()
    held: set[tuple[str, int]] = set()
    for adding, pattern, value in changes:
        (trie.add if adding else trie.discard)(pattern, value)
        (held.add if adding else held.discard)((pattern, value))
    assert trie.match(key) == {value for pattern, value in held if matches(pattern, key)}


@given(CHANGES)
def test_memory_goes_back_when_all_is_discarded(changes: list[tuple[bool, str, int]]) -> None:
    trie: Trie[int] = Trie()
    for _, pattern, value in changes:
        trie.add(pattern, value)
    for _, pattern, value in changes:
        trie.discard(pattern, value)
    assert trie._exact == {}
    assert trie._root.below == {}


def test_what_others_need_stays_when_one_is_discarded() -> None:
    trie: Trie[int] = Trie()
    trie.add("a/+/c", 1)
    trie.add("a/+/c/#", 2)
    trie.add("a/+/c", 3)
    trie.discard("a/+/c", 1)
    assert trie.match("a/b/c") == {2, 3}
    trie.discard("a/+/c/#", 2)
    assert trie.match("a/b/c") == {3}


def test_discarding_what_is_not_there_changes_nothing() -> None:
    trie: Trie[int] = Trie()
    trie.add("a/b/#", 1)
    trie.add("a", 1)
    for pattern in ("a/b", "a/+", "a/b/#", "x", "a/b/c/d", "#"):
        trie.discard(pattern, 2)
    assert trie.match("a/b") == {1}
    assert trie.match("a") == {1}


def test_the_answer_belongs_to_the_caller() -> None:
    trie: Trie[int] = Trie()
    trie.add("a", 1)
    trie.match("a").add(2)
    assert trie.match("a") == {1}


def test_the_deepest_key_and_pattern_are_no_trouble() -> None:
    deep_key = "/" * 511
    trie: Trie[int] = Trie()
    trie.add("/" * 510 + "#", 1)
    trie.add("+/" * 255 + "+", 2)
    trie.add("+/" * 255 + "#", 3)
    assert trie.match(deep_key) == {1, 3}
    assert trie.match("/" * 255) == {2, 3}
    for pattern, value in (("/" * 510 + "#", 1), ("+/" * 255 + "+", 2), ("+/" * 255 + "#", 3)):
        trie.discard(pattern, value)
    assert trie._root.below == {}


def test_many_wildcards_look_at_each_node_at_most_once() -> None:
    # These are all 2**10 patterns of `a` and `+` with an open end, and every one of them matches.
    trie: Trie[str] = Trie()
    patterns = [
        "/".join("+" if number >> place & 1 else "a" for place in range(10)) + "/#" for number in range(1024)
    ]
    for pattern in patterns:
        trie.add(pattern, pattern)
    assert trie.match("/".join("a" * 256)) == set(patterns)


@pytest.mark.parametrize("pattern", ["#", "+", "a", "a/b", "a/+/b", "+/+/#", "a/#", "/", "a//+", "x" * 512])
def test_a_good_pattern_is_handed_back(pattern: str) -> None:
    assert check_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "because"),
    [
        ("", "empty"),
        ("a/#/b", "continues after '#'"),
        ("#/", "continues after '#'"),
        ("#/#", "continues after '#'"),
        ("a+", "within the level 'a\\+'"),
        ("a/b+c/d", "within the level"),
        ("a#", "within the level"),
        ("a/##", "within the level"),
        ("++", "within the level"),
        ("x" * 513, "513 characters"),
        ("a\n", "position 1"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str, because: str) -> None:
    with pytest.raises(BadQuery, match=because) as caught:
        check_pattern(pattern)
    assert caught.value.hint


def test_wildcards_of_other_systems_are_answered_with_the_pattern_that_is_meant() -> None:
    wanted = {
        "a/*": "a/+", "a/**": "a/#", "a/>": "a/#", "a.*": "a/+", "a.>": "a/#", "*": "+", "**": "#", ">": "#",
        "a/*/b": "a/+/b", "a/**/b": "a/#", "a.b.*": "a/b/+",
    }  # fmt: skip
    assert {text: meant(text) for text in wanted} == wanted
    for text in ("a/+", "a/#", "a", "a.b", "a*/b", "x > y", "2*3", "a/b.*c", "a/+/b*c", ""):
        assert meant(text) == "", text
        check_meant(text)
    with pytest.raises(BadPattern, match=r"Write it as 'a/\+'"):
        check_meant("a/*")
    check_meant("__sys__x/*")


def test_two_patterns_share_a_key_if_some_key_matches_both() -> None:
    levels = ("a", "b", "+", "#")
    patterns = ["/".join(p) for n in (1, 2, 3) for p in product(levels, repeat=n) if "#" not in p[:-1]]
    keys = ["/".join(k) for n in (1, 2, 3, 4) for k in product("abc", repeat=n)]
    found = {p: {key for key in keys if matches(p, key)} for p in patterns}
    wrong = [(p, q) for p in patterns for q in patterns if may_share(p, q) is not bool(found[p] & found[q])]
    assert wrong == []
    assert not may_share("#", "__sys__x/#") and may_share("__sys__x/#", "__sys__x/y")
