"""What is a store asked to do, and what does it hold? Values that the core returns."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

# The small side tables, each from key to value:
#   stream    what is known already of a publisher's stream
#   feed      a subscriber's feed
#   position  how far a feed is settled
#   inbox     the key that an inbox belongs to
#   retained  the last value of a key
#   peer      a node that was met, or an address that somebody gave us
#   weights   how much each node counts for the balancers, as earlier releases wrote it
#   rule      rows that all nodes share, by kind and name
# Declared, so that releases to come need no other version of their stores; nothing writes them yet:
#   queue     the definition of a queue
#   part      what of an envelope in a queue is done, how often it was tried, where it goes
#   moved     what one part of a queue has taken of another's; and what it has given itself, up to where
#   consumer  a session that consumes from a queue, and how far it may have been given messages
#   branch    a transaction, until all of it is done
#   done      the outcome of a transaction, for who asks again
#   site      how another site stands with this one
#   kept      an entry of a map, a counter, a lock
TABLES = (
    *("stream", "feed", "position", "inbox", "retained", "peer", "weights", "rule"),
    *("queue", "part", "moved", "consumer", "branch", "done", "site", "kept"),
)

FIRST_POSITION = 1
# Positions of one boot. With the most boots that a node can have (discovery.member.BOOTS) it is 2**62.
BOOT = 2**40


class StoreReach(NamedTuple):
    """The reach of a store: the last position of its log, and how many commits it has carried out."""

    log: int
    commits: int


@dataclass(frozen=True, slots=True)
class Append:
    """One more envelope. `position` is the store's next one, or the first one of a later boot."""

    position: int
    header: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Drop:
    """Envelopes owed to nobody any more; to drop one a second time does no harm.

    The next position may be dropped without an Append: it was given up, and nothing will stand there. So
    may the first one of a later boot.
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


Stored = tuple[int, bytes, bytes]  # an envelope in a store: (position, header, body)


@dataclass(frozen=True, slots=True)
class Image:
    """All that a store holds: envelopes in the order of their positions, and every side table.

    `envelopes` may read them from the disk as somebody goes through them, each time anew, since together
    they may be larger than memory: before the next commit, and StoreError as the store's `load`.
    `reach`: how far it had come when it was opened.
    """

    envelopes: Iterable[Stored]
    tables: dict[str, dict[bytes, bytes]]
    next_position: int
    reach: StoreReach = field(default=StoreReach(0, 0), compare=False)
