"""Pairs of CURVE keys: written as ZeroMQ writes them, without the secret half in any log."""

import pytest
import zmq.utils.z85
from hypothesis import given
from hypothesis import strategies as st

from mesh.security.keys import Keys, Pair, unz85, z85
from mesh.security.signing import curve_pair


@given(st.integers(0, 8).flatmap(lambda words: st.binary(min_size=4 * words, max_size=4 * words)))
def test_bytes_are_written_as_zeromq_writes_them_and_read_again(data: bytes) -> None:
    assert z85(data) == zmq.utils.z85.encode(data).decode()
    assert unz85(z85(data)) == data


@pytest.mark.parametrize("text", ["1234", "123~5", "#####", "é" * 5])
def test_what_is_no_z85_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        unz85(text)


def test_bytes_that_fill_no_group_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="5 bytes cannot be written"):
        z85(b"12345")


def test_a_secret_does_not_show_in_a_log() -> None:
    pair = curve_pair(b"s" * 32)
    assert pair.secret not in repr(Keys(pair, pair, Pair("")))
