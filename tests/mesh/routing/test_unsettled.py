"""Unsettled slices: how many a peer keeps of a master's log."""

from types import SimpleNamespace
from typing import Any

from mesh.routing.unsettled import Unsettled

MINE, OTHER = b"m" * 16, b"o" * 16


def slice_of(position: int, master: bytes = MINE, messages: int = 2) -> Any:
    return SimpleNamespace(
        stored=SimpleNamespace(master=master, position=position), messages=messages, size=10
    )


def test_the_messages_of_one_log_below_a_position_are_counted_until_they_are_settled() -> None:
    unsettled = Unsettled(1000)
    for position in (5, 3, 9):
        unsettled.add_slice(slice_of(position))
    unsettled.add_slice(slice_of(1, OTHER))
    assert [unsettled.count(MINE, below) for below in (3, 4, 9, float("inf"))] == [0, 2, 4, 6]
    assert unsettled.count(OTHER, 2) == 2 and unsettled.count(b"", 9) == 0
    unsettled.settle(MINE, 5)
    assert unsettled.count(MINE, float("inf")) == 2
