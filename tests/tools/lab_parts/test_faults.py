"""The faults of the lab end by themselves, whatever happens to their victims."""

import random
from collections.abc import Callable
from typing import Any, cast

import pytest

from tools.lab_parts.faults import NO_SPACE, Victims, fill_disk
from tools.running.processes import Failed, Interrupted


class FakeDisk:
    def __init__(self) -> None:
        self.is_full = False

    def fill(self) -> None:
        self.is_full = True

    def empty(self) -> None:
        self.is_full = False


class FakeNode:
    """A node together with its program, which ends on a full disk with `words` if they are not empty."""

    name = "heron"

    def __init__(self, disk: FakeDisk, words: str) -> None:
        self._disk, self._words = disk, words
        self.starts, self.kills, self.is_ended = 1, 0, False
        self.program = self

    def kill(self) -> None:
        self.kills += 1

    def launch(self) -> None:
        self.starts += 1
        self.is_ended = bool(self._words) and self._disk.is_full

    def ended(self) -> bool:
        return self.is_ended

    def words(self) -> str:
        return self._words

    def is_ready(self) -> bool:
        if self.is_ended:
            raise Failed("heron ended by itself")
        return True


class FakeProcesses:
    def __init__(self, is_interrupted: bool = False) -> None:
        self._is_interrupted = is_interrupted

    def pause(self, seconds: float) -> None:
        if self._is_interrupted:
            raise Interrupted

    def until(self, condition: Callable[[], object], limit: float, failure: str) -> None:
        assert condition()


def victims(disk: FakeDisk, node: FakeNode, *, kills: bool, is_interrupted: bool = False) -> Victims:
    seed = next(n for n in range(100) if _kills(n) == kills)
    processes: Any = FakeProcesses(is_interrupted)
    chance = random.Random(seed)
    return Victims(processes, [cast(Any, node)], None, chance, {"heron": cast(Any, disk)})


def _kills(seed: int) -> bool:
    chance = random.Random(seed)
    chance.choice([0])
    chance.uniform(1.0, 5.0)
    return chance.random() < 0.5


@pytest.mark.parametrize(
    ("kills", "words", "starts"), [(False, "", 1), (True, "", 2), (True, f"[x] {NO_SPACE}", 3)]
)
def test_a_full_disk_has_room_again_and_its_node_runs(kills: bool, words: str, starts: int) -> None:
    disk = FakeDisk()
    node = FakeNode(disk, words)
    fill_disk(victims(disk, node, kills=kills))
    assert (disk.is_full, node.is_ended, node.starts, node.kills) == (False, False, starts, int(kills))


def test_a_node_that_ends_for_another_reason_is_a_failure() -> None:
    disk = FakeDisk()
    with pytest.raises(Failed):
        fill_disk(victims(disk, FakeNode(disk, "a traceback"), kills=True))


def test_a_disk_is_emptied_when_the_run_is_interrupted() -> None:
    disk = FakeDisk()
    with pytest.raises(Interrupted):
        fill_disk(victims(disk, FakeNode(disk, ""), kills=False, is_interrupted=True))
    assert not disk.is_full
