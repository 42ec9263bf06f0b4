"""Is everything given once, evenly, and settled once?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.services.consumer import AddressConsumer, shared_out
from tests.each import each


def consumers(*rooms: tuple[int, int]) -> list[AddressConsumer[int]]:
    """With such a credit each, of which so much is out."""
    made = []
    for turn, (credit, out) in enumerate(rooms):
        consumer = AddressConsumer[int](b"", 1, credit, False)
        for message in range(out):
            consumer.add_message(message)
        consumer.turn = turn
        made.append(consumer)
    return made


rooms = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=8)


@given(rooms, st.integers(1, 200))
def test_as_much_is_given_as_there_is_room_for_and_evenly(some: list[tuple[int, int]], n: int) -> None:
    all_of_them = consumers(*some)
    room = {id(c): c.room for c in all_of_them}
    shares = shared_out(all_of_them, n)
    assert sum(share for _, share in shares) == min(n, sum(room.values()))
    assert all(0 < share <= room[id(c)] for c, share in shares)
    given_to = {id(c): share for c, share in shares}
    after = {id(c): len(c.out) + given_to.get(id(c), 0) for c in all_of_them}
    for c in all_of_them:
        if (
            given_to.get(id(c), 0) < room[id(c)]
        ):  # it could have had more: nobody who got some has more than it
            assert all(after[id(other)] <= after[id(c)] + 1 for other, _ in shares)


def test_of_those_that_are_alike_whoever_waited_longest_comes_first() -> None:
    a, b, c = consumers((5, 1), (5, 1), (5, 1))
    a.turn, b.turn, c.turn = 3, 1, 2
    assert shared_out([a, b, c], 1) == [(b, 1)]
    assert shared_out([a, b, c], 2) == [(b, 1), (c, 1)]
    assert shared_out([], 3) == [] == shared_out(consumers((1, 1)), 1)


def test_what_is_settled_is_out_no_more_and_twice_is_nothing() -> None:
    (c,) = consumers((10, 0))
    for message in range(6):
        c.add_message(message)
    assert list(c.settle((2, 3, 5, 5))) == [1, 2, 4] and c.room == 7
    assert list(c.settle((1, 6))) == [0, 3, 5] and list(c.settle((1, 6))) == []
    c.add_message(7)
    assert c.take_message(7) == 7 and c.take_message(7) is None


@each("ranges", [(0, 1), (1, 3), (2, 1), (1,), (1, 2, 5), (1, 2**32 - 1), (3, 3)])
def test_what_was_never_given_cannot_be_settled(ranges: tuple[int, ...]) -> None:
    (c,) = consumers((10, 2))
    with pytest.raises(RemoteError):
        list(c.settle(ranges))


@pytest.mark.parametrize("count", [0, 3, 2**32 - 1])
def test_nor_replied_to(count: int) -> None:
    (c,) = consumers((10, 2))
    with pytest.raises(RemoteError):
        c.take_message(count)
