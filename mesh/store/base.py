"""The interface of stores, and the laws that all of them keep."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from mesh.errors import StoreError
from mesh.operations import BOOT, Drop, Image, Op, Positions, Stored, StoreReach


class Store(Protocol):
    """Envelopes in order, with small tables beside them.

    Law 1: a commit is atomic, and durable when it returns (as far as the store is durable).

    Law 2: within a boot, positions increase without gaps. Positions between two boots are skipped. Every
    position below the next one is accounted for over the store's whole life.

    Law 3: committed data is loaded unchanged, or not at all: damage is an error, never a gap.

    Law 4: after any StoreError except StoreFull and BAD_OPS, every later commit fails immediately.
    """

    def load(self) -> Image:
        """Return all committed data. Raises: StoreError DATA_LOSS with a list of the losses."""

    def read(self, positions: Positions) -> list[Stored]:
        """Return the envelopes at `positions`, in the order of positions, without dropped ones.

        Raises: StoreError DATA_LOSS with a list of the losses. The store must not be used afterwards.
        """

    def commit(self, ops: Sequence[Op]) -> None:
        """Apply all operations, in order.

        Raises: StoreFull if the store has too little space, or StoreError BAD_OPS if the operations violate
        law 2 or name an unknown table; nothing was written, and the store stays usable. After any other
        StoreError the store must not be used, and only a new `load` shows whether this commit was written.
        """

    def close(self) -> None:
        """Release the store. Idempotent."""

    @property
    def reach(self) -> StoreReach:
        """The last durable position and the number of commits. Thread-safe."""


class NodeStore(Store, Protocol):
    """A store as used by a node, with maintenance and metrics."""

    def tend(self) -> float | None:
        """Do maintenance on the thread of the commits. Return the seconds until the next call is due.

        `None` means that no call is due before further commits.
        """

    @property
    def is_tight(self) -> bool:
        """Whether the disk has so little space that queues must not grow. Thread-safe."""

    def status(self) -> dict[str, int]: ...

    def copy(self, path: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Copy the store into a new file, on the thread of the commits.

        `meanwhile` is called repeatedly during the copy, and may commit. Raises: StoreError, with code
        NOT_AVAILABLE if the store is not a file. The store stays usable.
        """


class Untended:
    """A node's store that wraps a plain store, without maintenance, metrics, backups or a disk limit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.load, self.read = store.load, store.read
        self.commit, self.close = store.commit, store.close

    @property
    def reach(self) -> StoreReach:
        return self._store.reach

    @property
    def is_tight(self) -> bool:
        return False

    def tend(self) -> float | None:
        return None

    def status(self) -> dict[str, int]:
        return {}

    def copy(self, path: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        hint = "Back up a database with its own tools, such as pg_dump; a store in memory ends with its node."
        what = "This store cannot be copied: only an SQLite store has a backup."
        raise StoreError(what, hint=hint, code="NOT_AVAILABLE")


def begin(store: Store, boot: int, accept_rollback: bool = False) -> Image:
    """Load the store, and return its image with a next position in the range of `boot`, or above.

    Thus no position is assigned twice, even if the store lost its latest data. `accept_rollback` commits one
    dropped position, so that the store exceeds all earlier records of its progress.
    """
    image = store.load()
    position = max(image.next_position, boot * BOOT)
    if accept_rollback:
        store.commit([Drop((position,))])
        position += 1
    return replace(image, next_position=position)
