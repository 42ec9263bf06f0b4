"""Signatures: valid for their owner's key only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.security.signing import SIGNATURE_BYTES, public_key, sign, verify

SEED = b"a" * 32


def test_what_was_signed_is_verified_with_the_public_key_only() -> None:
    signature = sign(SEED, b"text")
    assert len(signature) == SIGNATURE_BYTES
    assert verify(public_key(SEED), signature, b"text")
    assert not verify(public_key(b"b" * 32), signature, b"text")
    assert not verify(public_key(SEED), signature, b"texT")


@pytest.mark.parametrize("at", range(SIGNATURE_BYTES))
def test_no_byte_of_a_signature_may_be_another(at: int) -> None:
    signature = bytearray(sign(SEED, b"text"))
    signature[at] ^= 1
    assert not verify(public_key(SEED), bytes(signature), b"text")


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=80))
def test_whatever_is_no_key_or_no_signature_is_only_false(key: bytes, signature: bytes, text: bytes) -> None:
    assert not verify(key, signature, text)
