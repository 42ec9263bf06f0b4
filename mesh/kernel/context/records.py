"""The stored form of a feed, from which its subscriber continues after a restart."""

import msgspec

from mesh.routing.feed import Feed
from mesh.wire.codec import pack, reader
from mesh.wire.commands import Query

LARGEST = 64 * 1024 * 1024  # bytes; an earlier release kept all queries of a node in one record


class FeedRecord(msgspec.Struct, frozen=True, array_like=True):
    """A stored feed, or the stored query of a node.

    `owner` is a session or the name of a node; the other fields are those of the feed. Each query of a node
    has a record of its own.
    """

    owner: str
    queries: tuple[tuple[Query, int], ...]
    floors: tuple[tuple[bytes, int], ...] = ()
    since: tuple[tuple[Query, tuple[tuple[bytes, int], ...]], ...] = ()
    overflow: str = ""
    max_queue: int = 0

    def put_into(self, feed: Feed) -> None:
        since = dict(self.since)
        for query, position in self.queries:
            feed.add_query(query, position, dict(since.get(query, ())))
        feed.floors.update(self.floors)


read_record = reader(FeedRecord, LARGEST)


def query_key(feed: Feed, query: Query) -> bytes:
    """Return the row key of one query of a peer, whose queries are stored one by one."""
    return feed.key + pack([query.kind, query.text, query.domain])


def write_record(owner: str, feed: Feed, only: Query | None = None) -> bytes:
    """Return the record of a feed with all its queries, or with the query `only` alone."""
    kept = feed.queries if only is None else (only,)
    queries = [[[q.kind, q.text, q.domain], feed.queries[q]] for q in kept]
    since = [[[q.kind, q.text, q.domain], list(feed.since[q].items())] for q in kept if q in feed.since]
    terms = [feed.overflow.value, feed.credit.messages]
    return pack([owner, queries, list(feed.floors.items()), since, *terms])
