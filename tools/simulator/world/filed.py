"""Comparison of the real store with the simulated one: one run in a hundred writes to both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from mesh.operations import Image, Op, Positions, Stored
from mesh.store.sqlite import SQLiteStore
from tools.running.scratch import memory_directory
from tools.simulator.world.disk import SimStore

ONE_IN = 100  # runs


def folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="heronry-scenario-", dir=memory_directory())


class FiledStore(SimStore):
    """A store that also writes a SQLite file, and compares each read with that file.

    The file is reopened at each start. An old copy is not compared.
    """

    def __init__(
        self, durable: Callable[[Sequence[Op]], None], clock: Callable[[], float], path: Path
    ) -> None:
        super().__init__(durable, clock)
        self._path = path
        self._file = SQLiteStore(path)

    def _keep(self, count: int) -> None:
        for ops in self._cached[:count]:
            self._file.commit(ops)
        super()._keep(count)

    def load(self) -> Image:
        image = super().load()
        self._file.close()
        self._file = SQLiteStore(self._path)
        in_file = self._file.load()
        in_file = replace(in_file, envelopes=list(in_file.envelopes))
        if in_file != image and not self.is_old:
            raise AssertionError(f"the file of SQLite holds {in_file}, and not {image}")
        return image

    def read(self, positions: Positions) -> list[Stored]:
        found, in_file = super().read(positions), self._file.read(positions)
        if in_file != found and not self.is_old:
            raise AssertionError(f"at {positions} the file of SQLite holds {in_file}, and not {found}")
        return found

    def close(self) -> None:
        super().close()
        self._file.close()
