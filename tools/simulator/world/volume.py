"""The disk of a simulated node, which survives its processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mesh.errors import StoreFull
from mesh.operations import Append, Image, Op, Positions, Put, Stored, StoreReach
from mesh.store.base import begin
from mesh.store.branches import finish_branches
from mesh.store.memory import MemoryStore
from tools.simulator.world.disk import SimStore


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


def opened(disks: Mapping[str, Disk], boot: int, accept_rollback: bool) -> dict[str, Image]:
    """Open the stores of a node, end interrupted transactions, and return the contents; "" is its own."""
    stores = {name: disk.store for name, disk in disks.items()}
    images = {name: begin(store, boot, accept_rollback and not name) for name, store in stores.items()}
    if finish_branches(stores, images, accept_rollback):
        for store in stores.values():
            if isinstance(store, SimStore):
                store.sync()
        images = {name: begin(store, boot) for name, store in stores.items()}
    return images
