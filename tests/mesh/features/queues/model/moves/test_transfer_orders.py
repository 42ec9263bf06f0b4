"""Search of all orders of steps, losses, refusals and restarts, while one message moves between two nodes.

From each state all possible next steps are tried, until no state is new. The decisions come from the real
`transfer`; around it are two disks, which commit one operation after the other, and one connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeVar

import pytest

from mesh.features.queues.model.moves.transfer import IncomingPieces, Outgoing, PieceVerdict, first_of_boot
from tests.seeds import scenarios

LONG = 4  # items on one wire; more show nothing new
SOON = 3_000  # states that suffice to find most planted mistakes
# For the disk: "going", "back", "gone" or "came", the number, and whether it is marked.
Op = tuple[str, int, bool]
# "move", "taken", "refused", "unsure" or "low", the number, the low, whether it is resent, and whether it is
# marked.
Say = tuple[str, int, int, bool, bool]
T = TypeVar("T")


def alike(one: T) -> T:
    """Return a shallow copy. It is made 100,000 times, and copy.copy takes three times as long."""
    made = object.__new__(type(one))
    made.__dict__.update(one.__dict__)
    return made


@dataclass
class Disk:
    """The state that outlives the process."""

    is_ready: bool
    is_marked: bool = False  # may have been delivered before
    going: dict[int, bool] = field(default_factory=dict)  # number -> whether it is marked
    came: bytes = b""
    is_sure: bool = True  # it did not go back


@dataclass
class Side:
    """A node: its disk, and its state in memory."""

    disk: Disk
    boot: int = 1
    is_ready: bool = False
    is_marked: bool = False
    flaw: str = ""
    out: Outgoing[bool] = field(default_factory=lambda: Outgoing(0))
    come: IncomingPieces = field(default_factory=IncomingPieces)
    due: list[Op] = field(default_factory=list)  # operations that go to the disk, in order
    asked: set[int] = field(default_factory=set)  # numbers that wait for an answer here

    def start(self) -> None:
        self.is_ready, self.is_marked = self.disk.is_ready, self.disk.is_marked
        self.out = Outgoing(first_of_boot(self.boot))
        for number, is_marked in self.disk.going.items():
            self.out.restored(number, is_marked)
        self.come = (
            IncomingPieces.unpack(self.disk.came, self.disk.is_sure) if self.disk.came else IncomingPieces()
        )
        self.due, self.asked = [], set()

    def twin(self) -> Side:
        one = alike(self)
        one.disk = alike(self.disk)
        one.disk.going = {**self.disk.going}
        one.out, one.come = alike(self.out), alike(self.come)
        one.out.going, one.out._ending, one.out._fresh = (
            {**self.out.going}, {*self.out._ending}, {*self.out._fresh},
        )  # fmt: skip
        one.come._taken, one.come._coming = self.come._taken.copy(), {*self.come._coming}
        one.due, one.asked = [*self.due], {*self.asked}
        return one


@dataclass
class World:
    """Both nodes, and the messages in transit from each."""

    sides: tuple[Side, Side]
    wires: tuple[list[Say], list[Say]] = field(default_factory=lambda: ([], []))
    is_open: bool = False
    moves: int = 0
    faults: int = 0
    is_excused: bool = False  # a disk is lost, or went back

    def twin(self) -> World:
        """Return a copy that changes independently."""
        (a, b), (x, y) = self.sides, self.wires
        one = alike(self)
        one.sides, one.wires = (a.twin(), b.twin()), ([*x], [*y])
        return one

    def key(self) -> Any:
        return (
            tuple(
                (
                    s.disk.is_ready, s.disk.is_marked, frozenset(s.disk.going.items()), s.disk.came,
                    s.disk.is_sure, s.boot, s.is_ready, s.is_marked, s.out._next,
                    frozenset(s.out.going.items()), frozenset(s.out._ending), frozenset(s.out._fresh),
                    s.come._low, s.come._taken.pack(), frozenset(s.come._coming), s.come._known_from,
                    tuple(s.due), frozenset(s.asked), s.flaw,
                )
                for s in self.sides
            ),
            *map(tuple, self.wires), self.is_open, self.moves, self.faults, self.is_excused,
        )  # fmt: skip


class Law:
    """The rules of both nodes, of which a mistaken subclass overrides one.

    Without a fault there are never two copies of the message. After one, at least one of two copies is
    marked.
    """

    def __init__(self, faults: int = 0) -> None:
        self.is_faulty = bool(faults)

    def begin(self, world: World, i: int) -> None:
        side = world.sides[i]
        side.is_ready = False
        side.due.append(("going", side.out.assign_number(side.is_marked), side.is_marked))

    def commit(self, world: World, i: int) -> None:
        side = world.sides[i]
        what, number, is_marked = side.due.pop(0)
        disk = side.disk
        match what:
            case "going":
                disk.is_ready = False
                disk.going[number] = is_marked
                self.send(world, i, number)
            case "back":
                disk.going.pop(number, None)
                self.ready(side, is_marked)
                side.out.close_number(number)
            case "gone":
                disk.going.pop(number, None)
                side.out.close_number(number)
            case "came":
                self.ready(side, is_marked)
                disk.came = side.come.pack()
                side.come.written(number)
                if number in side.asked:
                    side.asked.discard(number)
                    self.answer(world, i, "taken", number)

    def ready(self, side: Side, is_marked: bool) -> None:
        """Make the message ready here. After a fault, a second copy is no flaw if one of both is marked."""
        is_twice = side.is_ready and not (self.is_faulty and (side.is_marked or is_marked))
        side.is_marked = side.disk.is_marked = is_marked or side.is_ready
        side.disk.is_ready = side.is_ready = True
        if is_twice:
            side.flaw = "twice at one node"

    def send(self, world: World, i: int, number: int) -> None:
        side = world.sides[i]
        if world.is_open and number in side.out.going:
            is_again = side.out.leaves(number)
            world.wires[i].append(("move", number, self.low(side), is_again, side.out.going[number]))

    def low(self, side: Side) -> int:
        return side.out.low

    def say_low(self, world: World, i: int) -> None:
        """Send the low, as another piece would."""
        world.wires[i].append(("low", 0, self.low(world.sides[i]), False, False))

    def answer(self, world: World, i: int, what: str, number: int) -> None:
        if world.is_open:
            world.wires[i].append((what, number, 0, False, False))

    def hear(self, world: World, i: int, takes: bool) -> None:
        """Receive the next item on the wire from the other node."""
        side, (what, number, low, is_again, is_marked) = world.sides[i], world.wires[1 - i].pop(0)
        if what == "move":
            verdict = side.come.classify(number, low, is_again)
            if verdict is PieceVerdict.COMING:
                side.asked.add(number)
            elif verdict is PieceVerdict.TAKEN:
                self.answer(world, i, "taken", number)
            elif verdict is PieceVerdict.REUSED:
                side.flaw = "a number was given twice"
            elif takes:
                self.take(world, i, number, is_marked or verdict is PieceVerdict.PERHAPS)
            else:
                self.refuse(world, i, number, verdict)
        elif what == "low":
            side.come.drop_below(low)
        elif (was_marked := side.out.take_answered(number)) is not None:
            side.due.append(("gone" if what == "taken" else "back", number, was_marked or what == "unsure"))

    def refuse(self, world: World, i: int, number: int, verdict: PieceVerdict) -> None:
        self.answer(world, i, "unsure" if verdict is PieceVerdict.PERHAPS else "refused", number)

    def take(self, world: World, i: int, number: int, is_marked: bool) -> None:
        side = world.sides[i]
        side.come.accept_number(number)
        side.asked.add(number)
        side.due.append(("came", number, is_marked))

    def open(self, world: World) -> None:
        world.is_open = True
        for i in (0, 1):
            side = world.sides[i]
            written = {number for what, number, _ in side.due if what == "going"}
            for number in sorted(side.out.going.keys() - written):
                self.send(world, i, number)

    def close(self, world: World) -> None:
        world.is_open = False
        for i in (0, 1):
            world.wires[i].clear()
            world.sides[i].asked.clear()

    def crash(self, world: World, i: int) -> None:
        self.close(world)
        world.sides[i].boot += 1
        world.sides[i].start()

    # --- faults -------------------------------------------------------------------------------------------

    def forget(self, world: World, i: int) -> None:
        """Give up the other node, and so requeue the messages that were sent there."""
        side = world.sides[i]
        written = {number for what, number, _ in side.due if what == "going"}
        for number in side.out.going.keys() - written:
            side.out.take_answered(number)
            side.due.append(("back", number, True))

    def wipe(self, world: World, i: int) -> None:
        """Lose all of the node's disk, as when a queue is removed and declared again."""
        world.sides[i].disk = Disk(is_ready=False)
        world.is_excused = True
        self.crash(world, i)

    def go_back(self, world: World, i: int) -> None:
        """Restore the first state of the disk, and accept that loss."""
        world.sides[i].disk = Disk(is_ready=i == 0, is_marked=True, is_sure=False)
        world.is_excused = True
        self.crash(world, i)


def nexts(law: Law, world: World, moves: int, boots: int, faults: int) -> Iterator[World]:
    """Yield each possible next state."""
    for i in (0, 1):
        side = world.sides[i]
        if side.is_ready and world.moves < moves:
            law.begin(one := world.twin(), i)
            one.moves += 1
            yield one
        if side.due:
            law.commit(one := world.twin(), i)
            yield one
        if world.wires[1 - i]:
            for takes in (True, False) if world.wires[1 - i][0][0] == "move" else (True,):
                law.hear(one := world.twin(), i, takes)
                yield one
        if world.is_open and not world.wires[i] and side.out:
            law.say_low(one := world.twin(), i)
            yield one
        if side.boot < boots:
            law.crash(one := world.twin(), i)
            yield one
        for fault in (law.forget, law.wipe, law.go_back) if world.faults < faults else ():
            fault(one := world.twin(), i)
            one.faults += 1
            yield one
    if world.is_open:
        law.close(one := world.twin())
        yield one
    else:
        law.open(one := world.twin())
        yield one


def flaw(world: World) -> str:
    """Return the flaw of this state, or ""."""
    sides = world.sides
    if what := sides[0].flaw or sides[1].flaw:
        return what
    for copies in (sides, [side.disk for side in sides]):
        is_said = world.faults and any(copy.is_marked for copy in copies)
        if all(copy.is_ready for copy in copies) and not is_said:
            return "doubled"
    if not any(side.disk.is_ready or side.disk.going for side in sides) and not world.is_excused:
        return "lost"
    return ""


def explored(law: Law, moves: int, boots: int, faults: int = 0, most: float = inf) -> tuple[int, str]:
    """Return the number of states until the first flaw, and that flaw. Stop at about `most` states."""
    world = World((Side(Disk(is_ready=True)), Side(Disk(is_ready=False))))
    for side in world.sides:
        side.start()
    seen, todo = {world.key()}, deque([world])
    while todo and len(seen) < most:
        for one in nexts(law, todo.popleft(), moves, boots, faults):
            if (key := one.key()) in seen:
                continue
            seen.add(key)
            if what := flaw(one):
                return len(seen), what
            if max(map(len, one.wires)) <= LONG:
                todo.append(one)
    return len(seen), ""


@pytest.mark.parametrize("most", scenarios([SOON // 2, inf]))
def test_no_order_loses_or_doubles_it(most: float) -> None:
    states, what = explored(Law(), moves=2, boots=2, most=most)
    assert states > 1_000
    assert not what


@pytest.mark.parametrize("most", scenarios([SOON // 2, inf]))
def test_of_two_copies_one_says_so_whatever_became_of_a_disk(most: float) -> None:
    states, what = explored(Law(1), moves=2, boots=1, faults=1, most=most)
    assert states > 1_000
    assert not what
