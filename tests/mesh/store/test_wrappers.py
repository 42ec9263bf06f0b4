"""What do the two wrappers of a store do, each by itself, when a write fails beneath them?"""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mesh.errors import StoreError, StoreFull
from mesh.operations import Append, Drop, Image, Op, StoreReach
from mesh.store.roomy import PERIOD, Roomy
from mesh.store.witnessed import Witnessed

GROWS, SMALL = [Append(1, b"", b"body")], [Drop((1,))]


class Beneath:
    """A store, a room and a witness, which do as they are told, and say what was done."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.full = 0  # so many writes find no room
        self.is_cramped = self.is_short = False
        self.broken: list[int] = []  # the witness fails with these
        self.known, self.is_ours, self.path = None, False, Path("witness")
        self.reach = StoreReach(0, 0)
        self.free = 0

    def load(self) -> Image:
        return Image([], {}, 1)

    def commit(self, ops: Sequence[Op]) -> None:
        if self.full:
            self.full -= 1
            self.did.append("full")
            raise StoreFull("no room")
        self.did.append("commit")

    def count_from(self, commits: int) -> None:
        self.did.append(f"count from {commits}")

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.did.append(name)

    def write(self, commits: int, next_position: int) -> None:
        if self.broken:
            raise OSError(self.broken.pop(0), "broken")
        self.did.append("write")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def roomy(clock: Clock) -> tuple[Any, Beneath]:
    beneath: Any = Beneath()
    return Roomy(beneath, beneath, Path("store.sqlite"), 100, clock), beneath


def witnessed(clock: Clock) -> tuple[Witnessed, Beneath]:
    store, beneath = roomy(clock)
    there: Any = beneath
    both = Witnessed(store, there, 1, lambda level, text: None, clock=clock)
    both.load()
    beneath.did.clear()
    return both, beneath


def test_the_disk_is_looked_at_when_the_store_is_loaded_and_then_once_in_a_while() -> None:
    clock = Clock()
    store, beneath = roomy(clock)
    store.load()
    store.commit(SMALL)
    assert beneath.did == ["look", "commit"]
    clock.now = PERIOD
    store.commit(SMALL)
    store.commit([Append(2, b"", bytes(101))])
    assert beneath.did[2:] == ["look", "commit", "look", "commit"]


def test_what_is_small_has_the_reserve_and_is_tried_once_more_and_what_adds_is_refused() -> None:
    store, beneath = roomy(Clock())
    store.load()
    beneath.full = 1
    store.commit(SMALL)
    assert beneath.did == ["look", "full", "give", "checkpoint", "commit"]
    beneath.full = 1
    with pytest.raises(StoreFull):
        store.commit(GROWS)
    assert beneath.did[5:] == ["full", "give"]


def test_a_log_that_has_no_room_to_be_moved_gets_the_reserve() -> None:
    store, beneath = roomy(Clock())
    store.load()
    beneath.is_cramped = True
    store.commit(GROWS)
    assert beneath.did == ["look", "commit", "give", "checkpoint"]


def test_nothing_is_committed_any_more_when_the_witness_has_failed() -> None:
    clock = Clock()
    store, beneath = witnessed(clock)
    store.commit(SMALL)
    beneath.broken, clock.now = [errno.EIO], PERIOD
    for act in (store.tend, lambda: store.commit(SMALL)):
        with pytest.raises(StoreError, match="witness failed"):
            act()
    assert (beneath.did, store.tend()) == (["commit"], None)
    store.close()
    assert "write" not in beneath.did


def test_a_witness_without_room_gets_the_reserve_and_is_told_later_if_that_does_not_help() -> None:
    clock = Clock()
    store, beneath = witnessed(clock)
    store.commit(SMALL)
    beneath.broken, clock.now = [errno.ENOSPC] * 2, PERIOD
    assert store.tend() == PERIOD
    assert beneath.did == ["commit", "give", "give"]
    clock.now += PERIOD
    assert (store.tend(), beneath.did[3:]) == (None, ["write"])


def test_it_wants_to_be_called_for_what_is_due_first() -> None:
    clock = Clock()
    store, beneath = witnessed(clock)
    clock.now, beneath.is_short = PERIOD / 4, True
    assert store.tend() == PERIOD * 3 / 4, "a look at the disk"
    clock.now = PERIOD
    assert store.tend() == PERIOD, "it has looked"
    store.commit(SMALL)
    clock.now = PERIOD * 3 / 2
    assert store.tend() == PERIOD / 2
    assert beneath.did == ["look", "commit", "write"]
    beneath.is_short = False
    assert store.tend() is None
    store.commit(SMALL)
    assert store.tend() == PERIOD, "the witness only"
