"""A simulated store: commits stay in a cache until they are synced, and a crash loses some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any
from zlib import crc32

from mesh.errors import StoreError
from mesh.operations import Append, Delete, Drop, Image, Op, Put
from mesh.store.memory import MemoryStore

Place = tuple[str, bytes]
OWN = (
    "_durable",
    "_clock",
    "_path",
    "_file",
    "_copy",
    "_copied",
    "_newest",
    "_written",
    "_cached",
    "is_accepted",
)  # attributes that are not part of a copy


class SimStore(MemoryStore):
    """A store in memory.

    `durable` is called with every commit that a crash can no longer undo.
    """

    def __init__(self, durable: Callable[[Sequence[Op]], None], clock: Callable[[], float] = float) -> None:
        super().__init__()
        self._durable, self._clock = durable, clock
        self._copy: dict[str, Any] | None = None  # an old copy
        self._copied = 0.0  # time of the old copy
        self._newest: dict[str, Any] | None = None  # content before the old copy replaced it
        self._written: list[float] = []  # times of commits
        self.is_accepted = False  # whether the node continues with an old copy
        self._cached: list[tuple[Op, ...]] = []
        self.is_cramped = False
        self._sums: dict[Place, int] = {}
        self._sound: tuple[Place, bytes] | None = None  # the row before a bit was flipped

    def commit(self, ops: Sequence[Op]) -> None:
        self._cached.append(tuple(ops))

    def sync(self) -> None:
        """Make all commits so far durable."""
        self._keep(len(self._cached))

    def crash(self, dice: Random) -> None:
        """Keep a random number of the first unsynced commits, each as a whole."""
        self._keep(dice.randint(0, len(self._cached)))
        self._cached.clear()

    def _keep(self, count: int) -> None:
        kept, self._cached = self._cached[:count], self._cached[count:]
        if any(kept) and self._copy is not None:  # an empty one only waits for earlier ones
            self._written.append(self._clock())
        for ops in kept:
            super().commit(ops)
            for op in ops:
                self._sum(op)
            self._durable(ops)

    def count_from(self, commits: int) -> None:
        self._commits = commits

    def copy(self, path: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Raise StoreError, because simulated stores have no backups."""
        raise StoreError("it is no file", code="NOT_AVAILABLE")

    def spare(self) -> int:
        """Return 0, because a simulated store has no free bytes of its own."""
        return 0

    def checkpoint(self) -> None:
        """Do nothing, because there is no separate log."""

    # --- an old copy ------------------------------------------------------------------------------------

    def keep_copy(self, now: float) -> None:
        """Keep a copy of all that is durable now."""
        self._copy, self._copied = self._all(), now

    def put_back(self, before: float) -> bool:
        """Replace the content by the copy, and return whether that was done.

        The copy must lack a commit that was written before `before`, and the content must not be old already.
        """
        lacks = any(self._copied < at < before for at in self._written)
        if self._copy is None or self.is_old or not lacks:
            return False
        self._newest = self._all()
        vars(self).update(self._copy)
        self._copy = None
        return True

    @property
    def is_old(self) -> bool:
        """Whether the content is, or descends from, an old copy."""
        return self._newest is not None or self.is_accepted

    def _all(self) -> dict[str, Any]:
        return {name: deepcopy(value) for name, value in vars(self).items() if name not in OWN}

    def _sum(self, op: Op) -> None:
        match op:
            case Append(position, header, body):
                self._sums["", position.to_bytes(8)] = crc32(header + body)
            case Drop(positions):
                for position in positions:
                    self._sums.pop(("", position.to_bytes(8)), None)
            case Put(table, key, value):
                self._sums[table, key] = crc32(value)
            case Delete(table, key):
                self._sums.pop((table, key), None)

    # --- rot ----------------------------------------------------------------------------------------------

    def rot(self, dice: Random) -> bool:
        """Flip a random bit, and return whether the store had one to flip.

        At most one bit is flipped at a time.
        """
        rows = [
            (table, key) for table, found in self._tables.items() for key, value in found.items() if value
        ]
        if self._sound is not None or not rows:
            return False
        table, key = dice.choice(sorted(rows))
        value = self._tables[table][key]
        bit = dice.randrange(8 * len(value))
        flipped = bytearray(value)
        flipped[bit // 8] ^= 1 << bit % 8
        self._sound, self._tables[table][key] = ((table, key), value), bytes(flipped)
        return True

    def restore(self) -> None:
        """Restore the flipped bit and, unless the node has accepted an old copy, the newest content."""
        if self._newest is not None and not self.is_accepted:
            vars(self).update(self._newest)
            self._newest = None
        if self._sound is not None:
            (table, key), value = self._sound
            self._tables[table][key] = value
            self._sound = None

    def load(self) -> Image:
        image = super().load()
        for table, rows in image.tables.items():
            for key, value in rows.items():
                if crc32(value) != self._sums[table, key]:
                    raise StoreError(f"a row of {table} is damaged", code="DATA_LOSS")
        return image
