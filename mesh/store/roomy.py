"""A store that refuses growth while there is still space for necessary writes."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mesh.errors import StoreFull
from mesh.operations import Append, Delete, Image, Op, Put, StoreReach
from mesh.routing.branches import BRANCH
from mesh.store.room import DiskSpace
from mesh.store.sqlite import SQLiteStore

PERIOD = 1.0  # s between two checks of the disk


class Roomy:
    """A store with a reserve. `refused` counts commits that were not even tried, for lack of space.

    Law 6: commits that add no messages succeed as long as the reserve suffices. Commits that add envelopes or
    retained values are refused with StoreFull earlier, before the reserve is needed.
    """

    def __init__(
        self,
        store: SQLiteStore,
        room: DiskSpace,
        path: Path,
        often: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap `store`, whose file is `path`.

        The disk is checked after PERIOD seconds, or earlier when more than `often` bytes of messages came.
        """
        self.refused = 0
        self._store, self._room, self._path, self._clock = store, room, path, clock
        self._often, self._unseen = often, 0  # bytes written since the last check
        self._look_due = clock()
        self.read, self.count_from, self.close = store.read, store.count_from, store.close
        self.copy = store.copy

    def load(self) -> Image:
        image = self._store.load()
        self._look_when_due()
        return image

    def commit(self, ops: Sequence[Op]) -> None:
        grows = _growth(ops)
        self._look_when_due(grows)
        if grows and self._room.is_short:
            self.refused += 1
            raise StoreFull(
                f"The disk of {self._path} has too little space; nothing of this commit was written.",
                hint="Free space there (limits.disk_reserve_bytes is the minimum); the node "
                "continues by itself.",
            )
        try:
            self._store.commit(ops)
        except StoreFull:
            self.release_reserve()
            if grows:
                self.refused += 1
                raise
            self._store.checkpoint()  # restarts the log, which need not grow then
            self._store.commit(ops)
        if self._store.is_cramped:
            self.release_reserve()
            self._store.checkpoint()

    def release_reserve(self) -> None:
        self._room.release_reserve()

    @property
    def is_tight(self) -> bool:
        return self._room.is_tight

    @property
    def reach(self) -> StoreReach:
        return self._store.reach

    def tend(self) -> float | None:
        if not self._room.is_tight:
            return None
        self._look_when_due()
        return max(0.0, self._look_due - self._clock()) if self._room.is_tight else None

    def status(self) -> dict[str, int]:
        return {
            "disk_free": self._room.free,
            "disk_short": int(self._room.is_short),
            "disk_refused": self.refused,
        }

    def _look_when_due(self, size: int = 0) -> None:
        now = self._clock()
        self._unseen += size
        if now >= self._look_due or self._unseen > self._often:
            self._look_due, self._unseen = now + PERIOD, 0
            self._room.measure()


def _growth(ops: Sequence[Op]) -> int:
    """Return the bytes of new messages: envelopes, and retained values in a commit that accepts messages.

    Hidden operations of a transaction count, so its last commit, which deletes them, counts nothing.
    """
    values = sum(len(op.value) for op in ops if isinstance(op, Put) and op.table == BRANCH)
    if not values and any(isinstance(op, Delete) and op.table == BRANCH for op in ops):
        return 0
    if any(isinstance(op, Put) and op.numbers is not None for op in ops):
        values += sum(len(op.value) for op in ops if isinstance(op, Put) and op.table == "retained")
    return values + sum(len(op.body) + len(op.header) for op in ops if isinstance(op, Append))
