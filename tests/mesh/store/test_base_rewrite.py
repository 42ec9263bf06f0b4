"""Envelopes that replace larger ones at their position, the same in each store."""

import pytest

from mesh.errors import StoreError
from mesh.operations import Append, Drop, Op, Rewrite
from mesh.store.base import Store
from mesh.store.change import fold
from tests.mesh.store.images import standing


@pytest.fixture
def three(store: Store) -> Store:
    """Return the store with three envelopes in it."""
    store.commit([Append(1, b"one", b"1" * 100), Append(2, b"two", b"2" * 100), Append(3, b"three", b"")])
    return store


@pytest.mark.parametrize(
    ("ops", "found"),
    [
        ([Rewrite(1, b"less", b"1")], [(1, b"less", b"1"), (2, b"two", b"2" * 100), (3, b"three", b"")]),
        ([Rewrite(2, b"a", b""), Rewrite(2, b"b", b"2"), Drop((1, 3))], [(2, b"b", b"2")]),
        ([Rewrite(1, b"a", b""), Drop((1, 2, 3))], []),
        ([Drop((1, 2, 3)), Rewrite(1, b"a", b"")], []),
        ([Drop((1, 2, 3)), Append(4, b"four", b"44"), Rewrite(4, b"4", b"4")], [(4, b"4", b"4")]),
        ([Drop((1, 2, 3)), Append(4, b"four", b"44"), Drop((4,)), Rewrite(4, b"4", b"4")], []),
    ],
)
def test_what_stands_there_is_replaced_and_nothing_comes_into_being(
    three: Store, ops: list[Op], found: list[tuple[int, bytes, bytes]]
) -> None:
    three.commit(ops)
    assert standing(three) == found
    three.commit([Drop((1, 2, 3))])
    three.commit([Rewrite(2, b"late", b"late")])
    assert all(position > 3 for position, _, _ in standing(three))


def test_a_position_that_was_never_given_cannot_be_rewritten(three: Store) -> None:
    for position in (0, 4, 9):
        with pytest.raises(StoreError, match=f"position {position} was rewritten where 4 is next") as found:
            three.commit([Rewrite(position, b"", b""), Drop((1,))])
        assert found.value.code == "BAD_OPS"
    assert len(standing(three)) == 3


def test_a_rewrite_alone_is_something_to_do() -> None:
    assert fold([Rewrite(1, b"", b"")], 2)
    assert not fold([Drop((1,)), Rewrite(1, b"", b"")], 2).rewritten
