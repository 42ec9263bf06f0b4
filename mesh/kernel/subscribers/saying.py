"""An INTEREST that arrives in parts, with the earlier queries of its peer that no part has named so far."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field

from mesh.errors import RemoteError
from mesh.kernel.peers.peer import Peer
from mesh.routing.interest import weight
from mesh.routing.peerfeed import PeerFeed
from mesh.wire.commands import Interest, Query
from mesh.wire.limits import MIB

WANTED = 1_000_000  # queries of one peer, each a row on disk
WANTED_BYTES = 256 * MIB  # bytes of their texts


@dataclass(slots=True)
class Saying:
    """An INTEREST that is not yet applied completely.

    A `full` INTEREST names all queries of its peer. `unsaid` then has the earlier queries that no part has
    named so far; the queries that are left at the end are dropped.
    """

    version: int
    full: bool
    positions: tuple[tuple[bytes, int], ...]
    unsaid: dict[Query, int]
    unsaid_bytes: int
    rows: dict[Hashable, Query] = field(default_factory=dict)  # one added query for each row of the rules
    is_said: bool = False  # the last part has arrived

    @classmethod
    def of(cls, first: Interest, feed: PeerFeed) -> Saying:
        """Return the state of an INTEREST from its first part, before its queries are recorded."""
        unsaid = dict(feed.queries) if first.full else {}
        size = feed.wanted_bytes if first.full else 0
        return cls(first.version, first.full, first.positions, unsaid, size)

    def check_next(self, peer: Peer, part: Interest) -> None:
        """Raise RemoteError if `part` belongs to an INTEREST other than the unfinished one."""
        if (part.version, part.full) != (self.version, self.full):
            what = f"{peer.node.name} sent INTEREST {part.version} before all parts of {self.version}"
            raise RemoteError(what, code="UNEXPECTED")

    def record_named(self, queries: Iterable[Query]) -> None:
        for query in queries:
            if query in self.unsaid:
                del self.unsaid[query]
                self.unsaid_bytes -= weight(query)


def check_wanted(peer: Peer, saying: Saying, add: Collection[Query], remove: Collection[Query]) -> None:
    """Raise RemoteError if a peer would have too many queries, or too many bytes of them.

    Until a full INTEREST is complete, earlier queries coexist with the new ones, so both together may reach
    twice the limit.
    """
    feed = peer.exchange.feed
    count = len(feed.queries) + len(add) - len(remove)
    said = count - len(saying.unsaid)
    if said > WANTED or count > 2 * WANTED:
        raise RemoteError(f"{peer.node.name} has more than {WANTED:,} queries", code="TOO_MANY_QUERIES")
    size = feed.wanted_bytes + sum(map(weight, add)) - sum(map(weight, remove))
    if size - saying.unsaid_bytes > WANTED_BYTES or size > 2 * WANTED_BYTES:
        what = f"{peer.node.name} has queries of {size:,} bytes, above the limit of {WANTED_BYTES:,}"
        raise RemoteError(what, code="TOO_MANY_QUERIES")
