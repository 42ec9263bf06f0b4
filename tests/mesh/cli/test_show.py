"""Messages on a terminal: whole, on one line, and without control characters."""

import base64
import json

import pytest

from mesh.cli import show
from mesh.cli.sub import lines_of, raw_lines
from mesh.client.batch import Batch
from mesh.client.message import Message
from mesh.values import Headers
from mesh.wire.envelope import ERASED, Envelope
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.envelopes import envelope


def batch(*contents: bytes, properties: bytes = b"") -> Batch:
    slices = [properties + content for content in contents]
    return Batch(
        Envelope(
            stream=bytes(16),
            domain="",
            first=1,
            last=len(slices),
            keys=("k",),
            count=len(slices),
            sizes=b"".join(len(part).to_bytes(4, "little") for part in slices),
            body=b"".join(slices),
            props=len(properties),
            sender="/node/a/client/joe/session/-1",
        )
    )


def message(content: bytes) -> Message:
    return batch(content)[0]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"plain", "plain"),
        ("grün 鷺".encode(), "grün 鷺"),
        (b"a\tb", "a\tb"),
        (b"", ""),
        (b"two\nlines\r", "two\\nlines\\r"),
        (b"\x1b[31mred", "\\x1b[31mred"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("\u202e\x9b".encode(), "\\u202e\\x9b"),
    ],
)
def test_what_cannot_be_printed_is_escaped(content: bytes, shown: str) -> None:
    assert show.line(message(content)) == f"k  {shown}\n".encode()


def test_json_keeps_text_as_text_and_other_bytes_as_base64() -> None:
    text, binary = (json.loads(show.json_line(message(content))) for content in (b"\x1b\n", b"\xff"))
    assert (text["content"], text["base64"]) == ("\x1b\n", False)
    assert (base64.b64decode(binary["content"]), binary["base64"]) == (b"\xff", True)


def test_json_is_one_line_of_ascii_with_all_that_is_known() -> None:
    properties = encode_properties(Properties(Headers([("A", "1"), ("a", "ü")]), 7, 9))
    line = show.json_line(batch(b"x\n", properties=properties)[0])
    assert line.isascii()
    assert line.count(b"\n") == 1
    told = json.loads(line)
    assert (told["key"], told["headers"], told["priority"]) == ("k", [["A", "1"], ["a", "ü"]], 9)
    assert told["sender"] == "/node/a/client/joe/session/-1"


def test_raw_lines_are_the_contents_byte_for_byte() -> None:
    assert raw_lines(batch(b"a", b"", b"\xff\n"), 3) == b"a\n\n\xff\n\n"
    assert raw_lines(batch(b"a", b"b"), 1) == b"a\n"


def test_no_more_lines_than_wanted_are_shown() -> None:
    assert lines_of(show.line)(batch(b"1", b"2", b"3"), 2) == b"k  1\nk  2\n"


def test_that_a_topic_was_erased_is_shown_and_has_no_raw_content() -> None:
    batch = Batch(envelope("k", flags=ERASED))
    assert lines_of(show.line)(batch, 1) == b"k  (erased)\n"
    assert raw_lines(batch, 1) == b""
    assert json.loads(show.json_line(batch[0]))["state"] == "ERASED"
