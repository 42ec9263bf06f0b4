"""Properties of a message: they survive a round trip, and malformed ones are refused."""

from contextlib import suppress

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import MessageTooLarge, RemoteError
from mesh.values import Headers
from mesh.wire.limits import CONTROL_FRAME
from mesh.wire.properties import NO_PROPERTIES, TEXT_ONLY, Properties, decode_properties, encode_properties

texts = st.text(max_size=20)
properties = st.builds(
    Properties,
    st.lists(st.tuples(texts, texts), max_size=5).map(Headers),
    st.integers(0, 2**63 - 1),
    st.integers(0, 9),
    texts,
    texts,
    st.booleans(),
)


@given(properties)
def test_what_was_encoded_comes_back(p: Properties) -> None:
    back = decode_properties(encode_properties(p))
    assert back == p
    assert list(back.headers.items()) == list(p.headers.items())


def test_the_usual_message_has_none_and_they_take_no_byte() -> None:
    assert encode_properties(NO_PROPERTIES) == b"" and decode_properties(b"") is NO_PROPERTIES


def test_a_text_is_marked_behind_what_each_release_reads() -> None:
    assert encode_properties(Properties(is_text=True)) == TEXT_ONLY
    assert msgpack.unpackb(TEXT_ONLY) == [[], 0, 5, "", "", True]
    assert msgpack.unpackb(encode_properties(Properties(priority=4))) == [[], 0, 4, ""]
    assert msgpack.unpackb(encode_properties(Properties(code="NO"))) == [[], 0, 5, "", "NO"]


def test_a_field_of_a_later_release_is_passed_over_and_one_left_out_has_its_default() -> None:
    assert decode_properties(msgpack.packb([[], 7, 3, "r", "NO", True, "later"])) == Properties(
        Headers(), 7, 3, "r", "NO", True
    )
    assert decode_properties(msgpack.packb([[("a", "b")]])) == Properties(Headers([("a", "b")]))


@pytest.mark.parametrize(
    "value",
    [
        None, 1, {}, "text", [None], [{"a": "b"}], [[["a"]]], [[["a", "b", "c"]]], [[["a", 1]]],
        [[[b"a", "b"]]],
        [[], -1], [[], 1.5], [[], "1"], [[], 0, 10], [[], 0, -1], [[], 0, None], [[], 0, 5, b"r"],
        [[], 0, 5, "", b"NO"], [[], 0, 5, "", "N" * 65],
        [[], 0, 5, "", "", 1],
    ],
)  # fmt: skip
def test_anything_else_is_malformed(value: object) -> None:
    with pytest.raises(RemoteError) as error:
        decode_properties(msgpack.packb(value))
    assert error.value.code == "MALFORMED"


@given(st.binary(min_size=1, max_size=40))
def test_random_bytes_are_properties_or_refused(data: bytes) -> None:
    with suppress(RemoteError):
        decode_properties(data)


def test_headers_above_64_kib_are_refused_before_anything_is_sent() -> None:
    most = Properties(Headers([("a", "b" * (CONTROL_FRAME - 14))]))
    assert decode_properties(encode_properties(most)) == most
    with pytest.raises(MessageTooLarge, match="into the content"):
        encode_properties(Properties(Headers([("a", "b" * CONTROL_FRAME)])))
    many = Properties(Headers([("", "")] * 20_000))
    assert decode_properties(encode_properties(many)) == many
