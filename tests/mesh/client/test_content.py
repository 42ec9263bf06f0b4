"""What does a content say to its reader? Values by codecs, and what is wrong with what others sent."""

from __future__ import annotations

import asyncio
import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mesh
from mesh.client.codecs import CODECS, JSON, encoded
from mesh.client.message import Batch, Message, TypedBatch
from mesh.client.reading import UNTYPED, ContentReader, reader_of
from mesh.errors import BadArgument, BadContent, BadType, MeshError
from mesh.values import Headers
from mesh.wire.envelope import ERASED, Envelope
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.client.wired import Wired, story, turns
from tests.mesh.envelopes import envelope
from tests.mesh.meshes import in_memory, take


@dataclass
class Reading:
    t: float
    room: str = "hall"


class Struct(msgspec.Struct):
    at: datetime
    readings: list[Reading]


class Invalid(ValueError):
    """As pydantic's error is asked for what is wrong."""

    def errors(self) -> list[dict[str, Any]]:
        return [{"loc": ("rooms", 2, "t"), "msg": "Input should be a valid number"}]


class Model:
    """What a pydantic model is to us; that need not be installed."""

    def __init__(self, t: float) -> None:
        self.t = t

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        assert (mode, by_alias) == ("json", True)
        return {"t": self.t}

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        if not isinstance(value, dict) or not isinstance(value.get("t"), float):
            raise Invalid
        return cls(value["t"])


class Reversed:
    """A codec of one's own: text, from behind."""

    content_type = "text/x-reversed"

    def encode(self, value: Any, /) -> bytes:
        return str(value)[::-1].encode()

    def decode(self, content: bytes, type: Any, /) -> Any:
        if not content:
            raise ZeroDivisionError
        return content.decode()[::-1]


def message(content: bytes, content_type: str | None = None, flags: int = 0) -> Message:
    headers = Headers() if content_type is None else Headers([("Content-Type", content_type)])
    props = encode_properties(Properties(headers))
    whole = msgspec.structs.replace(
        envelope("a/1", [props + content], flags=flags), props=len(props), sender="/node/heron/client/joe"
    )
    return Batch(whole)[0]


def read(content: bytes, content_type: str | None, wanted: Any, codec: Any = JSON) -> Any:
    batch = Batch(message(content, content_type)._envelope)
    return TypedBatch[Any](batch, ContentReader(codec, wanted))[0].value


def sent(it: Wired) -> list[Envelope]:
    it.client._core.publisher.seal()
    it.client._shell.hurry()
    return it.sent


# --- bytes and text -------------------------------------------------------------------------------------


@story
async def test_bytes_and_text_are_left_as_they_are_and_get_no_header(it: Wired) -> None:
    for content in (b"1", "2", bytearray(b"3"), memoryview(b"4")):
        it.client.post("k", content, codec="msgpack")
    [whole] = sent(it)
    assert (whole.contents(), whole.props) == ([b"1", b"2", b"3", b"4"], 0)


def test_without_a_content_type_it_is_bytes_or_text_or_what_the_codec_reads() -> None:
    assert message(b"21.5").value == b"21.5"
    assert read(b"21.5", None, bytes) == b"21.5"
    assert read(b"21.5", None, str) == "21.5"
    assert read(b"21.5", None, float) == 21.5
    assert read(msgspec.msgpack.encode({"t": 2}), None, Reading, CODECS["msgpack"]) == Reading(2)


def test_a_message_is_read_as_text_and_as_json_whatever_its_type() -> None:
    m = message('{"t": "21 °C"}'.encode(), "image/png")
    assert (m.text, m.json()) == ('{"t": "21 °C"}', {"t": "21 °C"})
    with pytest.raises(BadContent, match="a/1 from /node/heron/client/joe"):
        _ = message(b"\xff").text
    for wrong in (b"", b"{", b"NaN", b"1e999", b'"\\ud800"', b"[" * 100_000, b"\xff", b"1" * 5000):
        with pytest.raises(BadContent):
            message(wrong).json()


# --- there and back -------------------------------------------------------------------------------------

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


@story
async def test_a_value_says_what_it_is_beside_the_headers_of_its_publisher(it: Wired) -> None:
    it.client.post("k", {"t": 1}, headers={"Mood": "fine"})
    it.client.post("k", Reading(2), codec="msgpack")
    it.client.post("k", b"3")
    it.client.post("k", [4], codec=Reversed(), headers={"a": "b"})
    found = list(Batch(sent(it)[0]))
    assert [m.headers.get("content-type") for m in found] == [
        "application/json",
        "application/msgpack",
        None,
        "text/x-reversed",
    ]
    assert [m.value for m in found[:3]] == [{"t": 1}, {"t": 2.0, "room": "hall"}, b"3"]
    assert (found[0].headers["mood"], found[3].headers["a"], found[3].content) == ("fine", "b", b"]4[")


@story
async def test_a_value_is_encoded_when_it_is_posted(it: Wired) -> None:
    value = {"t": 1}
    it.client.post("k", value)
    value["t"] = 2
    assert Batch(sent(it)[0])[0].value == {"t": 1}


@story
async def test_a_header_of_ones_own_may_say_it_more_exactly_and_nothing_else(it: Wired) -> None:
    it.client.post("k", {"t": 1}, headers={"content-type": "Application/JSON; charset=utf-8"})
    with pytest.raises(BadArgument, match="image/png"):
        it.client.post("k", {"t": 1}, headers={"Content-Type": "image/png"})
    [m] = Batch(sent(it)[0])
    assert (m.value, m.headers.all("content-type")) == ({"t": 1}, ("Application/JSON; charset=utf-8",))


# --- what no codec takes --------------------------------------------------------------------------------


def in_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED: list[tuple[Any, type[MeshError]]] = [
    (object(), BadType),
    (Reading, BadType),
    ({(1, 2): 3}, BadType),
    (1j, BadType),
    ((x for x in "ab"), BadType),
    (math.nan, BadArgument),
    ({"a": [1, math.inf]}, BadArgument),
    ({math.nan: 1}, BadArgument),
    ({math.inf: 1}, BadArgument),
    (Model(math.nan), BadArgument),
    (["a\ud800b"], BadArgument),
    ({"\ud800": 1}, BadArgument),
    (10**5000, BadArgument),
    (in_itself(), BadArgument),
]


@story
async def test_a_value_that_no_codec_takes_is_refused_at_the_call_and_leaves_nothing_behind(
    it: Wired,
) -> None:
    for value, error in REFUSED:
        with pytest.raises(error, match="application/json") as caught:
            it.client.post("k", value)
        assert type(caught.value) is error and "codec=" in caught.value.hint
    it.client.post("k", b"1")
    assert sent(it)[0].contents() == [b"1"]


@pytest.mark.parametrize("key", [None, True, (1, 2)])
def test_what_cannot_be_a_key_of_a_dict_is_not_said_to_be_unknown(key: Any) -> None:
    with pytest.raises(BadType, match="cannot be the key of a dict"):
        encoded({key: 1}, CODECS["json"])


@story
async def test_many_are_written_by_the_codec_that_was_named(it: Wired) -> None:
    it.wire.is_deaf = True
    for contents in ([{"t": 1}], iter([{"t": 1}])):
        publishing = asyncio.ensure_future(it.client.publish_many("k", contents, codec="msgpack"))
        await turns()
        publishing.cancel()
    for nonsense in ("nonsense", 5):
        with pytest.raises(BadArgument):
            await it.client.publish_many("k", [b"x"], codec=nonsense)  # type: ignore[arg-type]
    kinds = [message.headers["content-type"] for e in sent(it) for message in Batch(e)]
    assert kinds == ["application/msgpack"] * 2


def test_nan_and_what_only_looks_like_it() -> None:
    assert encoded([None, "nan", "-inf", "null"], JSON) == b'[null,"nan","-inf","null"]'
    assert math.isnan(read(encoded(math.nan, CODECS["msgpack"]), "application/msgpack", float))
    with pytest.raises(BadArgument, match="64"):
        encoded(2**70, CODECS["msgpack"])


class Wrong:
    """A codec that fails in one way or another."""

    content_type = "application/x-wrong"

    def __init__(self, how: Any) -> None:
        self.how = how

    def encode(self, value: Any, /) -> Any:
        if isinstance(self.how, Exception):
            raise self.how
        return self.how

    def decode(self, content: bytes, type: Any, /) -> Any:
        raise self.how


# --- what others sent -----------------------------------------------------------------------------------

NO_READING: list[tuple[bytes, str | None, str]] = [
    (b'{"t": "warm"}', "application/json", "$.t"),
    (b"{}", "application/json", "$"),
    (b"[1]", "application/json", "$"),
    (b"", "application/json", "$"),
    (b'{"t": 1}x', "application/json", "$"),
    (b"\x81\xa1t\xa1x", "application/msgpack", "$.t"),
    (b"\x81", "application/msgpack", "$"),
    (b"\xc1", "application/msgpack", "$"),
    (b"\x91" * 100_000, "application/msgpack", "$"),
    (b'{"t": 1}', "application/xml", "$"),
    (b'{"t": 1}', "", "$"),
    (b'{"t": 1}', ";;;", "$"),
    (b'{"t": 1}', "+json", "$"),
    (b'{"t": 1}', "text/plain", "$"),
    (b"\xff", "text/plain", "$"),
    (b'{"t": 1}', "application/octet-stream", "$"),
    (b"\xff", None, "$"),
]


@pytest.mark.parametrize(("content", "content_type", "place"), NO_READING)
def test_what_is_no_reading_is_told_with_its_key_sender_and_place(
    content: bytes, content_type: str | None, place: str
) -> None:
    if content_type == "+json":  # it ends as JSON does
        assert read(content, content_type, Reading) == Reading(1)
        return
    with pytest.raises(BadContent) as caught:
        read(content, content_type, Reading)
    error = caught.value
    assert (error.key, error.sender, error.place) == ("a/1", "/node/heron/client/joe", place)
    assert isinstance(error, ValueError) and error.code == "BAD_CONTENT" and len(str(error)) < 500


def test_what_may_say_anything_has_a_bound_and_with_a_type_it_has_none() -> None:
    for content_type, long in (
        ("application/json", b"[" + b"0," * UNTYPED + b"0]"),
        ("application/msgpack", b"\xdd" + struct.pack(">I", UNTYPED) + bytes(UNTYPED)),
    ):
        with pytest.raises(BadContent, match="type="):
            _ = message(long, content_type).value
        assert len(read(long, content_type, list)) in (UNTYPED, UNTYPED + 1)
    with pytest.raises(BadContent, match="type="):
        message(b"[" + b"0," * UNTYPED + b"0]").json()
    assert message(b'"' + b"x" * (UNTYPED - 2) + b'"').json()
    assert read(b"x" * (UNTYPED + 1), "text/x-reversed", None, Reversed())


def test_names_of_the_same_thing_are_read_as_it() -> None:
    for name in ("APPLICATION/JSON", "application/json;charset=latin1", "application/geo+json"):
        assert message(b'{"t":1}', name).value == {"t": 1}
    for name in ("application/x-msgpack", "application/vnd.msgpack", "application/vnd.a+msgpack"):
        assert message(b"\x01", name).value == 1
    assert message(b"a", "text/plain").value == "a"
    assert message(b"a", "application/octet-stream").value == b"a"


def test_what_somebody_sent_is_shown_short_and_cannot_turn_a_terminal_over() -> None:
    for content_type in ("\u202e" * 20_000, "x\x1b[2J", "a" * 60_000):
        with pytest.raises(BadContent) as caught:
            read(b"1", content_type, Reading)
        assert len(str(caught.value)) < 1200 and str(caught.value).isprintable()
    wanted = msgspec.defstruct("Strict", [("t", int)], forbid_unknown_fields=True)
    with pytest.raises(BadContent) as caught:
        read(json.dumps({"\u202e" + "y" * 100_000: 1}).encode(), None, wanted)
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()


def test_a_topic_that_was_taken_away_has_no_value() -> None:
    with pytest.raises(BadContent, match="taken away"):
        _ = message(b"", flags=ERASED).value
    assert message(b"", flags=ERASED).text == ""


def test_headers_that_nobody_can_read_are_none() -> None:
    whole = msgspec.structs.replace(envelope("a/1", [b"\xc1x"]), props=1)
    assert Batch(whole)[0].value == b"x"


def test_the_value_is_read_once_by_who_said_its_type_and_else_as_often_as_it_is_asked_for() -> None:
    typed = TypedBatch[Any](Batch(message(b"[1]")._envelope), ContentReader(JSON, list[int]))
    for m in (typed[0], next(iter(typed))):
        assert m.value is m.value and m.value == [1]
    plain = message(b"[1]", "application/json")
    assert plain.value is not plain.value


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
    with pytest.raises(BadType, match="made str"):
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


NO_TYPES: list[Any] = [
    "Reading",
    5,
    2.5,
    b"x",
    [int],
    {},
    (),
    Reading(1),
    object(),
    Reversed,
    Model | int,
    object,
]


@story
async def test_what_is_no_type_is_refused_where_it_is_given(it: Wired) -> None:
    for wanted in NO_TYPES:
        calls: list[Callable[[Any], Any]] = [
            lambda w: it.client.subscribe("k", type=w),
            lambda w: it.client.inbox(type=w),
        ]
        for call in calls:
            with pytest.raises(BadType, match="type="):
                call(wanted)
        with pytest.raises(BadType, match="type="):
            await it.client.get("k", type=wanted)


# --- a client's -----------------------------------------------------------------------------------------


@story
async def test_who_reads_goes_on_behind_a_wrong_content(it: Wired) -> None:
    async with it.client.subscribe("k", type=Reading) as s:
        it.deliver(1, envelope("a/1 a/2 a/3", [b'{"t":1}', b'{"t":"x"}', b'{"t":3}']))
        found: list[Any] = []
        for _ in range(3):
            m = await anext(s)
            try:
                found.append(m.value.t)
            except BadContent as error:
                found.append((error.key, error.place))
        assert found == [1, ("a/2", "$.t"), 3]
        it.deliver(1, envelope("a/4", [b'{"t":4}'], first=4))
        async for batch in s.batches():
            assert [m.value.t for m in batch] == [4] and batch[0].value == Reading(4)
            assert batch.contents() == [b'{"t":4}']
            break


@story
async def test_what_is_left_of_a_typed_inbox_comes_again_typed(it: Wired) -> None:
    async with it.client.inbox(type=int) as s:
        it.deliver(0, envelope("a b c", [b"1", b"2", b"3"]))
        assert (await anext(s)).value == 1
    async with it.client.inbox(type=float) as again:
        assert [(await anext(again)).value for _ in range(2)] == [2.0, 3.0]


async def _through_a_node() -> None:
    async with in_memory("a") as made, made.connect("a", client="joe", codec="msgpack") as m:
        async with m.subscribe(pattern="r/#", type=Reading) as s, m.inbox(type=Reading) as inbox:
            await m.publish("r/1", Reading(1))
            m.post("r/2", {"t": 2}, codec="json")
            assert await m.publish_many("r/3", [Reading(3), b"\x81\xa1t\x04", {"t": 5}]) == 3
            await m.publish_oneway("r/6", Reading(6))
            assert [x.value.t for x in await take(s, 6)] == [1, 2, 3, 4, 5, 6]
            await m.send("client/joe", Reading(7), domain="")
            await m.send(["client/joe"], Reading(8))
            assert [x.value.t for x in await take(inbox, 2)] == [7, 8]
        [found] = await m.get("r/1", type=Reading)
        assert (found.value, found.source) == (Reading(1), "a")
        assert (await m.get("r/1"))[0].value == {"t": 1.0, "room": "hall"}
        with pytest.raises(BadArgument, match="publish\\(\\)"):
            await m.publish_many("r/3", {"t": 1})


def test_values_go_through_a_node_by_every_verb() -> None:
    asyncio.run(_through_a_node())
