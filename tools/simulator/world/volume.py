"""The disk of a simulated node, which survives its processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mesh.errors import StoreFull
from mesh.operations import Append, Image, Op, Positions, Put, Stored, StoreReach
from mesh.store.memory import MemoryStore


@dataclass
class Disk:
    """The disk of a node, which survives a `kill -9`, and its free space."""

    store: MemoryStore
    is_full: bool = False
    is_tight: bool = False  # whether queues may not grow
    has_reserve: bool = False  # of space for what adds no message
    boot: int = 0

    def load(self) -> Image:
        return self.store.load()

    def read(self, positions: Positions) -> list[Stored]:
        return self.store.read(positions)

    def refuses(self, ops: Iterable[Op]) -> bool:
        kinds = Append if self.has_reserve else Append | Put
        return self.is_full and any(isinstance(op, kinds) for op in ops)

    def commit(self, ops: Sequence[Op]) -> None:
        """Write `ops`. Raises StoreFull if there is no space."""
        if self.refuses(ops):
            raise StoreFull("no room")
        self.store.commit(ops)

    @property
    def reach(self) -> StoreReach:
        return self.store.reach

    def close(self) -> None:
        """Do nothing, because the disk outlives the process."""
