"""Laws of the header of an envelope, on which the router relies."""

import subprocess
import sys
from array import array
from math import inf, nan
from typing import Any

import msgpack
import pytest

from mesh.errors import RemoteError
from mesh.wire.envelope import decode
from mesh.wire.header import Header
from mesh.wire.limits import CONTROL_FRAME, ENVELOPE_BYTES, ENVELOPE_MESSAGES, FRAME, KIB, MIB

FIELDS = Header.__struct_fields__


def u32(*numbers: int) -> bytes:
    return array("I", numbers).tobytes()


def u16(*numbers: int) -> bytes:
    return array("H", numbers).tobytes()


# Three messages of 2, 3 and 4 bytes, cut from 10..20; the first byte of the last one is its own property.
GOOD: dict[str, Any] = {
    "stream": bytes(16), "domain": "D", "first": 10, "last": 20, "keys": ["a", "b"], "count": 3,
    "sizes": u32(2, 3, 4), "index": u16(0, 1, 0), "props": u32(0, 0, 1), "flags": 1, "low": 10,
    "sender": "/node/a/client/b/session/1", "sent": 5, "expires": 6, "route": [["a", 0, 7]],
    "numbers": [10, 11, 20, 20], "to": "/node/b/client/d/session/-2", "put": [7, 500, "g"], "xml": "<a/>",
}  # fmt: skip
BODY = b"aabbbPccc"


def header(**changes: Any) -> bytes:
    return msgpack.packb([{**GOOD, **changes}[name] for name in FIELDS])


def refusal(frame: bytes, body: bytes = BODY, max_content: int = MIB) -> str:
    """Return the code with which the header and the body are refused."""
    with pytest.raises(RemoteError) as error:
        decode(frame, body, max_content)
    return error.value.code


def test_the_good_one_is_good() -> None:
    envelope = decode(header(), BODY)
    assert envelope.contents() == [b"aa", b"bbb", b"ccc"]
    assert [envelope.number(i) for i in range(3)] == [10, 11, 20]


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("stream", bytes(15)), ("stream", bytes(17)), ("stream", "text of 16 chars"), ("domain", b"D"),
        ("domain", None), ("first", 0), ("first", -1), ("first", 10.0), ("first", 2**62), ("last", 2**62),
        ("last", 2**64 - 1), ("last", 19), ("keys", []), ("keys", ["a", 5]), ("keys", ["a", b"b"]),
        ("keys", "ab"), ("keys", ["a"]), ("keys", ["a"] * 2001), ("count", 0), ("count", 2), ("count", 4),
        ("count", 501), ("count", True), ("sizes", 3.0), ("sizes", -3), ("sizes", True), ("sizes", "x" * 12),
        ("sizes", u32(2, 3)), ("sizes", u32(2, 3, 4)[:-1]), ("sizes", u32(2, 3, 5)), ("sizes", u32(2, 3, 3)),
        ("sizes", 2**63 - 1), ("sizes", b""), ("index", b""), ("index", u16(0, 1)),
        ("index", u16(0, 1, 0)[:-1]), ("index", u16(0, 1, 0, 0)), ("index", u16(0, 1, 2)),
        ("index", u16(0, 65535, 0)), ("index", 0), ("index", "ab"), ("props", 1), ("props", False),
        ("props", u32(0, 1)), ("props", u32(0, 4, 0)), ("props", u32(2**32 - 1, 0, 0)), ("props", b""),
        ("flags", -1), ("flags", None), ("low", 0), ("low", 11), ("low", "1"), ("sender", b"/node"),
        ("sender", 1), ("sent", -1), ("sent", 2**63), ("expires", -1), ("expires", 1.5), ("route", None),
        ("route", [["a", 0]]), ("route", [["a", 0, 7, 8]]), ("route", [[1, 0, 7]]),
        ("route", [["a", "0", 7]]), ("route", [["a", 0, -7]]), ("route", "a07"),
        ("route", [["a", 0, 7]] * 65), ("numbers", []),
        ("numbers", [10, 11, 20]), ("numbers", [10, 11, 19, 20]), ("numbers", [11, 10, 19, 20]),
        ("numbers", [10, 11, 11, 11]), ("numbers", [20, 20, 10, 11]), ("numbers", [9, 10, 20, 20]),
        ("numbers", [10, 11, 21, 21]), ("numbers", [10.0, 12.0]), ("numbers", [10, 12, 12, 11]),
        ("numbers", [10, 12, 14, 13]),
        ("numbers", [10, 10] * 2001), ("numbers", [0, 2]), ("numbers", {"a": 1}), ("to", None),
        ("to", b"client/d"), ("to", 1), ("to", "t" * 513), ("keys", ["a", "k" * 513]),
        ("put", None), ("put", []), ("put", 5), ("put", "5"), ("put", [5, 0]), ("put", [5, 0, "", 1]),
        ("put", [10, 0, ""]), ("put", [-1, 0, ""]), ("put", [nan, 0, ""]), ("put", [5.0, 0, ""]),
        ("put", [True, 0, ""]), ("put", [2**63, 0, ""]), ("put", [5, 2**32, ""]), ("put", [5, -1, ""]),
        ("put", [5, inf, ""]), ("put", [5, 0.5, ""]), ("put", [5, None, ""]), ("put", [5, 0, None]),
        ("put", [5, 0, b"g"]), ("put", [5, 0, "g" * 201]), ("put", {"priority": 5}),
        ("xml", None), ("xml", b"<a/>"), ("xml", 5), ("xml", "x" * (16 * 1024 + 1)), ("xml", ["<a/>"]),
    ],
)  # fmt: skip
def test_a_broken_law_is_malformed(field: str, bad: object) -> None:
    assert refusal(header(**{field: bad})) == "MALFORMED"


# Most headers are like this: whole, of one key, and of messages of one length.
PLAIN = {
    "keys": ["a"], "index": b"", "count": 11, "sizes": 2, "props": 0, "numbers": [], "to": "",
    "put": [5, 0, ""], "xml": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("low", 11), ("first", 9), ("first", 11), ("last", 19), ("last", 21), ("keys", []),
        ("keys", ["a", "b"]), ("count", 10), ("count", 12), ("sizes", 1), ("sizes", 3), ("sizes", -2),
        ("sizes", b""), ("index", u16(0)), ("index", u16(*[1] * 11)), ("props", b""), ("props", 1),
        ("props", u32(*[3] * 11)), ("props", -1), ("numbers", [10, 19]), ("numbers", [10, 20, 20, 20]),
    ],
)  # fmt: skip
def test_a_broken_law_is_malformed_in_a_plain_one_too(field: str, bad: object) -> None:
    body = bytes(22)
    assert decode(header(**PLAIN), body).contents() == [b"\0\0"] * 11
    assert refusal(header(**{**PLAIN, field: bad}), body) == "MALFORMED"


def test_a_plain_one_has_a_body_and_a_key_within_their_bounds() -> None:
    long = {**PLAIN, "keys": ["k" * 513]}
    assert decode(header(**long), bytes(22)).keys == ("k" * 513,)
    assert refusal(header(**{**long, "to": "client/d"}), bytes(22)) == "MALFORMED"
    assert decode(header(**PLAIN), bytes(22), 2).count == 11
    assert refusal(header(**PLAIN), bytes(22), 1) == "TOO_LARGE"


def test_a_group_that_is_no_text_is_malformed() -> None:
    frame = header(put=[7, 500, "???"])
    assert refusal(frame.replace(b"???", b"\xed\xa0\x80")) == "MALFORMED"  # a lone surrogate
    assert refusal(frame.replace(b"???", b"ok\xff")) == "MALFORMED"


@pytest.mark.parametrize("put", [[0, 0, ""], [9, 2**32 - 1, "g" * 200], [5, 0, "x"], [5, 1, ""]])
def test_what_is_said_of_a_put_arrives(put: list[object]) -> None:
    assert decode(header(put=put), BODY).put == tuple(put)


def test_without_an_index_column_there_is_one_key_and_not_none() -> None:
    alone = {"index": b"", "numbers": [], "last": 12}
    assert decode(header(keys=["a"], **alone), BODY).count == 3
    assert refusal(header(keys=[], **alone)) == refusal(header(keys=["a", "b"], **alone)) == "MALFORMED"


@pytest.mark.parametrize(("count", "fits"), [(0, False), (1, True), (2000, True), (2001, False)])
def test_an_envelope_holds_1_to_2000_messages(count: int, fits: bool) -> None:
    frame = header(count=count, last=9 + count, keys=["a"], index=b"", numbers=[], sizes=1, props=0)
    if fits:
        assert decode(frame, bytes(count)).count == count
    else:
        assert refusal(frame, bytes(count)) == "MALFORMED"


@pytest.mark.parametrize("short", range(7))
def test_a_header_without_all_that_has_no_default_is_malformed(short: int) -> None:
    assert refusal(msgpack.packb([GOOD[name] for name in FIELDS[:short]])) == "MALFORMED"


@pytest.mark.parametrize("value", [None, 1, "text", {}, {"stream": bytes(16)}, [], b"bytes"])
def test_what_is_no_array_is_malformed(value: object) -> None:
    assert refusal(msgpack.packb(value)) == "MALFORMED"


def test_a_header_with_something_after_it_is_malformed() -> None:
    assert refusal(header() + b"\xc0") == "MALFORMED"
    assert refusal(b"") == "MALFORMED"


@pytest.mark.parametrize("body", [b"", BODY[:-1], BODY + b"d"])
def test_a_body_of_another_length_is_malformed(body: bytes) -> None:
    assert refusal(header(), body) == "MALFORMED"


def test_the_largest_numbers_are_numbers() -> None:
    top = 2**62 - 1
    late = 2**63 - 1
    envelope = decode(header(first=top - 2, last=top, numbers=[], low=top - 2, sent=late, expires=late), BODY)
    assert envelope.number(2) == top
    assert decode(envelope.header(), BODY) == envelope


def lone(content: int, props: int = 0) -> bytes:
    """Return the header of one message."""
    column = u32(props) if props else 0
    return header(keys=["a"], count=1, last=10, numbers=[], index=b"", sizes=content + props, props=column)


def test_content_is_measured_without_its_properties() -> None:
    assert decode(lone(1000, 24), bytes(1024), max_content=1000).contents() == [bytes(1000)]
    assert refusal(lone(1001, 24), bytes(1025), max_content=1000) == "TOO_LARGE"
    assert decode(lone(1000), bytes(1000), max_content=1000).count == 1
    assert refusal(lone(1001), bytes(1001), max_content=1000) == "TOO_LARGE"


def test_one_of_several_contents_may_be_too_large() -> None:
    sizes = u32(2, 3, 4)
    assert decode(header(sizes=sizes, props=0), BODY, max_content=4).count == 3
    assert refusal(header(sizes=sizes, props=0), BODY, max_content=3) == "TOO_LARGE"
    assert decode(header(), BODY, max_content=3).count == 3


def test_own_properties_end_at_64_kib() -> None:
    assert decode(lone(10, CONTROL_FRAME), bytes(CONTROL_FRAME + 10)).count == 1
    assert refusal(lone(10, CONTROL_FRAME + 1), bytes(CONTROL_FRAME + 11)) == "MALFORMED"


def test_an_envelope_ends_where_a_publisher_must_have_sealed_it() -> None:
    most = ENVELOPE_BYTES + CONTROL_FRAME + MIB
    three = header(sizes=u32(MIB, 320 * KIB, 0), props=0)
    assert decode(three, bytes(most), MIB).count == 3
    assert refusal(header(sizes=u32(MIB, 320 * KIB, 1), props=0), bytes(most + 1), MIB) == "TOO_LARGE"


def test_the_header_of_the_largest_envelope_fits_into_a_frame_however_it_is_cut() -> None:
    count = ENVELOPE_MESSAGES
    keys = [f"{i:04}" + "\U0001f426" * 127 for i in range(count)]  # 131 characters, 512 bytes each
    top = 2**62 - 1
    envelope = decode(
        header(
            domain="\U0001f426" * 256, keys=keys, count=count, index=u16(*range(count)),
            sizes=u32(*[2] * count),
            props=u32(*[1] * count), first=top - 2 * count + 1, last=top, low=1, sent=top, expires=top,
            flags=top, sender="s" * 400, route=[["n" * 64, 1, top]] * 16,
            to="t" * 512, numbers=[n for i in range(count) for n in [top - 2 * count + 2 * i + 1] * 2],
        ),
        bytes(2 * count),
    )  # fmt: skip
    assert len(envelope.header()) < FRAME
    assert len(envelope.cut(range(0, count, 2)).header()) < FRAME


def test_long_keys_fill_an_envelope_before_it_holds_2000_messages() -> None:
    def told(count: int) -> bytes:
        keys = [f"{i:04}" + "k" * 508 for i in range(count)]
        return header(
            keys=keys, count=count, last=9 + count, index=u16(*range(count)), sizes=1, props=0, numbers=[]
        )

    assert decode(told(513), bytes(513)).count == 513
    assert refusal(told(514), bytes(514)) == "MALFORMED"


def test_a_long_key_without_a_destination_is_left_to_those_who_answer_it() -> None:
    assert decode(header(to="", keys=["a", "k" * 513]), BODY).keys[1] == "k" * 513
    assert decode(header(keys=["", "k" * 512]), BODY).keys[0] == ""


def test_a_header_above_a_frame_is_refused_unread() -> None:
    assert refusal(bytes(FRAME + 1)) == "FRAME_TOO_LARGE"


def test_it_is_read_where_python_refuses_to_compare_bytes_with_numbers() -> None:
    program = (
        "import sys; from mesh.wire.envelope import decode; from mesh.wire.properties import check_properties"
        "\nfor frame in sys.argv[1:]: check_properties(decode(bytes.fromhex(frame), b'aabbb\\x90ccc'))"
    )
    one_key: dict[str, Any] = {"keys": ["a"], "index": b"", "numbers": [], "last": 12}
    frames = [header(props=own, **more).hex() for own in (u32(0, 0, 1), 0) for more in ({}, one_key)]
    subprocess.run([sys.executable, "-bb", "-c", program, *frames], check=True)
