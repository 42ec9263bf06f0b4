"""The metadata of a node in its introduction, and hostile values in it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import BadConfig
from mesh.wire.commands import Hello, Introduction, decode, encode
from mesh.wire.metadata import LONGEST, NOTHING, check_metadata, heard, said

FITS = {"rack": "x" * (LONGEST - 1 - 5 - 3)}


@given(metadata=st.dictionaries(st.text(min_size=1), st.text()))
def test_what_may_be_configured_is_heard_by_others_and_nothing_else(metadata: dict[str, str]) -> None:
    try:
        check_metadata(metadata)
    except BadConfig:
        assert heard(said(metadata)) == {}
    else:
        assert heard(said(metadata)) == metadata


def test_at_most_so_many_bytes_travel() -> None:
    check_metadata(FITS)
    assert heard(said(FITS)) == FITS and len(bytes(said(FITS))) == LONGEST
    longer = {"rack": FITS["rack"] + "x"}
    assert heard(said(longer)) == {}
    with pytest.raises(BadConfig, match="513 bytes; the limit is 512"):
        check_metadata(longer)
    with pytest.raises(BadConfig, match="The name of an entry is empty"):
        check_metadata({"": "r1"})


WORDS = "c0 05 a3616263 90 8101a161 81a16101 81a16180 818001 c700ff 81a161a1ff"
HOSTILE = [bytes.fromhex(text) for text in WORDS.split()]
HOSTILE += [b"\x91" * 400 + b"\x90", b"\x81\xa1a" * 100 + b"\xc0", b"\xda\x80\x00" + b"a" * 32768]


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: repr(raw[:12]))
def test_whatever_stands_there_the_introduction_is_read_and_that_is_nothing(raw: bytes) -> None:
    node = Introduction(b"m" * 16, "mal", 1, "", metadata=msgspec.Raw(raw))
    hello = decode(encode(Hello((1, 2), "data", "default", b"n" * 16, node=node)))
    assert isinstance(hello, Hello) and hello.node is not None and hello.node.name == "mal"
    assert heard(hello.node.metadata) == {}


def test_who_says_nothing_as_nodes_of_earlier_releases_has_none() -> None:
    before = msgspec.convert([b"m" * 16, "old", 1, "", [], "", b""], Introduction)
    assert before.metadata == NOTHING and heard(before.metadata) == {}
