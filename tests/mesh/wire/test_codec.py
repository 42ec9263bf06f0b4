"""The codec: values that would take too much memory are refused before they are decoded."""

import struct
import tracemalloc

import msgpack
import pytest

from mesh.errors import RemoteError
from mesh.wire.codec import check_plain, pack, unpack
from mesh.wire.commands import decode as decode_command
from mesh.wire.envelope import decode as decode_envelope
from mesh.wire.limits import KIB, MIB
from mesh.wire.properties import decode_properties
from tests.each import each

ANY_CALL = b"\x94\x22\x01\xa3get\x81\xa1a"  # a Call, up to an arbitrary value
ANY_REPLY = b"\x93\x23\x01"
LENGTHS = (b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9")  # 32-bit lengths: array, map, str, bin, ext

BOMBS = {
    **{f"a length of 2**32 - 1 after {head.hex()}": head + b"\xff\xff\xff\xff" for head in LENGTHS},
    **{f"a length of 2**31 after {head.hex()}": head + b"\x80\x00\x00\x00x" for head in LENGTHS},
    "arrays in arrays, 1,024 deep": b"\x91" * 1024 + b"\xc0",
    "arrays in arrays, 60,000 deep": b"\x91" * 60_000 + b"\xc0",
    "maps in maps, 1,024 deep": b"\x81\xa1a" * 1024 + b"\xc0",
    "1,023 arrays in each other, each promising 8,191 elements": b"\xdc\x1f\xff" * 1023,
    "1,000 arrays in each other, each promising 2**24 elements": b"\xdd\x00\xff\xff\xff" * 1000,
    "1,000 maps in each other, each promising 65,535 elements": b"\xde\xff\xff\xa1a" * 1000,
    "1 MB of empty arrays": b"\xdd\x00\x10\x00\x00" + b"\x90" * MIB,
    "an extension type": b"\xc7\x04\x05data",
    "a date": b"\xd6\xff\x00\x00\x00\x00",
}
PLACES = {"alone": b"", "in a call": ANY_CALL, "in a reply": ANY_REPLY, "in what a node lists": b"\x92\x09"}
DECODERS = {
    "command": decode_command,
    "header": lambda frame: decode_envelope(frame, b""),
    "properties": decode_properties,
}


def peak(frame: bytes, decoder: str) -> int:
    """Return the peak of memory, in bytes, while the frame is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(RemoteError):
            DECODERS[decoder](frame)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@each("decoder", DECODERS)
@each("place", PLACES)
@each("bomb", BOMBS)
def test_a_bomb_is_refused_within_a_megabyte(bomb: str, place: str, decoder: str) -> None:
    assert peak(PLACES[place] + BOMBS[bomb], decoder) < MIB


LISTS = {"names": b"\xa0", "numbers": b"\x01", "hops": b"\x93\xa0\x00\x00"}  # a megabyte of items of a header


@pytest.mark.parametrize("field", range(16))
def test_a_bomb_in_any_field_of_a_header_is_refused_within_a_megabyte(field: int) -> None:
    good = [pack(v) for v in (bytes(16), "", 1, 1, ["k"], 1, 0, b"", 0, 0, 1, "", 0, 0, [], [])]
    lists = [struct.pack(">BI", 0xDD, MIB // len(one)) + one * (MIB // len(one)) for one in LISTS.values()]
    for bomb in (*BOMBS.values(), *lists):
        frame = b"\xdc\x00\x10" + b"".join([*good[:field], bomb, *good[field + 1 :]])
        assert peak(frame, "header") < MIB


@pytest.mark.parametrize(
    "value", [None, True, -5, 2**64 - 1, 0.5, "text", b"bytes", [1, ["a"]], {"a": {"b": 1}}]
)
def test_what_was_packed_comes_back(value: object) -> None:
    assert unpack(pack(value)) == value == msgpack.unpackb(pack(value))
    check_plain(value)


def test_a_value_cut_short_or_followed_by_another_is_malformed() -> None:
    frame = pack({"a": [1, "text", b"bytes", 1.5, {"b": None}]})
    for end in range(len(frame)):
        with pytest.raises(RemoteError):
            unpack(frame[:end])
    with pytest.raises(RemoteError, match="malformed"):
        unpack(frame + b"\x00")


def test_a_refusal_shows_the_beginning_of_the_frame_and_no_more() -> None:
    with pytest.raises(RemoteError) as error:
        decode_command(b"GET / HTTP/1.1\r\n" + b"x" * KIB)
    assert "GET / HTTP/1.1" in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize("value", [{1: 2}, {b"a": 1}, {"a": {None: 1}}, [{1.5: 1}], (1,), {1}, object()])
def test_what_is_not_plain_is_named(value: object) -> None:
    with pytest.raises(ValueError, match=r"a map has the key|a value of type"):
        check_plain(value)
