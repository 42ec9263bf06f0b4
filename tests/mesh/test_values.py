"""Headers, ids, keys and domains: their laws, and the values that they refuse."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import BadKey, BadName
from mesh.values import (
    NO_HEADERS,
    Headers,
    Hop,
    Published,
    check_domain,
    check_key,
    message_id,
    parse_message_id,
)

PAIRS = st.lists(
    st.tuples(st.sampled_from(["a", "A", "b", "Content-Type", "content-type"]), st.text(max_size=3))
)
STREAM = bytes(range(16))


def test_a_header_is_found_in_any_spelling() -> None:
    headers = Headers({"Content-Type": "text/plain"})
    assert headers["content-TYPE"] == "text/plain"
    assert headers.get("CONTENT-TYPE") == "text/plain"
    assert "content-type" in headers


def test_one_name_may_have_several_values() -> None:
    headers = Headers([("Via", "heron"), ("x", "1"), ("VIA", "egret")])
    assert headers["via"] == "heron"
    assert headers.all("via") == ("heron", "egret")
    assert len(headers) == 3


def test_order_and_spelling_are_kept() -> None:
    pairs = [("Via", "heron"), ("x", "1"), ("VIA", "egret")]
    assert list(Headers(pairs).items()) == pairs
    assert repr(Headers(pairs)) == f"Headers({pairs})"


def test_a_header_that_is_not_there() -> None:
    headers = Headers({"a": "1"})
    assert headers.get("b") is None
    assert headers.get("b", "2") == "2"
    assert headers.all("b") == ()
    assert "b" not in headers
    with pytest.raises(KeyError, match="b"):
        headers["b"]


def test_an_empty_value_is_a_value() -> None:
    headers = Headers({"a": ""})
    assert headers["a"] == ""
    assert headers.get("a", "other") == ""
    assert "a" in headers


def test_headers_are_made_from_headers() -> None:
    headers = Headers([("a", "1"), ("A", "2")])
    assert list(Headers(headers).items()) == list(headers.items())


def test_no_headers_are_empty_and_false() -> None:
    assert not NO_HEADERS
    assert Headers() == Headers({}) == Headers([]) == NO_HEADERS
    assert list(NO_HEADERS.items()) == []


def test_equality_ignores_case_and_the_order_among_names_but_not_within_one() -> None:
    headers = Headers([("a", "1"), ("b", "2"), ("A", "3")])
    assert headers == Headers([("B", "2"), ("A", "1"), ("a", "3")])
    assert headers != Headers([("a", "3"), ("b", "2"), ("a", "1")])
    assert headers != Headers([("a", "1"), ("b", "2")])
    assert headers != Headers([("a", "1"), ("b", "2"), ("a", "X")])
    assert headers != [("a", "1"), ("b", "2"), ("A", "3")]


@given(PAIRS)
def test_equal_headers_have_equal_hashes(pairs: list[tuple[str, str]]) -> None:
    # A stable sort by name keeps the order of the values of each name.
    ordered = sorted(pairs, key=lambda pair: pair[0].lower())
    swapped = Headers((name.swapcase(), value) for name, value in ordered)
    assert Headers(pairs) == swapped
    assert hash(Headers(pairs)) == hash(swapped)


@given(PAIRS)
def test_headers_agree_with_a_plain_list(pairs: list[tuple[str, str]]) -> None:
    headers = Headers(pairs)
    assert list(headers.items()) == pairs
    for name in ("A", "B", "content-Type", "none"):
        values = tuple(value for key, value in pairs if key.lower() == name.lower())
        assert headers.all(name) == values
        assert headers.get(name, "-") == (values[0] if values else "-")
        assert (name in headers) == bool(values)


@pytest.mark.parametrize(
    "items",
    [
        {"a": 1},
        {"a": b"1"},
        {"a": None},
        {1: "a"},
        [("a", "1", "2")],
        [("a",)],
        ["ab"],
        "ab",
        [b"ab"],
        [None],
    ],
)
def test_anything_but_pairs_of_strings_is_refused(items: object) -> None:
    with pytest.raises(TypeError, match="A header is a pair of strings"):
        Headers(items)  # type: ignore[arg-type]


def test_headers_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        NO_HEADERS.more = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        NO_HEADERS["a"] = "1"  # type: ignore[index]


def test_a_publish_is_ok_only_when_the_master_has_it() -> None:
    assert Published("OK", "id", 2).ok
    assert not Published("FORWARD_WARNING", "id", 0).ok


def test_hops_compare_as_values() -> None:
    assert Hop("heron", 0, 1_700_000_000_000_000_000) == Hop("heron", 0, 1_700_000_000_000_000_000)


def test_a_message_id_names_the_domain_only_if_there_is_one() -> None:
    assert message_id(STREAM, "", 7) == "000102030405060708090a0b0c0d0e0f:7"
    assert message_id(STREAM, "RUGBY", 7) == "000102030405060708090a0b0c0d0e0f/RUGBY:7"


@given(st.binary(min_size=16, max_size=16), st.text(max_size=20), st.integers(1, 2**63 - 1))
def test_a_message_id_survives_being_written_and_read(stream: bytes, domain: str, number: int) -> None:
    assert parse_message_id(message_id(stream, domain, number)) == (stream, domain, number)


@pytest.mark.parametrize(
    "text",
    ["", "7", ":7", STREAM.hex(), f"{STREAM.hex()}:", f"{STREAM.hex()}:0", f"{STREAM.hex()}:07",
     f"{STREAM.hex()}:-7", f"{STREAM.hex()}/:7", f"{STREAM.hex()}7:7", f"{STREAM.hex().upper()}:7",
     f"{STREAM.hex()}:7\n", f"{STREAM.hex()}:٣", f"{STREAM.hex()}:{'9' * 5_000}", "x" * 10_000],
)  # fmt: skip
def test_what_is_no_message_id_is_refused(text: str) -> None:
    with pytest.raises(BadName, match="is not a message id") as caught:
        parse_message_id(text)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "key", ["a", "sensors/kitchen/temp", "a b", "Füße/温度", "a+", "+a/b", "c#", "/", "a//b", "x" * 512]
)
def test_a_good_key_is_handed_back(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "x" * 513, "a\nb", "a\0", "\x7f", "a\x85", "a\ud800", "\udfff"])
def test_a_key_that_is_empty_too_long_or_unprintable_is_refused(key: str) -> None:
    with pytest.raises(BadKey) as caught:
        check_key(key)
    assert caught.value.hint
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("key", ["+", "#", "a/+", "a/#", "+/a", "#/a", "a/+/b", "a/#/b", "a+/+"])
def test_a_wildcard_as_a_whole_level_points_to_pattern(key: str) -> None:
    with pytest.raises(BadKey, match="subscribe to a pattern"):
        check_key(key)


@pytest.mark.parametrize("domain", ["", "*", "RUGBY", "a/b:c", "x" * 256])
def test_a_good_domain_is_handed_back(domain: str) -> None:
    assert check_domain(domain) == domain


@pytest.mark.parametrize("domain", ["x" * 257, "a\n", "\ud800"])
def test_a_domain_that_is_too_long_or_unprintable_is_refused(domain: str) -> None:
    with pytest.raises(BadKey, match="domain"):
        check_domain(domain)


@pytest.mark.parametrize("domain", [None, 1, b"x", ["x"], {}, ("x",)])
def test_trial_B1_a_domain_that_is_no_text_is_refused_by_name(domain: Any) -> None:
    for _ in range(2):  # a second call is refused, too
        with pytest.raises(BadKey, match="domain must be a str"):
            check_domain(domain)


def test_headers_can_be_gone_through_and_made_a_dict_of_first_values() -> None:
    headers = Headers([("Kind", "a"), ("size", "1"), ("KIND", "b")])
    assert list(headers) == ["Kind", "size"]
    assert dict(headers) == {"Kind": "a", "size": "1"}
