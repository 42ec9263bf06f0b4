"""The store operations that the core returns, and the contents of a store."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

# The small side tables, each from key to value:
#   stream    the known sequence numbers of a publisher's stream
#   feed      a subscriber's feed
#   position  the settled position of a feed
#   inbox     the key to which an inbox belongs
#   retained  the retained value of a key
#   peer      a node that was met, or a configured address
#   weights   the balancers' weight of each node, as earlier releases wrote it
#   rule      rows that all nodes share, by kind and name
# The tables of queues, and others declared early so that later releases need no new store version:
#   queue     the definition of a queue
#   part      the settled messages of an envelope in a queue, their attempts and destination
#   moved     the messages that one part of a queue accepted from another or passed on
#   consumer  a session that consumes a queue, and the position up to which it may have messages
#   branch    an unfinished transaction
#   done      the outcome of a transaction, for repeated queries
#   site      the state of another site
#   kept      an entry of a map, a counter, a lock
TABLES = (
    *("stream", "feed", "position", "inbox", "retained", "peer", "weights", "rule"),
    *("queue", "part", "moved", "consumer", "branch", "done", "site", "kept"),
)


def moved_key(source: str) -> bytes:
    """Return the key in the table `moved` of the positions last moved here from the node's store `source`.

    No queue has such a name.
    """
    return b"\0" + source.encode()


FIRST_POSITION = 1
# Positions per boot. With the maximum number of boots (mesh.discovery.member.BOOTS), positions reach 2**62.
BOOT = 2**40


class StoreReach(NamedTuple):
    """The progress of a store: the last position of its log, and its number of commits."""

    log: int
    commits: int


@dataclass(frozen=True, slots=True)
class Append:
    """Append an envelope at `position`, the store's next position or the first one of a later boot."""

    position: int
    header: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Drop:
    """Drop envelopes that no sink needs. Dropping one again does no harm.

    The next position, or the first one of a later boot, may be dropped without an Append: the node skips the
    position, which stays empty.
    """

    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace an envelope by a smaller one that keeps only its unsettled messages.

    If there is no envelope at the position, nothing happens.
    """

    position: int
    header: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Put:
    """Set a row of a side table. `numbers`: the first and last new number of a publisher's stream."""

    table: str
    key: bytes
    value: bytes
    numbers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a row of a side table, if it exists."""

    table: str
    key: bytes


Op = Append | Drop | Rewrite | Put | Delete


@dataclass(frozen=True, slots=True)
class Span:
    """The first `most` envelopes at the positions from `first` to `last`."""

    first: int
    last: int
    most: int


Positions = Collection[int] | Span  # the envelopes of a read

Stored = tuple[int, bytes, bytes]  # an envelope in a store: (position, header, body)


@dataclass(frozen=True, slots=True)
class Image:
    """The contents of a store: envelopes in the order of their positions, and all side tables.

    `envelopes` may be larger than memory, so each iteration may read from the disk, and may raise the same
    errors as the store's `load`. Iterate before the next commit. `reach` is that of the store when loaded.
    """

    envelopes: Iterable[Stored]
    tables: dict[str, dict[bytes, bytes]]
    next_position: int
    reach: StoreReach = field(default=StoreReach(0, 0), compare=False)
