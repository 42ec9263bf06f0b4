"""Admission to a handshake, and the refusal of every other request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.security import zap
from mesh.security.keys import z85
from mesh.security.zap import DOMAIN, GOSSIP, NEW_A_SECOND, PENDING, ZapGate


def request(key: int, address: str = "192.0.2.1", domain: bytes = DOMAIN) -> list[bytes]:
    return [b"1.0", b"1", domain, address.encode(), b"", b"CURVE", key.to_bytes(32)]


def test_a_key_that_is_new_is_let_in_by_its_name() -> None:
    verdict = ZapGate().verdict(request(7), 0.0)
    assert (verdict.status, verdict.user, verdict.address) == (b"200", z85((7).to_bytes(32)), "192.0.2.1")


@given(st.lists(st.binary(max_size=40), max_size=10), st.floats(0, 1e9))
def test_whatever_is_asked_there_is_an_answer_and_it_is_no(frames: list[bytes], now: float) -> None:
    assert ZapGate().verdict(frames, now).status in (b"400", b"500")


@given(st.integers(0, 6), st.binary(max_size=40))
def test_no_part_of_a_request_may_be_another(at: int, other: bytes) -> None:
    asked = request(7)
    ways_to_be_right = {1: True, 4: True, 6: len(other) == 32, 2: other == GOSSIP}
    asked[at], was = other, asked[at]
    verdict = ZapGate().verdict(asked, 0.0)
    assert (verdict.status == b"200") == (other == was or ways_to_be_right.get(at, False))
    assert (verdict.status == b"200") == bool(verdict.user)


def test_null_and_plain_are_no_mechanisms_of_ours() -> None:
    for mechanism, credentials in ((b"NULL", []), (b"PLAIN", [b"user", b"password"])):
        asked = [*request(7)[:5], mechanism, *credentials]
        assert ZapGate().verdict(asked, 0.0).status == b"400"


def test_one_address_brings_so_many_new_keys_a_second() -> None:
    gate = ZapGate()
    answers = [gate.verdict(request(key), 10.0).status for key in range(NEW_A_SECOND + 3)]
    assert answers == [b"200"] * NEW_A_SECOND + [b"300"] * 3
    assert gate.verdict(request(99, "192.0.2.2"), 10.0).status == b"200"  # another address is not affected
    assert gate.verdict(request(99), 11.0).status == b"200"


def test_so_many_keys_in_all_may_wait_to_prove_themselves() -> None:
    gate = ZapGate()
    for key in range(PENDING):
        assert gate.verdict(request(key, f"192.0.2.{key}"), 1.0).status == b"200"
    late = request(1000, "192.0.2.200")
    assert gate.verdict(late, 1.0).status == b"300"
    assert gate.verdict(request(0, "192.0.2.0"), 1.0).status == b"200"  # already waiting
    gate.mark_proven(z85((0).to_bytes(32)))
    assert gate.verdict(late, 1.0).status == b"200"
    assert gate.verdict(request(1001, "192.0.2.201"), 1.0).status == b"300"
    assert gate.verdict(request(1001, "192.0.2.201"), 6.1).status == b"200"  # the waiting keys have expired


def test_who_has_proven_itself_and_this_machine_are_not_counted() -> None:
    gate = ZapGate()
    gate.mark_proven(z85((5).to_bytes(32)))
    for _ in range(2 * PENDING):
        assert gate.verdict(request(5), 0.0).status == b"200"
    for key in range(2 * PENDING):
        for here in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
            assert gate.verdict(request(key, here), 0.0).status == b"200"


def test_gossip_is_for_nodes_whose_key_for_it_says_enough() -> None:
    gate = ZapGate()
    for key in range(2 * PENDING):
        assert gate.verdict(request(key, domain=GOSSIP), 0.0).status == b"200"


def test_what_is_remembered_of_keys_and_addresses_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zap, "PROVEN", 100)
    monkeypatch.setattr(zap, "ADDRESSES", 50)
    gate = ZapGate()
    for key in range(400):
        gate.mark_proven(z85(key.to_bytes(32)))
        gate.verdict(request(key + 50_000, f"10.0.{key >> 8}.{key & 255}"), key / 100)
    assert (len(gate._proven), len(gate._came), len(gate._pending)) == (100, 50, PENDING)
