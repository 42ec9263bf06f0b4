"""How values become bytes, and which values no codec accepts."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mesh
from mesh.client.codecs import CODECS, JSON, encoded
from mesh.client.reading import reader_of
from mesh.errors import BadArgument, BadContent, BadType
from tests.mesh.client.contents import Model, Reading, Reversed, Struct, message, read

TEXT = st.text(st.characters(exclude_categories=["Cs"]))  # without lone surrogates

ABLE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)  # fmt: skip


@given(ABLE, st.sampled_from(sorted(CODECS)))
def test_what_json_can_say_comes_back_as_it_was(value: Any, name: str) -> None:
    codec = CODECS[name]
    assert message(encoded(value, codec), codec.content_type).value == value


VALUES: list[tuple[Any, Any]] = [
    (Reading(21.5), Reading),
    (Struct(datetime(2026, 11, 22, tzinfo=UTC), [Reading(1), Reading(2, "attic")]), Struct),
    ({"a": [Reading(1)]}, dict[str, list[Reading]]),
    (None, Reading | None),
    (2**64 - 1, int),
]


@pytest.mark.parametrize("name", sorted(CODECS))
@pytest.mark.parametrize(("value", "wanted"), VALUES, ids=str)
def test_a_value_comes_back_as_its_type(value: Any, wanted: Any, name: str) -> None:
    codec = CODECS[name]
    assert read(encoded(value, codec), codec.content_type, wanted) == value


@pytest.mark.parametrize("name", sorted(CODECS))
def test_a_pydantic_model_goes_and_comes_also_within_others(name: str) -> None:
    codec = CODECS[name]
    assert read(encoded(Model(1.5), codec), codec.content_type, Model).t == 1.5
    assert read(encoded([Model(1.5)], codec), codec.content_type, list[Model])[0].t == 1.5
    with pytest.raises(BadContent, match="valid number") as caught:
        read(encoded([{"t": 1.5}, {}], codec), codec.content_type, list[Model])
    assert caught.value.place == "$[1].rooms[2].t"


class Whole(int):
    def __str__(self) -> str:
        return "seven"


class Number(float): ...


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "other"


class Raw(bytes): ...


class Scalar:
    """A number of numpy, as code sees it that does not import numpy."""

    def __init__(self, kind: str, value: Any, shape: tuple[int, ...] = ()) -> None:
        self.dtype, self.value, self.shape = SimpleNamespace(kind=kind), value, shape

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)


@pytest.mark.parametrize("name", sorted(CODECS))
def test_subclasses_of_plain_types_and_numbers_of_numpy_are_written_as_the_plain_ones(name: str) -> None:
    several = [Whole(7), Number(1.5), Text("warm"), *(Scalar(kind, 7) for kind in "biuf")]
    plain = [7, 1.5, "warm", True, 7, 7, 7.0]
    for value, wanted in [(several, plain), *zip(several, plain, strict=True)]:
        assert encoded({"a": value}, CODECS[name]) == encoded({"a": wanted}, CODECS[name])
    assert encoded([Raw(b"x")], CODECS[name]) == encoded([b"x"], CODECS[name])


@pytest.mark.parametrize("value", [*(Scalar(kind, 5) for kind in "mMcO"), Scalar("i", 5, (1,)), Scalar])
def test_times_complex_numbers_and_arrays_of_numpy_are_refused_by_name(value: Any) -> None:
    with pytest.raises(BadType, match=f"no encoder is known for a {type(value).__name__}"):
        encoded({"a": value}, JSON)


def test_a_number_of_numpy_that_is_not_finite_is_none_of_json() -> None:
    for number in (Number("nan"), Scalar("f", math.inf)):
        with pytest.raises(BadArgument, match="not JSON compliant"):
            encoded([number], JSON)


@pytest.mark.parametrize("key", [None, True, (1, 2)])
def test_what_cannot_be_a_key_of_a_dict_is_not_said_to_be_unknown(key: Any) -> None:
    with pytest.raises(BadType, match="cannot be the key of a dict"):
        encoded({key: 1}, CODECS["json"])


def test_nan_and_what_only_looks_like_it() -> None:
    assert encoded([None, "nan", "-inf", "null"], JSON) == b'[null,"nan","-inf","null"]'
    assert math.isnan(read(encoded(math.nan, CODECS["msgpack"]), "application/msgpack", float))
    with pytest.raises(BadArgument, match="64"):
        encoded(2**70, CODECS["msgpack"])


class Wrong:
    """A codec that raises `how`. If that is no exception, `encode` returns it."""

    content_type = "application/x-wrong"

    def __init__(self, how: Any) -> None:
        self.how = how

    def encode(self, value: Any, /) -> Any:
        if isinstance(self.how, Exception):
            raise self.how
        return self.how

    def decode(self, content: bytes, type: Any, /) -> Any:
        raise self.how


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), ZeroDivisionError(), TypeError("no")])
def test_whatever_a_codec_of_ones_own_raises_is_told_in_words_of_ours(error: Exception) -> None:
    codec = Wrong(error)
    with pytest.raises(BadArgument):
        encoded(1, codec)
    with pytest.raises(BadContent) as caught:
        read(b"x", codec.content_type, None, codec)
    assert caught.value.__cause__ is error
    with pytest.raises(MemoryError):
        read(b"x", codec.content_type, None, Wrong(MemoryError()))
    with pytest.raises(BadType, match="as str instead of bytes"):
        encoded(1, Wrong("text"))


def test_a_codec_of_ones_own_reads_its_content_type_and_leaves_the_others() -> None:
    codec = Reversed()
    assert read(b"olleh", "text/x-reversed", None, codec) == "hello"
    assert read(b"[1]", "application/json", None, codec) == [1]
    assert read(b"olleh", None, None, codec) == b"olleh" and reader_of(JSON, None) is None
    assert reader_of(codec, None) is not None, "messages by themselves know nothing of it"


@pytest.mark.parametrize("codec", ["yaml", "", None, 5, Reversed, object(), Model(1), "JSON"])
def test_what_is_no_codec_is_refused_where_it_is_given(codec: Any) -> None:
    with pytest.raises(BadArgument, match="codec="):
        mesh.connect(codec=codec)
    with pytest.raises(BadArgument, match="codec="):
        mesh.sync.connect(codec=codec)


@pytest.mark.parametrize("name", ["", " ; ", "a\nb", "a\ud800", "x" * 200])
def test_a_codec_has_a_content_type_that_can_be_a_header(name: str) -> None:
    codec = Reversed()
    codec.content_type = name
    with pytest.raises(BadArgument, match="content_type"):
        mesh.connect(codec=codec)
