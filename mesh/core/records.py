"""What is stored of a feed, so that after a restart its subscriber is still owed what it was owed."""

import msgspec

from mesh.routing.feed import Feed
from mesh.wire.codec import pack, reader
from mesh.wire.commands import Query

LARGEST = 64 * 1024 * 1024  # bytes of a peer's record, which lists all that its clients want


class Record(msgspec.Struct, frozen=True, array_like=True):
    """`owner` is a session, or the name of a node; (query, since) and (master, floor) as in the feed."""

    owner: str
    queries: tuple[tuple[Query, int], ...]
    floors: tuple[tuple[bytes, int], ...] = ()

    def put_into(self, feed: Feed) -> None:
        feed.queries.update(self.queries)
        feed.floors.update(self.floors)


read_record = reader(Record, LARGEST)


def write_record(owner: str, feed: Feed) -> bytes:
    queries = [[[q.kind, q.text, q.domain], since] for q, since in feed.queries.items()]
    return pack([owner, queries, list(feed.floors.items())])
