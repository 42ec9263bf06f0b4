"""Limits of COMMIT."""

import pytest

from mesh.errors import RemoteError
from mesh.features.transactions.wire import ACK, Commit, Settled
from mesh.wire import commands as c
from mesh.wire.limits import TRANSACTION_OPERATIONS


def settled(*numbers: int, what: int = ACK, stream: bytes = b"s" * 16, queue: str = "jobs") -> Settled:
    return Settled(queue, 1, what, 0, False, stream, numbers)


def is_refused(*settles: Settled) -> bool:
    try:
        c.decode(c.encode(Commit(1, 1, 1, settles=settles)))
    except RemoteError as error:
        assert error.code == "MALFORMED"
        return True
    return False


def test_a_transaction_settles_at_most_10_000_messages() -> None:
    assert not is_refused(settled(1, TRANSACTION_OPERATIONS))
    assert is_refused(settled(1, TRANSACTION_OPERATIONS + 1))
    assert is_refused(settled(1, TRANSACTION_OPERATIONS), settled(1, 1))
    assert is_refused(settled(1, 2**62 - 1))


@pytest.mark.parametrize("numbers", [(), (1,), (2, 1), (1, 1, 1, 1), (0, 1)])
def test_numbers_that_do_not_increase_are_malformed(numbers: tuple[int, ...]) -> None:
    assert is_refused(settled(*numbers))


def test_strange_fields_are_malformed() -> None:
    assert is_refused(settled(1, 1, what=2))
    assert is_refused(settled(1, 1, stream=b"s" * 15))
    assert is_refused(settled(1, 1, queue="q" * 201))
