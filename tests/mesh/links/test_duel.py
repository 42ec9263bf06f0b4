import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.links.duel import keep_mine

UUIDS = st.binary(min_size=16, max_size=16)


@given(UUIDS, UUIDS)
def test_both_sides_keep_the_same_one_of_two_connections(a: bytes, b: bytes) -> None:
    assume(a != b)
    dialled_by_a = (keep_mine(a, b, True), keep_mine(b, a, False))
    dialled_by_b = (keep_mine(a, b, False), keep_mine(b, a, True))
    assert {dialled_by_a, dialled_by_b} == {(True, True), (False, False)}


def test_the_connection_that_the_lower_uuid_dialled_stays() -> None:
    assert keep_mine(b"\x01" * 16, b"\x02" * 16, i_dialled=True)
    assert not keep_mine(b"\x02" * 16, b"\x01" * 16, i_dialled=True)


def test_a_peer_with_our_own_uuid_is_named_as_such() -> None:
    with pytest.raises(RemoteError, match=r"0707.*data directory") as caught:
        keep_mine(b"\x07" * 16, b"\x07" * 16, i_dialled=True)
    assert caught.value.code == "SAME_UUID"
