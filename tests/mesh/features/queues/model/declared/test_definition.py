"""The terms of a queue: valid values are accepted, and others are refused by name."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, fields

from mesh.errors import BadArgument, LocalError, RemoteError
from mesh.features.queues.model.declared.definition import (
    MOST_ATTEMPTS,
    MOST_BYTES,
    MOST_COUNT,
    MOST_FIELDS,
    NODES,
    YEARS,
    QueueTerms,
    check_own,
    differences,
    packed,
    plain,
    same,
    terms_of,
    unpacked,
)
from mesh.wire.codec import pack, unpack
from tests.each import each

NAN, INF = float("nan"), float("inf")


class Text(str):
    """A subclass of str, like that of numpy."""


GOOD: dict[str, list[Any]] = {
    "scope": ["mesh", "node"],
    "distribution": ["local", "round_robin", "strict", "independent"],
    "redistribution": [None, 0, 1, 2.5, YEARS],
    "max_bytes": [1024, MOST_BYTES],
    "max_count": [1, MOST_COUNT],
    "when_full": ["block", "reject"],
    "max_attempts": [1, MOST_ATTEMPTS],
    "dead_letter": ["", "failed", "failed/orders", "queue/failed", "queue/" + "n" * 200, Text("failed")],
    "expiry": [None, 1e-9, 3600, YEARS],
    "nodes": [(), ["a"], ("a", "b"), {"a"}, [f"n{n}" for n in range(NODES)], [Text("a")]],
    "exclusive": [True, False],
    "policy": ["", "Mine", Text("Mine")],
}

NUMBERS: list[Any] = [
    None,
    "",
    "5",
    b"5",
    NAN,
    INF,
    -INF,
    -1,
    -0.5,
    2**63,
    10**5000,
    True,
    [],
    {},
    1j,
    "\ud800",
]
NAMES: list[Any] = [None, 5, True, b"a", "a b", "a/b", "n" * 65, "\ud800", "\0", "é", [], {}, NAN]
BAD: dict[str, list[Any]] = {
    "scope": ["", "Mesh", "nodes", None, 5, b"mesh", ["mesh"], "\ud800", "m" * 10**6],
    "distribution": ["", "robin", None, 5, [], "\ud800"],
    "redistribution": [x for x in NUMBERS if x is not None] + [YEARS + 1, 1e300],
    "max_bytes": [*NUMBERS, 0, 1023, MOST_BYTES + 1, 4096.0],
    "max_count": [*NUMBERS, 0, MOST_COUNT + 1, 1.0],
    "when_full": ["", "Block", None, True, 5],
    "max_attempts": [*NUMBERS, 0, MOST_ATTEMPTS + 1, 1.0],
    "dead_letter": [
        *(None, 5, b"a", [], "+", "a/#", "k" * 513, "\ud800", "a\nb", "\0"),
        *("queue/", "queue/+", "queue/queue/a", "queue/node/a", "queue/__sys__a", "queue/" + "n" * 201),
        *("__sys__deadMessage/a", "__sys__cluster.node.info[a]"),
    ],
    "expiry": [x for x in NUMBERS if x is not None] + [0, 0.0, YEARS + 1, 1e300],
    "nodes": ["a", b"a", None, 5, {"a": 1}, [""], [f"n{n}" for n in range(NODES + 1)], *([x] for x in NAMES)],
    "exclusive": [None, 0, 1, "", "True", [], NAN],
    "policy": [name for name in NAMES if name or not isinstance(name, str)],
}


def cases(of: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, values in of.items() for value in values]


def test_each_term_is_looked_at() -> None:
    names = {field.name for field in fields(QueueTerms)}
    assert set(GOOD) == set(BAD) == names


def test_without_a_word_they_are_as_usual() -> None:
    assert terms_of({}) == QueueTerms()
    assert terms_of(asdict(QueueTerms())) == QueueTerms(), "what is usual is allowed"


@each("case", cases(GOOD))
def test_what_may_be_is_taken_spread_and_read_again(case: tuple[str, Any]) -> None:
    name, value = case
    terms = terms_of({name: value})
    found = getattr(terms, name)
    assert found == (tuple(sorted(value)) if name == "nodes" else value)
    again = unpacked(packed(terms))
    assert again == terms and same(again, terms) and differences(again, terms) == []
    assert terms_of(plain(terms)) == terms and unpack(packed(terms)) == plain(terms)


@each("case", cases(BAD))
def test_what_cannot_be_is_refused_by_its_name(case: tuple[str, Any]) -> None:
    name, value = case
    with pytest.raises(BadArgument) as caught:
        terms_of({name: value})
    assert f"{name}=" in caught.value.what and caught.value.hint
    assert len(str(caught.value)) < 500
    str(caught.value).encode(errors="strict")


@pytest.mark.parametrize("value", [Decimal("2.5"), Fraction(5, 2)])
def test_numbers_of_other_kinds_are_written_down_as_plain_ones(value: Any) -> None:
    if isinstance(value, Fraction):
        assert type(terms_of({"expiry": value}).expiry) is float
    else:
        with pytest.raises(BadArgument, match="expiry"):  # Python does not count it as a Real
            terms_of({"expiry": value})


def test_who_is_near_hears_what_he_may_have_meant() -> None:
    slips: list[tuple[dict[str, Any], str]] = [
        ({"max_byte": 1}, "max_bytes"),
        ({"scope": "mush"}, "mesh"),
        ({"deadletter": ""}, "dead_letter"),
    ]
    for said, meant in slips:
        with pytest.raises(BadArgument, match="Did you mean") as caught:
            terms_of(said)
        assert meant in caught.value.hint


@pytest.mark.parametrize(
    "name", [5, None, "", "\ud800", "x" * 10**6, b"scope", ("a",)], ids=lambda n: repr(n)[:9]
)
def test_an_unknown_name_is_refused(name: Any) -> None:
    with pytest.raises(BadArgument, match="Unknown queue term"):
        terms_of({name: 1})


@pytest.mark.parametrize("said", [None, 5, "scope", [], [("scope", "mesh")]], ids=repr)
def test_terms_are_named(said: Any) -> None:
    with pytest.raises(BadArgument, match="by name"):
        terms_of(said)


def test_the_order_and_the_number_of_nodes_is_no_matter() -> None:
    assert terms_of({"nodes": ["b", "a", "b"]}) == terms_of({"nodes": ("a", "b")})


def test_no_queue_is_its_own_end() -> None:
    terms = terms_of({"dead_letter": "queue/orders"})
    check_own("failed", terms)
    with pytest.raises(BadArgument, match="itself"):
        check_own("orders", terms)


def test_each_difference_is_named_with_both_values() -> None:
    old = terms_of({"max_attempts": 8, "nodes": [f"n{n}" for n in range(9)]})
    new = terms_of({"max_attempts": 5, "expiry": 60, "nodes": ["a"]})
    assert differences(old, new) == [
        "max_attempts is 8, not 5",
        "expiry is None, not 60.0",
        "nodes is 9 nodes, not ('a',)",
    ]
    assert not same(old, new)


# --- rows of other nodes ------------------------------------------------------------------------------------


def test_what_a_later_release_adds_is_left_out() -> None:
    assert unpacked(pack({"max_attempts": 3, "mirrors": 2, "ttl": {"a": [1]}})) == QueueTerms(max_attempts=3)


@each(
    "data",
    [
        *(
            b"",
            b"\xc1",
            b"\x81",
            b"\x81\xa5scope",
            pack(None),
            pack([]),
            pack(5),
            pack("scope"),
            pack([["a", 1]]),
        ),
        *(pack({"scope": 5}), pack({"nodes": [[]]}), pack({"expiry": NAN}), pack({"max_bytes": -1})),
        *(pack({1: 2, "scope": "no"}), b"\x91" * 5000, b"\xdf\xff\xff\xff\xff", b"\x81\xa2\xff\xfe\x01"),
        *(pack({f"x{n}": n for n in range(MOST_FIELDS + 1)}), b"\x81\xa5scope\xd4\x01\x00"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(data: bytes) -> None:
    with pytest.raises((LocalError, RemoteError)):
        unpacked(data)


@given(st.binary(max_size=60))
def test_no_row_does_more_than_being_refused(data: bytes) -> None:
    with contextlib.suppress(LocalError, RemoteError):
        unpacked(data)


@given(
    st.dictionaries(
        st.sampled_from(sorted(GOOD)),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_whatever_is_said_is_taken_or_refused(said: dict[str, Any]) -> None:
    try:
        terms = terms_of(said)
    except BadArgument:
        return
    assert msgspec.convert(plain(terms), QueueTerms) == terms
    assert unpacked(packed(terms)) == terms
