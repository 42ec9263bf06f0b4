"""The data directory of a simulated node: the real guard, witness, reserve and boot counter.

Small files are real, on a file system in memory; the store and the free space are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mesh.errors import StoreError, StoreFull
from mesh.local.datadir import DataDir
from mesh.operations import Append, Image, Op, Put
from mesh.store.room import RESERVED, DiskSpace
from mesh.store.roomy import Roomy
from mesh.store.witness import Witness
from mesh.store.witnessed import Witnessed
from tools.simulator.world.disk import SimStore
from tools.simulator.world.volume import Disk

SHALL_BE_FREE = 64 * 1024  # bytes; a quarter of them is the reserve
PLENTY = 1 << 30


class OnDisk:
    """The simulated store, as its guard opens it for one process.

    The store itself outlives the process.
    """

    def __init__(self, disk: Disk, store: SimStore, reserve: Path) -> None:
        self._disk, self._store, self._reserve = disk, store, reserve

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, ops: Sequence[Op]) -> None:
        if self._disk.is_full:
            # The reserve is space for deletions and small rows; it may be in use already.
            has_room = self._disk.has_reserve and not self._reserve.exists()
            if any(isinstance(op, Append if has_room else Append | Put) for op in ops):
                raise StoreFull("no room")
        self._store.commit(ops)

    def copy(self, path: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Raise StoreError, because backups are made by the shell, which is not simulated."""
        raise StoreError("a simulated disk has no files to copy.", code="NOT_AVAILABLE")

    def close(self) -> None:
        """Do nothing, because the store outlives the process."""


class SimRoom(DiskSpace):
    """The real disk space check, on a disk that is full or has plenty."""

    def __init__(self, disk: Disk, directory: Path, spare: Callable[[], int]) -> None:
        self._disk = disk
        super().__init__(directory, SHALL_BE_FREE, spare, nobody_hears)

    @property
    def free(self) -> int:
        return 0 if self._disk.is_full else PLENTY


def nobody_hears(level: str, text: str) -> None:
    """Drop a line that a node would write into its log."""


class Place:
    """The data directory of a node across all of its processes, and the store guard of the current one."""

    def __init__(self, path: Path, disk: Disk, clock: Callable[[], float]) -> None:
        self._path, self._disk, self._clock = path, disk, clock
        self._data: DataDir | None = None
        self._guard: Witnessed | None = None
        self.boot = 0
        self.ended = 0.0  # when a process released it

    @property
    def guard(self) -> Witnessed:
        assert self._guard is not None
        return self._guard

    def open(self, uuid: bytes, store: SimStore, accept_rollback: bool = False) -> Image:
        """Open the directory for a process, and return the content of the store.

        Raises StoreError if the process must not continue with the store.
        """
        self._data = DataDir.open(self._path)
        self.boot = self._data.boot
        self._guard = self._guarded(self._data.path, uuid, store, accept_rollback)
        return self._guard.load()

    def _guarded(self, path: Path, uuid: bytes, store: SimStore, accept_rollback: bool) -> Witnessed:
        self._witness = Witness(path / "witness", uuid, self.boot)
        there: Any = OnDisk(self._disk, store, path / RESERVED)
        room = SimRoom(self._disk, path, there.spare)
        roomy = Roomy(there, room, path, SHALL_BE_FREE // 16, self._clock)
        return Witnessed(roomy, self._witness, self.boot, nobody_hears, accept_rollback, self._clock)

    def let_go(self) -> None:
        """Release the directory after the end of a process, with or without a goodbye."""
        if self._guard is not None:
            self._witness.close()
            self.ended = self._clock()
        if self._data is not None:
            self._data.close()
        self._data = self._guard = None

    def close(self) -> None:
        self.guard.close()
        self.let_go()
