"""Whether the calls for one key have an order that explains their results."""

from math import inf

import pytest

from tools.simulator.checks.linear import ABSENT, UNKNOWN, Operation, counter_step, is_linearizable, map_step


def put(begin: float, end: float, content: str, version: int, expected: int = -1) -> Operation:
    return Operation(begin, end, "put" if expected < 0 else "put_if", content, version, expected)


def get(begin: float, end: float, content: str = "", version: int = 0) -> Operation:
    return Operation(begin, end, "get", content, version)


def doubtful(begin: float, word: str, content: str = "", expected: int = -1) -> Operation:
    return Operation(begin, inf, word, content, UNKNOWN, expected, is_doubtful=True)


ONE, TWO = put(1, 2, "x", 5), put(3, 4, "y", 6)
REMOVED = Operation(5, 6, "remove")
NOT_PUT = Operation(5, 6, "not put", expected=5)
LOSS = doubtful(5, "loss")


@pytest.mark.parametrize(
    ("operations", "is_fine"),
    [
        ([ONE, TWO, get(5, 6, "y", 6)], True),
        ([ONE, TWO, get(5, 6, "x", 5)], False),  # read an older value
        ([ONE, get(1, 2)], True),  # at the same time
        ([ONE, get(3, 4)], False),
        ([ONE, get(1.5, 2.5, "x", 5), get(3, 4)], False),
        ([get(1, 2, "x", 5)], False),  # nobody wrote it
        ([ONE, put(3, 4, "y", 6, expected=5)], True),
        ([ONE, TWO, put(5, 6, "z", 7, expected=5)], False),
        ([put(1, 2, "x", 5, expected=0), put(3, 4, "y", 6, expected=0)], False),
        ([ONE, TWO, NOT_PUT], True),
        ([ONE, NOT_PUT], False),  # that version was there
        ([ONE, doubtful(3, "put", "y"), NOT_PUT], True),
        ([ONE, doubtful(3, "put", "y"), get(5, 6, "y", 6), get(7, 8, "x", 5)], False),
        ([ONE, doubtful(3, "put", "y"), get(5, 6, "x", 5), get(7, 8, "y", 6)], True),  # effective later
        ([ONE, doubtful(3, "put", "y"), get(5, 6, "y", 6), get(7, 8, "y", 7)], False),
        ([ONE, REMOVED, get(7, 8)], True),
        ([ONE, REMOVED, get(7, 8, "x", 5)], False),
        ([REMOVED], False),  # nothing was there
        ([ONE, doubtful(3, "remove"), get(5, 6)], True),
        ([ONE, Operation(3, 4, "not removed")], False),
        ([ONE, TWO, Operation(5, 6, "not removed", expected=5)], True),
        ([ONE, TWO, LOSS, get(7, 8, "x", 9), get(9, 10, "x", 9)], True),  # a copy with a new version
        ([ONE, TWO, LOSS, get(7, 8)], True),
        ([ONE, TWO, LOSS, get(7, 8, "x", 9), get(9, 10, "y", 6)], False),
        ([ONE, get(2.5, 2.8), LOSS], False),  # it was read before the loss
    ],
)
def test_a_key_of_a_map(operations: list[Operation], is_fine: bool) -> None:
    contents = [each.content for each in operations if each.word in ("put", "put_if")]
    assert is_linearizable(operations, ABSENT, map_step(contents)) == is_fine


def add(begin: float, end: float, amount: int, value: int) -> Operation:
    return Operation(begin, end, "add", version=value, expected=amount)


def value(begin: float, end: float, found: int) -> Operation:
    return Operation(begin, end, "value", version=found)


@pytest.mark.parametrize(
    ("operations", "is_fine"),
    [
        ([add(1, 2, 10, 10), add(3, 4, 1, 11), value(5, 6, 11)], True),
        ([add(1, 4, 10, 11), add(2, 3, 1, 1)], True),
        ([add(1, 2, 10, 11), add(3, 4, 1, 1)], False),
        ([add(1, 2, 10, 10), doubtful(3, "add", expected=5), value(5, 6, 15)], True),
        ([add(1, 2, 10, 10), doubtful(3, "add", expected=5), value(5, 6, 10), value(7, 8, 15)], True),
        ([add(1, 2, 10, 10), doubtful(3, "add", expected=5), value(5, 6, 20)], False),  # added twice
        ([add(1, 2, 10, 10), LOSS, value(7, 8, 3), add(9, 10, 1, 4)], True),
        ([add(1, 2, 10, 10), LOSS, value(7, 8, 3), add(9, 10, 1, 11)], False),
    ],
)
def test_a_counter(operations: list[Operation], is_fine: bool) -> None:
    start: int | None = 0
    assert is_linearizable(operations, start, counter_step) == is_fine
