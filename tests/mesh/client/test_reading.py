"""The reading of contents, and the errors of contents that cannot be read."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any

import msgspec
import pytest

from mesh.client.batch import Batch, TypedBatch
from mesh.client.codecs import CODECS, JSON
from mesh.client.reading import ContentReader
from mesh.errors import BadContent, BadType
from mesh.wire.envelope import ERASED
from tests.mesh.client.contents import Model, Reading, Reversed, message, read
from tests.mesh.client.wired import Wired, scenario
from tests.mesh.envelopes import envelope


def test_without_a_content_type_it_is_bytes_or_text_or_what_the_codec_reads() -> None:
    assert message(b"21.5").value == b"21.5"
    assert read(b"21.5", None, bytes) == b"21.5"
    assert read(b"21.5", None, str) == "21.5"
    assert read(b"21.5", None, float) == 21.5
    assert read(msgspec.msgpack.encode({"t": 2}), None, Reading, CODECS["msgpack"]) == Reading(2)


class Color(Enum):
    RED = "red"


TEXTS: list[tuple[str, Any, Any]] = [
    ("hello", None, "hello"),
    ("hello", str, "hello"),
    ("hello", bytes, b"hello"),
    ("21.5", float, 21.5),
    ("21.5", str | float, "21.5"),
    ('"21.5"', str | None, '"21.5"'),
    ('{"t": 2}', Reading, Reading(2)),
    ("2026-01-02", date, date(2026, 1, 2)),
    ("red", Color, Color.RED),
    ("null", bytes | None, None),
]


def test_a_text_is_read_as_text_and_else_as_what_its_type_reads_in_it() -> None:
    for text, wanted, value in TEXTS:
        assert read(text.encode(), None, wanted, is_text=True) == value, (text, wanted)
    assert read(b"\x05", None, int, CODECS["msgpack"], is_text=True) == 5
    assert read(b"abc", None, None, Reversed(), is_text=True) == "abc"
    assert read(b'{"t": 2.5}', None, Model, is_text=True).t == 2.5
    assert message(b"[1]", "application/json", is_text=True).value == [1]
    for content, wanted in ((b"\xff", None), (b"\xff", str), (b"hello", float), (b"aGk=", bytes | None)):
        with pytest.raises(BadContent):
            read(content, None, wanted, is_text=True)


def test_a_message_is_read_as_text_and_as_json_whatever_its_type() -> None:
    m = message('{"t": "21 °C"}'.encode(), "image/png")
    assert (m.text, m.json()) == ('{"t": "21 °C"}', {"t": "21 °C"})
    with pytest.raises(BadContent, match="a/1 from /node/heron/client/joe"):
        _ = message(b"\xff").text
    for wrong in (b"", b"{", b"NaN", b"1e999", b'"\\ud800"', b"[" * 100_000, b"\xff", b"1" * 5000):
        with pytest.raises(BadContent):
            message(wrong).json()


MOST = 1000  # limit of bytes if the reader names no type
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
    if content_type == "+json":  # the type ends like JSON
        assert read(content, content_type, Reading) == Reading(1)
        return
    with pytest.raises(BadContent) as caught:
        read(content, content_type, Reading)
    error = caught.value
    assert (error.key, error.sender, error.place) == ("a/1", "/node/heron/client/joe", place)
    assert isinstance(error, ValueError) and error.code == "BAD_CONTENT" and len(str(error)) < 500


def test_what_may_say_anything_has_a_bound_and_with_a_type_it_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mesh.client.reading.UNTYPED", MOST)
    for content_type, long in (
        ("application/json", b"[" + b"0," * MOST + b"0]"),
        ("application/msgpack", b"\xdd" + struct.pack(">I", MOST) + bytes(MOST)),
    ):
        with pytest.raises(BadContent, match="type="):
            _ = message(long, content_type).value
        assert len(read(long, content_type, list)) in (MOST, MOST + 1)
    with pytest.raises(BadContent, match="type="):
        message(b"[" + b"0," * MOST + b"0]").json()
    assert message(b'"' + b"x" * (MOST - 2) + b'"').json()
    assert read(b"x" * (MOST + 1), "text/x-reversed", None, Reversed())


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
    with pytest.raises(BadContent, match="was erased"):
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


@scenario
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


@scenario
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


@scenario
async def test_what_is_left_of_a_typed_inbox_comes_again_typed(it: Wired) -> None:
    async with it.client.inbox(type=int) as s:
        it.deliver(0, envelope("a b c", [b"1", b"2", b"3"]))
        assert (await anext(s)).value == 1
    async with it.client.inbox(type=float) as again:
        assert [(await anext(again)).value for _ in range(2)] == [2.0, 3.0]
