"""A fake store, room and witness, for tests of the wrappers of a store."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mesh.errors import StoreFull
from mesh.operations import Append, Drop, Image, Op, StoreReach
from mesh.store.roomy import Roomy

GROWS, SMALL = [Append(1, b"", b"body")], [Drop((1,))]


class Beneath:
    """A store, a room and a witness in one. A test makes them fail; `did` lists the calls."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.full = 0  # number of writes that find no space
        self.is_cramped = self.is_short = self.is_tight = False
        self.broken: list[int] = []  # error numbers of the next witness writes
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

    def record_progress(self, commits: int, next_position: int) -> None:
        if self.broken:
            raise OSError(self.broken.pop(0), "broken")
        self.did.append("record_progress")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def roomy(clock: Clock) -> tuple[Any, Beneath]:
    beneath: Any = Beneath()
    return Roomy(beneath, beneath, Path("store.sqlite"), 100, clock), beneath
