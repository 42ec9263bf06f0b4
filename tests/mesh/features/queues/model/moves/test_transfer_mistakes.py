"""Planted mistakes in the transfer of a message, all found by the search of all orders."""

from __future__ import annotations

import pytest

from mesh.features.queues.model.moves.transfer import PieceVerdict
from tests.mesh.features.queues.model.moves.test_transfer_orders import SOON, Disk, Law, Side, World, explored
from tests.seeds import scenarios


class EarlyLow(Law):
    """An answered number is closed at once, before that is on disk."""

    def low(self, side: Side) -> int:
        return min(side.out.going, default=side.out._next)


class BeginsAgain(Law):
    """Numbers start at 1 again after a restart."""

    def crash(self, world: World, i: int) -> None:
        super().crash(world, i)
        world.sides[i].out._next = 1


class AnswersEarly(Law):
    """The answer is sent before the commit."""

    def take(self, world: World, i: int, number: int, is_marked: bool) -> None:
        super().take(world, i, number, is_marked)
        self.answer(world, i, "taken", number)
        world.sides[i].asked.clear()


class SendsEarly(Law):
    """A message is sent before its departure is on disk."""

    def begin(self, world: World, i: int) -> None:
        super().begin(world, i)
        self.send(world, i, world.sides[i].due[-1][1])


class ReadyEarly(Law):
    """A refused message is ready before its return is on disk."""

    def hear(self, world: World, i: int, takes: bool) -> None:
        is_refused = world.wires[1 - i][0][0] == "refused"
        number = world.wires[1 - i][0][1]
        super().hear(world, i, takes)
        if is_refused and ("back", number, False) in world.sides[i].due:
            world.sides[i].is_ready = True


class LateWords(Law):
    """Commands of one connection are received on the next one."""

    def close(self, world: World) -> None:
        world.is_open = False


class Forgets(Law):
    """An arrived number is not written to disk."""

    def take(self, world: World, i: int, number: int, is_marked: bool) -> None:
        world.sides[i].asked.add(number)
        world.sides[i].due.append(("came", number, is_marked))


class SureOfItself(Law):
    """A node that lost its disk answers a refused message as if it had never had it."""

    def refuse(self, world: World, i: int, number: int, verdict: PieceVerdict) -> None:
        self.answer(world, i, "refused", number)


class SureAgain(Law):
    """A disk that went back is trusted to know all arrived numbers."""

    def go_back(self, world: World, i: int) -> None:
        world.sides[i].disk = Disk(is_ready=i == 0)
        world.is_excused = True
        self.crash(world, i)


class SureOfOthers(Law):
    """Messages that were sent to a lost node are marked as never delivered."""

    def forget(self, world: World, i: int) -> None:
        super().forget(world, i)
        side = world.sides[i]
        side.due[:] = [(what, number, False) for what, number, _ in side.due]


MISTAKES = [EarlyLow, BeginsAgain, AnswersEarly, SendsEarly, ReadyEarly, LateWords, Forgets]


@pytest.mark.parametrize("law", scenarios(MISTAKES, 3))
def test_a_mistake_is_found(law: type[Law]) -> None:
    assert explored(law(), moves=2, boots=2, most=SOON)[1]


@pytest.mark.parametrize("law", scenarios([SureOfOthers, SureAgain, SureOfItself], 2))
def test_a_mistake_after_a_fault_is_found(law: type[Law]) -> None:
    assert explored(law(1), moves=2, boots=1, faults=1)[1]
