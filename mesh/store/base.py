"""What must a store be able to do? Its operations, what it holds, and the law each store keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# The small side tables, each from key to value:
#   stream    what is known already of a publisher's stream
#   feed      a subscriber's feed
#   position  how far a feed is settled
#   retained  the last value of a key
#   peer      a node that was met, or an address that somebody gave us
#   weights   how much each node counts for the balancers
TABLES = ("stream", "feed", "position", "retained", "peer", "weights")

FIRST_POSITION = 1


@dataclass(frozen=True, slots=True)
class Append:
    """One more envelope. `position` is the store's next one."""

    position: int
    header: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Drop:
    """Envelopes owed to nobody any more; to drop one a second time does no harm.

    The next position may be dropped without an Append: it was given up, and nothing will stand there.
    """

    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A smaller envelope in the place of one that stands there, with what is still owed of it.

    Where none stands any more it does no harm: nothing comes into being.
    """

    position: int
    header: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Put:
    """Set one row of a side table. `numbers`: those of a publisher's stream that are new in it."""

    table: str
    key: bytes
    value: bytes
    numbers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Take away one row of a side table; a row that is not there does no harm."""

    table: str
    key: bytes


Op = Append | Drop | Rewrite | Put | Delete


@dataclass(frozen=True, slots=True)
class Image:
    """All that a store holds: envelopes as (position, header, body) in order, and every side table."""

    envelopes: list[tuple[int, bytes, bytes]]
    tables: dict[str, dict[bytes, bytes]]
    next_position: int


class Store(Protocol):
    """Envelopes in order, and small tables beside them.

    Law 1: a commit is all or nothing, and durable when it returns (as far as the store is durable).
    Law 2: positions count up from FIRST_POSITION without a hole, over the store's whole life.
    Law 3: what was committed is loaded as it was, or not at all: damage is an error, never a gap.
    Law 4: after any StoreError but StoreFull and BAD_OPS, every later commit fails at once.
    """

    def load(self) -> Image:
        """All that was committed. StoreError DATA_LOSS names what is damaged or missing."""

    def commit(self, ops: Sequence[Op]) -> None:
        """Carry out all of them, in order.

        StoreFull: nothing was written, and the store goes on. StoreError BAD_OPS: the operations
        broke law 2 or name no table; nothing was written. Any other StoreError: the store is at its
        end, and only a new `load` tells whether this commit was written.
        """

    def close(self) -> None:
        """Let go of the store; a second time does no harm."""


class NodeStore(Store, Protocol):
    """A store as a node holds it: it also has work of its own, and something to say."""

    def tend(self) -> float | None:
        """Do what need not be done within a commit, in the thread of the commits. Returns the s after which
        it wants to be called again, though nothing was committed."""

    def heard(self, next_position: int) -> None:
        """Another node knows that our log has come so far. Safe in any thread."""

    def status(self) -> dict[str, int]:
        """Metrics."""


class Untended:
    """A store that needs no care from its node."""

    def __init__(self, store: Store) -> None:
        self.load, self.commit, self.close = store.load, store.commit, store.close

    def tend(self) -> float | None:
        return None

    def heard(self, next_position: int) -> None:
        """Nothing remembers it: the same node will say so again."""

    def status(self) -> dict[str, int]:
        return {}
