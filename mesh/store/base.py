"""What must a store be able to do? The law that each keeps."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Protocol

from mesh.errors import StoreError
from mesh.operations import BOOT, Drop, Image, Op, Stored, StoreReach


class Store(Protocol):
    """Envelopes in order, and small tables beside them.

    Law 1: a commit is all or nothing, and durable when it returns (as far as the store is durable).
    Law 2: within a boot positions count up without a hole. What lies between two boots is given up, and
           each position below the next one is accounted for over the store's whole life.
    Law 3: what was committed is loaded as it was, or not at all: damage is an error, never a gap.
    Law 4: after any StoreError but StoreFull and BAD_OPS, every later commit fails at once.
    """

    def load(self) -> Image:
        """All that was committed. StoreError DATA_LOSS names what is damaged or missing."""

    def read(self, positions: Collection[int]) -> list[Stored]:
        """The envelopes that stand at these positions by now, in order; what was dropped is left out.

        StoreError DATA_LOSS names what is damaged or missing; after that one the store is at its end, too.
        """

    def commit(self, ops: Sequence[Op]) -> None:
        """Carry out all of them, in order.

        StoreFull: nothing was written, and the store goes on. StoreError BAD_OPS: the operations
        broke law 2 or name no table; nothing was written. Any other StoreError: the store is at its
        end, and only a new `load` tells whether this commit was written.
        """

    def close(self) -> None:
        """Let go of the store; a second time does no harm."""

    @property
    def reach(self) -> StoreReach:
        """The reach of the store by now, with all that is durable. Safe in any thread."""


class NodeStore(Store, Protocol):
    """A store as a node holds it: it also has work of its own, and something to say."""

    def tend(self) -> float | None:
        """Do what need not be done within a commit, in the thread of the commits. Returns the s after which
        it wants to be called again, though nothing was committed."""

    @property
    def is_tight(self) -> bool:
        """Is so little room left on its disk that queues may not grow? Safe in any thread."""

    def status(self) -> dict[str, int]:
        """Metrics."""

    def copy(self, path: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Write what it holds into a new file, in the thread of the commits; `meanwhile` may commit.

        StoreError, also NOT_AVAILABLE: it is no file. It goes on all the same."""


class Untended:
    """A store that needs no care from its node."""

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
        hint = "Of a database its own tools make one, such as pg_dump; what is in memory goes with its node."
        raise StoreError("only a store in a file of SQLite has a backup.", hint=hint, code="NOT_AVAILABLE")


def begin(store: Store, boot: int, accept_rollback: bool = False) -> Image:
    """The image of the store; its log goes on where the positions of this boot begin.

    So whatever it has forgotten of its end, no position is given twice, and nobody takes what is new for a
    repeat. `accept_rollback`: and no earlier word about it says more than the store, from now on.
    """
    image = store.load()
    position = max(image.next_position, boot * BOOT)
    if accept_rollback:
        store.commit([Drop((position,))])
        position += 1
    return replace(image, next_position=position)
