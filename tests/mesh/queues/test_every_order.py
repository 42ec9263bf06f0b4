"""Every order of steps, losses, refusals and restarts of moving one message between two parts, to and fro.

From each state all that can happen next is tried, until nothing is new. What decides is the real `transfer`;
around it stand two disks that commit one thing after the other, and one connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

from mesh.queues.transfer import Incoming, Outgoing, Verdict, first_of_boot

LONG = 4  # things on one wire: more of them show nothing new
Op = tuple[str, int]  # what goes to the disk: "going", "back", "gone" or "came", and the number
Say = tuple[str, int, int, bool]  # "move", "taken" or "refused", the number, low, is it sent again?


@dataclass
class Disk:
    """What outlives the process."""

    is_ready: bool
    going: set[int] = field(default_factory=set)
    came: bytes = b""


@dataclass
class Side:
    """A node: its disk, and what it knows beside that."""

    disk: Disk
    boot: int = 1
    is_ready: bool = False
    out: Outgoing[str] = field(default_factory=lambda: Outgoing(0))
    come: Incoming = field(default_factory=Incoming)
    due: list[Op] = field(default_factory=list)  # what goes to the disk next, in order
    asked: set[int] = field(default_factory=set)  # numbers that wait for an answer on this connection

    def start(self) -> None:
        self.is_ready = self.disk.is_ready
        self.out = Outgoing(first_of_boot(self.boot))
        for number in self.disk.going:
            self.out.restored(number, "it")
        self.come = Incoming.unpack(self.disk.came) if self.disk.came else Incoming()
        self.due, self.asked = [], set()


@dataclass
class World:
    """Both, and what is on its way from each."""

    sides: tuple[Side, Side]
    wires: tuple[list[Say], list[Say]] = field(default_factory=lambda: ([], []))
    is_open: bool = False
    moves: int = 0
    flaw: str = ""

    def key(self) -> Any:
        return (
            tuple(
                (
                    s.disk.is_ready, frozenset(s.disk.going), s.disk.came, s.boot, s.is_ready, s.out._next,
                    frozenset(s.out.going), frozenset(s.out._ending), frozenset(s.out._fresh), s.come.pack(),
                    frozenset(s.come._coming), s.come._is_known, tuple(s.due), frozenset(s.asked),
                )
                for s in self.sides
            ),
            *map(tuple, self.wires), self.is_open, self.moves,
        )  # fmt: skip


class Law:
    """How the two behave. Mistaken ones overwrite a rule."""

    def begin(self, world: World, i: int) -> None:
        side = world.sides[i]
        side.is_ready = False
        side.due.append(("going", side.out.begin("it")))

    def commit(self, world: World, i: int) -> None:
        side = world.sides[i]
        what, number = side.due.pop(0)
        disk = side.disk
        match what:
            case "going":
                disk.is_ready = False
                disk.going.add(number)
                self.send(world, i, number)
            case "back":
                disk.going.discard(number)
                disk.is_ready = side.is_ready = True
                side.out.ended(number)
            case "gone":
                disk.going.discard(number)
                side.out.ended(number)
            case "came":
                disk.is_ready = side.is_ready = True
                disk.came = side.come.pack()
                side.come.written(number)
                if number in side.asked:
                    side.asked.discard(number)
                    self.answer(world, i, "taken", number)

    def send(self, world: World, i: int, number: int) -> None:
        side = world.sides[i]
        if world.is_open and number in side.out.going:
            is_again = side.out.leaves(number)
            world.wires[i].append(("move", number, self.low(side), is_again))

    def low(self, side: Side) -> int:
        return side.out.low

    def say_low(self, world: World, i: int) -> None:
        """Another piece leaves, of which nothing but this matters here."""
        world.wires[i].append(("low", 0, self.low(world.sides[i]), False))

    def answer(self, world: World, i: int, what: str, number: int) -> None:
        if world.is_open:
            world.wires[i].append((what, number, 0, False))

    def hear(self, world: World, i: int, takes: bool) -> None:
        """The next thing on the wire from the other one."""
        side, (what, number, low, is_again) = world.sides[i], world.wires[1 - i].pop(0)
        if what == "move":
            verdict = side.come.judge(number, low, is_again)
            if verdict is Verdict.COMING:
                side.asked.add(number)
            elif verdict is Verdict.TAKEN:
                self.answer(world, i, "taken", number)
            elif verdict is Verdict.REUSED:
                world.flaw = "a number was given twice"
            elif takes:
                self.take(world, i, number)
            else:
                self.answer(world, i, "refused", number)
        elif what == "low":
            side.come.forget(low)
        elif side.out.answered(number) is not None:
            side.due.append(("gone" if what == "taken" else "back", number))

    def take(self, world: World, i: int, number: int) -> None:
        side = world.sides[i]
        side.come.take(number)
        side.asked.add(number)
        side.due.append(("came", number))

    def open(self, world: World) -> None:
        world.is_open = True
        for i in (0, 1):
            side = world.sides[i]
            written = {number for what, number in side.due if what == "going"}
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


def nexts(law: Law, world: World, moves: int, boots: int) -> Iterator[World]:
    """All that can happen now."""

    def copy() -> World:
        return deepcopy(world)

    for i in (0, 1):
        side = world.sides[i]
        if side.is_ready and world.moves < moves:
            law.begin(one := copy(), i)
            one.moves += 1
            yield one
        if side.due:
            law.commit(one := copy(), i)
            yield one
        if world.wires[1 - i]:
            for takes in (True, False) if world.wires[1 - i][0][0] == "move" else (True,):
                law.hear(one := copy(), i, takes)
                yield one
        if world.is_open and not world.wires[i] and side.out:
            law.say_low(one := copy(), i)
            yield one
        if side.boot < boots:
            law.crash(one := copy(), i)
            yield one
    if world.is_open:
        law.close(one := copy())
        yield one
    else:
        law.open(one := copy())
        yield one


def flaw(world: World) -> str:
    """What is wrong with it; "": nothing."""
    sides = world.sides
    if world.flaw:
        return world.flaw
    if sum(side.is_ready for side in sides) > 1:
        return "doubled"
    if sum(side.disk.is_ready for side in sides) > 1:
        return "doubled on disk"
    if not any(side.disk.is_ready or side.disk.going for side in sides):
        return "lost"
    return ""


def explored(law: Law, moves: int, boots: int) -> tuple[int, str]:
    """How many states there are, up to the first in which something is wrong, and what that is."""
    world = World((Side(Disk(is_ready=True)), Side(Disk(is_ready=False))))
    for side in world.sides:
        side.start()
    seen, todo = {world.key()}, deque([world])
    while todo:
        for one in nexts(law, todo.popleft(), moves, boots):
            if (key := one.key()) in seen:
                continue
            seen.add(key)
            if what := flaw(one):
                return len(seen), what
            if max(map(len, one.wires)) <= LONG:
                todo.append(one)
    return len(seen), ""


def test_no_order_loses_or_doubles_it() -> None:
    states, what = explored(Law(), moves=2, boots=2)
    assert states > 1_000
    assert not what


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

    def take(self, world: World, i: int, number: int) -> None:
        super().take(world, i, number)
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
        if is_refused and ("back", number) in world.sides[i].due:
            world.sides[i].is_ready = True


class LateWords(Law):
    """What was said on one connection is heard on the next."""

    def close(self, world: World) -> None:
        world.is_open = False


class Forgets(Law):
    """What has come is not written down with its number."""

    def take(self, world: World, i: int, number: int) -> None:
        world.sides[i].asked.add(number)
        world.sides[i].due.append(("came", number))


MISTAKES = [EarlyLow, BeginsAgain, AnswersEarly, SendsEarly, ReadyEarly, LateWords, Forgets]


@pytest.mark.parametrize("law", MISTAKES)
def test_a_mistake_is_found(law: type[Law]) -> None:
    assert explored(law(), moves=2, boots=2)[1]
