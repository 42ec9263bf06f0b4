"""What is stored of a feed, so that after a restart its subscriber is still owed what it was owed."""

import msgspec

from mesh.routing.feed import Feed
from mesh.wire.codec import pack, reader
from mesh.wire.commands import Query

LARGEST = 64 * 1024 * 1024  # bytes of a peer's record, which lists all that its clients want


class Record(msgspec.Struct, frozen=True, array_like=True):
    """`owner` is a session, or the name of a node; the rest is what the feed calls so."""

    owner: str
    queries: tuple[tuple[Query, int], ...]
    floors: tuple[tuple[bytes, int], ...] = ()
    since: tuple[tuple[Query, tuple[tuple[bytes, int], ...]], ...] = ()
    overflow: str = ""
    max_queue: int = 0

    def put_into(self, feed: Feed) -> None:
        since = dict(self.since)
        for query, position in self.queries:
            feed.asked(query, position, dict(since.get(query, ())))
        feed.floors.update(self.floors)


read_record = reader(Record, LARGEST)


def write_record(owner: str, feed: Feed) -> bytes:
    queries = [[[q.kind, q.text, q.domain], since] for q, since in feed.queries.items()]
    since = [[[q.kind, q.text, q.domain], list(floors.items())] for q, floors in feed.since.items()]
    terms = [feed.overflow.value, feed.credit.messages]
    return pack([owner, queries, list(feed.floors.items()), since, *terms])
