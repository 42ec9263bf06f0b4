"""What does a process find when it starts again?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mesh.errors import StoreFull
from mesh.operations import Append, Image, Op, Put, Stored, StoreReach
from mesh.store.memory import MemoryStore


@dataclass
class Disk:
    """The disk that survives a kill -9, and whether there is room on it."""

    store: MemoryStore
    is_full: bool = False
    is_tight: bool = False  # and is there so little that queues may not grow?
    has_reserve: bool = False  # of room for what adds no message
    boot: int = 0

    def load(self) -> Image:
        return self.store.load()

    def read(self, positions: Collection[int]) -> list[Stored]:
        return self.store.read(positions)

    def refuses(self, ops: Iterable[Op]) -> bool:
        """Is there no room for these?"""
        kinds = Append if self.has_reserve else Append | Put
        return self.is_full and any(isinstance(op, kinds) for op in ops)

    def commit(self, ops: Sequence[Op]) -> None:
        """StoreFull when there is no room for them."""
        if self.refuses(ops):
            raise StoreFull("no room")
        self.store.commit(ops)

    @property
    def reach(self) -> StoreReach:
        return self.store.reach

    def close(self) -> None:
        """Do nothing: the disk stays."""
