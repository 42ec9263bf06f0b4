"""Each query is sent to the right peers, once, and in several turns."""

from collections.abc import Collection

import pytest

from mesh.kernel.asking.aims import Aims
from mesh.wire.commands import Query

A = frozenset({b""})


class Clerk:
    """A user of `Aims` in place of `Demand`.

    It counts how often targets were looked up and how often peers were asked, and keeps which peers each
    query was sent to.
    """

    def __init__(self, *targets: bytes) -> None:
        self.targets, self.looked_up = set(targets), 0
        self.aims = Aims(self.look_up)
        self.asked: dict[Query, set[bytes]] = {}
        self.told = 0

    def look_up(self, query: Query, by: Collection[bytes]) -> set[bytes]:
        self.looked_up += 1
        return set(self.targets)

    def want(self, *numbers: int) -> None:
        for number in numbers:
            query = Query("exact", f"k{number}")
            self.asked[query] = set(self.aims.put(query, "row", A).targets)

    def change(self, *targets: bytes) -> None:
        self.targets = set(targets)
        self.aims.refresh()

    def turn(self, most: int) -> int:
        before = self.told
        for group, queries in self.aims.go_on(most):
            for query in queries:
                self.told += 1
                for peer in group.changed:
                    (set.add if peer in group.targets else set.discard)(self.asked[query], peer)
        return self.told - before

    @property
    def is_right(self) -> bool:
        return all(asked == self.targets for asked in self.asked.values())


def test_trial_18_6_targets_are_looked_up_once_for_all_that_have_the_same() -> None:
    clerk = Clerk(b"x")
    clerk.want(*range(1000))
    clerk.looked_up = 0
    clerk.change(b"x")
    assert clerk.looked_up == 1 and not clerk.aims.is_open and not clerk.turn(100)


def test_trial_18_6_in_a_turn_so_many_are_asked_anew_and_the_next_turn_goes_on() -> None:
    clerk = Clerk(b"x")
    clerk.want(*range(1000))
    clerk.change(b"x", b"y")
    turns = [clerk.turn(300) for _ in range(4)]
    assert turns == [300, 300, 300, 100] and not clerk.aims.is_open
    assert clerk.is_right


def test_trial_18_6_who_flaps_does_not_begin_it_anew() -> None:
    clerk = Clerk(b"x")
    clerk.want(*range(1000))
    touched: set[Query] = set()
    for turn in range(10):
        clerk.change(*((b"x", b"y"), (b"x", b"y", b"z"))[turn % 2])
        before = {query: frozenset(asked) for query, asked in clerk.asked.items()}
        clerk.turn(100)
        touched |= {query for query, asked in clerk.asked.items() if frozenset(asked) != before[query]}
    assert len(touched) == 1000
    while clerk.aims.is_open:
        clerk.turn(100)
    assert clerk.is_right


def test_trial_18_6_what_is_wanted_and_not_wanted_meanwhile_is_right_in_the_end() -> None:
    clerk = Clerk(b"x")
    clerk.want(*range(100))
    clerk.change(b"y")
    clerk.turn(10)
    clerk.want(*range(100, 120))
    for number in (5, 105, 99):
        query = Query("exact", f"k{number}")
        clerk.aims.take(query, "row", A)
        del clerk.asked[query]
    clerk.change(b"z")
    while clerk.aims.is_open:
        clerk.turn(10)
    assert clerk.is_right


def test_trial_18_6_a_group_that_nobody_wants_any_more_is_gone() -> None:
    clerk = Clerk(b"x")
    clerk.want(1)
    clerk.change(b"y")
    clerk.aims.take(Query("exact", "k1"), "row", A)
    assert not clerk.aims.is_open and clerk.aims.group("row", A) is None
    clerk.looked_up = 0
    clerk.change(b"x")
    assert not clerk.looked_up


@pytest.mark.parametrize("most", [1, 7])
def test_trial_18_6_several_groups_share_a_turn(most: int) -> None:
    clerk = Clerk(b"x")
    for row in range(5):
        for number in range(3):
            query = Query("exact", f"r{row}/{number}")
            clerk.asked[query] = set(clerk.aims.put(query, row, A).targets)
    clerk.change(b"y")
    while clerk.aims.is_open:
        assert 1 <= clerk.turn(most) <= most
    assert clerk.is_right
