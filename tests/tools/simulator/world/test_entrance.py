"""A simulated process follows its connections by descriptors that are reused."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tools.simulator.planted import BUGS, planted
from tools.simulator.world.entrance import LATE, Entrance
from tools.simulator.world.network import Network, Pipe


class Door:
    """A process with an entrance, which dials itself."""

    name = "a"

    def __init__(self) -> None:
        self.net = Network[Any]()
        self.came_in: dict[Any, Pipe] = {}
        self.out: list[Pipe] = []
        self.again = 0
        self.entrance = Entrance(self.net, self, Random(1))
        self.net.bound["here"] = self

    def awake(self, what: Any) -> None:
        what()

    def throws_out(self, pipe: Pipe) -> None:
        self.out.append(pipe)

    def uses_again(self) -> None:
        self.again += 1

    def hear(self, key: Any, frames: list[bytes]) -> None: ...

    def on_closed(self, key: Any) -> None: ...

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None: ...

    def opened(self) -> Pipe:
        """Return a new connection on which a message has arrived."""
        pipe = self.net.connect(self, "out", "here")
        assert pipe is not None
        self.entrance.entered(pipe)
        self.entrance.spoke(pipe)
        return pipe

    def broken(self, pipe: Pipe) -> None:
        pipe.lose()
        self.entrance.ended(pipe)


def test_the_end_of_a_connection_is_told_though_another_one_has_its_descriptor() -> None:
    door = Door()
    one = door.opened()
    door.broken(one)
    other = door.opened()
    door.net.run(LATE)
    assert door.out == [one] and other.is_open and door.again == 1


def test_a_late_end_that_counts_for_the_next_connection_is_seen() -> None:
    door = Door()
    one = door.opened()
    door.broken(one)
    with planted(BUGS["an end is that of whoever has the descriptor now"]):
        other = door.opened()
        door.net.run(LATE)
    assert other in door.out and other.is_open


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_connection_that_the_core_hangs_up_on_ends(is_wanted: bool) -> None:
    door = Door()
    pipe = door.opened()
    if not is_wanted:
        door.entrance.hang_up(pipe.keys[1])
    door.net.run(LATE)
    assert pipe.is_open is is_wanted and door.out == []
