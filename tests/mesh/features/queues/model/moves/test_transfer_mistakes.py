"""The search of all orders finds mistakes that are planted in the transfer of a message."""

from __future__ import annotations

import pytest

from mesh.features.queues.model.moves.transfer import PieceVerdict
from tests.mesh.features.queues.model.moves.test_transfer_orders import SOON, Disk, Law, Side, World, explored
from tests.seeds import stories


class EarlyLow(Law):
    """What is answered is closed at once, before that is on disk."""

    def low(self, side: Side) -> int:
        return min(side.out.going, default=side.out._next)


class BeginsAgain(Law):
    """Numbers begin at 1 after a restart."""

    def crash(self, world: World, i: int) -> None:
        super().crash(world, i)
        world.sides[i].out._next = 1


class AnswersEarly(Law):
    """An answer before the commit."""

    def take(self, world: World, i: int, number: int, is_marked: bool) -> None:
        super().take(world, i, number, is_marked)
        self.answer(world, i, "taken", number)
        world.sides[i].asked.clear()


class SendsEarly(Law):
    """It leaves before it is on disk that it does."""

    def begin(self, world: World, i: int) -> None:
        super().begin(world, i)
        self.send(world, i, world.sides[i].due[-1][1])


class ReadyEarly(Law):
    """What was refused is given out before that is on disk."""

    def hear(self, world: World, i: int, takes: bool) -> None:
        is_refused = world.wires[1 - i][0][0] == "refused"
        number = world.wires[1 - i][0][1]
        super().hear(world, i, takes)
        if is_refused and ("back", number, False) in world.sides[i].due:
            world.sides[i].is_ready = True


class LateWords(Law):
    """What was said on one connection is heard on the next."""

    def close(self, world: World) -> None:
        world.is_open = False


class Forgets(Law):
    """What has come is not written down with its number."""

    def take(self, world: World, i: int, number: int, is_marked: bool) -> None:
        world.sides[i].asked.add(number)
        world.sides[i].due.append(("came", number, is_marked))


class SureOfItself(Law):
    """Who has lost his disk says of what he refuses that he never had it."""

    def refuse(self, world: World, i: int, number: int, verdict: PieceVerdict) -> None:
        self.answer(world, i, "refused", number)


class SureAgain(Law):
    """A disk that went back is believed to know all that has come."""

    def go_back(self, world: World, i: int) -> None:
        world.sides[i].disk = Disk(is_ready=i == 0)
        world.is_excused = True
        self.crash(world, i)


class SureOfOthers(Law):
    """What went to a node that is gone is said to have been given to nobody."""

    def forget(self, world: World, i: int) -> None:
        super().forget(world, i)
        side = world.sides[i]
        side.due[:] = [(what, number, False) for what, number, _ in side.due]


MISTAKES = [EarlyLow, BeginsAgain, AnswersEarly, SendsEarly, ReadyEarly, LateWords, Forgets]


@pytest.mark.parametrize("law", stories(MISTAKES, 3))
def test_a_mistake_is_found(law: type[Law]) -> None:
    assert explored(law(), moves=2, boots=2, most=SOON)[1]


@pytest.mark.parametrize("law", stories([SureOfOthers, SureAgain, SureOfItself], 2))
def test_a_mistake_after_a_fault_is_found(law: type[Law]) -> None:
    assert explored(law(1), moves=2, boots=1, faults=1)[1]
