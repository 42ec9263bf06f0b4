"""What is stored of a feed, so that after a restart its subscriber is still owed what it was owed."""

from collections.abc import Mapping

from mesh.wire.codec import pack, unpack
from mesh.wire.commands import Query


def write_record(owner: str, queries: Mapping[Query, int]) -> bytes:
    """Owner (a session, or the name of a node) and its queries with the position they count from."""
    return pack([owner, [[q.kind, q.text, q.domain, since] for q, since in queries.items()]])


def read_record(record: bytes) -> tuple[str, dict[Query, int]]:
    """(owner, its queries and since when)."""
    owner, queries = unpack(record)
    return owner, {Query(kind, text, domain): since for kind, text, domain, since in queries}
