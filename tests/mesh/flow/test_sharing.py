"""Messages are shared out evenly, within the credit of each consumer."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.sharing import shared_out


@dataclass(eq=False)
class Consumer:
    """A consumer with a credit, of which `busy` is used up."""

    credit: int
    busy: int
    turn: int

    @property
    def room(self) -> int:
        return max(0, self.credit - self.busy)


def consumers(*rooms: tuple[int, int]) -> list[Consumer]:
    return [Consumer(credit, busy, turn) for turn, (credit, busy) in enumerate(rooms)]


rooms = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=8)


@given(rooms, st.integers(1, 200))
def test_as_much_is_given_as_there_is_room_for_and_evenly(some: list[tuple[int, int]], n: int) -> None:
    all_of_them = consumers(*some)
    room = {id(c): c.room for c in all_of_them}
    shares = shared_out(all_of_them, n)
    assert sum(share for _, share in shares) == min(n, sum(room.values()))
    assert all(0 < share <= room[id(c)] for c, share in shares)
    given_to = {id(c): share for c, share in shares}
    after = {id(c): c.busy + given_to.get(id(c), 0) for c in all_of_them}
    for c in all_of_them:
        if given_to.get(id(c), 0) < room[id(c)]:  # no other consumer holds more
            assert all(after[id(other)] <= after[id(c)] + 1 for other, _ in shares)


def test_of_those_that_are_alike_whoever_waited_longest_comes_first() -> None:
    a, b, c = consumers((5, 1), (5, 1), (5, 1))
    a.turn, b.turn, c.turn = 3, 1, 2
    assert shared_out([a, b, c], 1) == [(b, 1)]
    assert shared_out([a, b, c], 2) == [(b, 1), (c, 1)]
    assert shared_out([], 3) == [] == shared_out(consumers((1, 1)), 1)
