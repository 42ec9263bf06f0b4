"""Secrets derived from one secret, none of which reveals another."""

import zmq
import zmq.utils.z85
from hypothesis import given
from hypothesis import strategies as st

from mesh.security.derive import ADVERTS, GOSSIP, ROLES, SERVER, derived, hkdf, role_secret
from mesh.security.keys import z85
from mesh.security.signing import curve_pair


def test_it_is_the_hkdf_of_rfc_5869() -> None:
    secret, salt, info = b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA))
    wanted = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    assert hkdf(secret, salt, info, 42).hex() == wanted


def test_each_job_of_each_mesh_has_a_secret_of_its_own() -> None:
    jobs = [derived(b"s" * 32, cluster, job) for cluster in ("a", "b") for job in (SERVER, GOSSIP, ADVERTS)]
    roles = [role_secret(b"s" * 32, cluster, role) for cluster in ("a", "b") for role in ROLES]
    assert len({*jobs, *roles, b"s" * 32}) == 15


@given(st.binary(min_size=32, max_size=32))
def test_a_pair_is_what_zeromq_makes_of_the_same_secret(secret: bytes) -> None:
    pair = curve_pair(secret)
    assert zmq.curve_public(pair.secret.encode()).decode() == pair.public
    assert zmq.utils.z85.encode(secret).decode() == pair.secret == z85(secret)
