"""Selectors: the same results as Python's, and refusals of all else."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mesh.errors import BadSelector, LocalError
from mesh.features.queues.model.selecting.selector import DEEPEST, LONGEST, Selector
from mesh.values import NO_HEADERS, Headers
from tests.each import each

SOME = {"region": "eu", "size": "12", "ratio": "-0.5", "x-y": "7", "empty": "", "Kind": "Order"}


def wants(text: str, **more: str) -> bool:
    return Selector(text).wants("orders/new", 5, Headers({**SOME, **more}))


@each(
    "text",
    [
        'region == "eu"',
        "region == 'eu' and priority == 5",
        'key == "orders/new"',
        'like(key, "orders/%")',
        'like(key, "%/n_w") and not like(key, "n%")',
        'region in ("us", "eu")',
        'region in ["us", "eu"]',
        'region not in ("us", "asia")',
        '"e" in region',
        '"us" not in region',
        '"eu" in (region, kind)',
        "nothing is None",
        "region is not None",
        "nothing == None",
        "1 < priority <= 5 < 6",
        'nothing != "eu"',
        "region",
        'kind == "Order"',
        'KIND == "Order"',
        'headers["x-y"] == 7',
        'headers["x-y"] == "7"',
        "size == 12",
        'size == "12"',
        "size > 9",
        "9 < size",
        'size < "9"',
        "ratio == -0.5",
        "size in (1, 12)",
        '(nothing or "eu") == region',
        "(nothing or size) > 9",
        "priority == 5.0",
        "  priority == 5  ",
        "True",
        "not nothing",
        'region == "eu" or nothing > 1',
    ],
)
def test_it_wants_that(text: str) -> None:
    assert wants(text) is True


@each(
    "text",
    [
        'region == "EU"',
        "nothing",
        "empty",
        "nothing > 5",
        "nothing < 5",
        "None < 5",
        "region < 5 or region >= 5 or region == 5",
        'priority < "9" or priority > "1" or priority == "5"',
        '"eu" in nothing',
        '"eu" not in nothing',
        "5 in priority or 5 not in priority",
        "5 in region or 5 not in region",
        'like(nothing, "%")',
        'like(priority, "%")',
        "key > 5 or key < 5",
        "size == True",
        "nothing is not None",
        "0",
        '""',
        "5 < priority < 9",
        "region in ()",
        '"12" == 12',
        "nothing in (1, 2)",
    ],
)
def test_it_does_not_want_that(text: str) -> None:
    assert wants(text) is False


def test_a_header_that_spells_a_number_is_no_truth() -> None:
    assert not wants("one == True or one in (True, False)", one="1")
    assert wants("one == 1 and one in (True, 1)", one="1")


def test_a_header_comes_before_what_all_messages_have() -> None:
    assert wants('key == "mine" and priority == 9', key="mine", priority="9")
    assert not Selector("priority == 9").wants("k", 5, NO_HEADERS)


@each("spelt", ["1e3", "0x10", "1_000", "nan", "inf", " 7", "٣", "7" * 5000, "--1", "1.", ""])
def test_a_header_that_spells_no_plain_number_is_no_number(spelt: str) -> None:
    assert not wants("n < 1 or n == 1 or n > 1 or n >= 1", n=spelt)


# --- what is refused ----------------------------------------------------------------------------------------

CANNOT: dict[str, tuple[str, int]] = {  # with the character that the error names
    "region = 'eu'": ("==", 8),
    "a && b": ("and, or", 3),
    "a.b == 1": ("attributes", 2),
    "1 + 1 == 2": ("Arithmetic", 3),
    "9**9**9**9": ("Arithmetic", 2),
    "9 - 9 == 0": ("comparisons", 1),
    "-region == 1": ("comparisons", 1),
    "-True": ("", 1),
    'f"{region}"': ("", 1),
    'b"eu" == region': ("", 1),
    "(x := 5)": ("", 4),
    "len(region) == 2": ("like", 1),
    "like(region)": ("%", 1),
    "like(region, size)": ("%", 1),
    "like(*region)": ("", 6),
    'like(region, pattern="a")': ("", 21),
    "region is 5": ("==", 1),
    "a == 1 is region": ("==", 6),
    "__import__": ("", 1),
    "a == __class__": ("", 6),
    "(a, b)": ("", 1),
    "[a]": ("", 1),
    "[a for a in b]": ("", 1),
    "a if b else c": ("", 1),
    "headers[0]": ("", 1),
    "region[0]": ("", 1),
    "region['a']": ("", 1),
    "a in ((1, 2), 3)": ("", 7),
    r'a == "\d"': ("backslash", 6),
    'a == """b"""': ("quotation", 6),
    'a == "b': ("quotation", 6),
    "a == 1or b": ("", 6),
    "1e999 > 1": ("", 1),
    "a; b": ("", 2),
    "a #": ("", 3),
    "a ==": ("", 5),
    "a == == b": ("", 6),
    'grün == "x" and (1, 2)': ("", 17),
    '  a == "ä" and [b]': ("", 16),
    "lambda": ("", 7),
    'grün == "ä" b': ("", 13),
    "(yield)": ("", 2),
    "await a": ("", 1),
    "a in": ("", 5),
    "01 == a": ("", 1),
}


@each("text", CANNOT)
def test_what_is_no_selector_is_refused_with_the_place_and_what_to_do(text: str) -> None:
    hint, place = CANNOT[text]
    with pytest.raises(BadSelector) as caught:
        Selector(text)
    assert caught.value.code == "BAD_SELECTOR" and isinstance(caught.value, LocalError)
    assert f"at character {place}:" in str(caught.value)
    assert hint in caught.value.hint and caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "1" * 10**6,
        "(" * 10**6,
        "(" * 128 + ")" * 128,
        "(" * LONGEST,
        "not " * 63 + "a",
        "-" * 250 + "1",
        "[" * 128 + "]" * 128,
        "a\0",
        "a\nb",
        "\ud800",
        "a == '\udfff'",
        "\u202e",
        "²",
        None,
        5,
        b"a == 1",
        ["a"],
        float("nan"),
    ],
    ids=lambda text: repr(text)[:20],
)
def test_hostile_texts_are_refused(text: Any) -> None:
    with pytest.raises(BadSelector) as caught:
        Selector(text)
    assert len(str(caught.value)) < 700


def test_what_is_long_or_deep_is_taken_up_to_its_bound() -> None:
    text = "a == 1"
    assert Selector(text.ljust(LONGEST)).wants("k", 5, Headers({"a": "1"}))
    with pytest.raises(BadSelector):
        Selector(text.ljust(LONGEST + 1))
    assert Selector("not " * (DEEPEST - 2) + "not a").text.count("not") == DEEPEST - 1
    with pytest.raises(BadSelector, match="deeper"):
        Selector("not " * DEEPEST + "a")
    with pytest.raises(BadSelector, match="deeper"):
        Selector("a < (" * DEEPEST + "a" + ")" * DEEPEST)
    wide = " or ".join(["a"] * 50)
    assert not Selector(wide).wants("k", 5, NO_HEADERS), "wide is not deep"
    assert Selector("(" * 100 + "a" + ")" * 100).wants("k", 5, Headers({"a": "x"})), "nor are brackets"


@given(st.text("abz01.'\"()[]=<>!-,\\ #:{}_é\n\t", max_size=40) | st.text(max_size=40))
@example("1in a")
@example("'\\d'")
@example('"""\'"""1or"\'"')
def test_any_text_is_taken_or_refused_without_a_word_on_the_terminal(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            selector = Selector(text)
        except BadSelector:
            return
    assert selector.wants("a", 5, Headers({"a": "1"})) in (True, False)


def test_two_are_equal_by_their_text() -> None:
    one, same, other = Selector("a == 1"), Selector("a == 1"), Selector("a ==  1")
    assert one == same and hash(one) == hash(same) and one != other and one != "a == 1"
    assert len({one, same, other}) == 2 and repr(one) == "Selector('a == 1')"


# --- beside Python ------------------------------------------------------------------------------------------

NAMES = ("region", "zone", "nothing", "key", "priority")
TEXTS = ("eu", "us", "", "e")
VALUES = st.sampled_from([*NAMES, *map(repr, TEXTS), "5", "-3", "2.5", "0", "None", "True"])
OPS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    some = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds(lambda op, each: "(" + f" {op} ".join(each) + ")", st.sampled_from(["and", "or"]), some),
        st.builds("(not {})".format, inner),
        st.builds("({} {} {})".format, inner, OPS, inner),
        st.builds("({} {} {} {} {})".format, VALUES, OPS, VALUES, OPS, VALUES),
        st.builds("({} {} ({}, {}))".format, inner, st.sampled_from(["in", "not in"]), VALUES, VALUES),
        st.builds("({} {} {})".format, VALUES, st.sampled_from(["in", "not in"]), VALUES),
        st.builds("({} {} None)".format, inner, st.sampled_from(["is", "is not"])),
    )


@given(
    st.recursive(VALUES, larger, max_leaves=6),
    st.dictionaries(st.sampled_from(["region", "zone"]), st.sampled_from(TEXTS)),
    st.integers(0, 9),
)
def test_it_means_what_python_means(text: str, headers: dict[str, str], priority: int) -> None:
    try:
        selector = Selector(text)
    except BadSelector as error:
        assert len(text) > LONGEST or "deeper" in error.what
        return
    names = {"region": None, "zone": None, "nothing": None, "key": "eu", "priority": priority, **headers}
    found = selector.wants("eu", priority, Headers(headers))
    try:
        with warnings.catch_warnings(action="ignore"):  # about comparing a literal with None
            expected = eval(text, {"__builtins__": {}}, names)
    except TypeError:  # text against a number: False in a selector
        assert found in (True, False)
    else:
        assert found is bool(expected)
