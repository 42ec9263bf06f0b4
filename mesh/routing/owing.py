"""Which messages of an envelope is a feed owed? Asked when something comes again, after a crash."""

from mesh.patterns import matches
from mesh.routing.feed import Feed
from mesh.routing.parcel import Parcel
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope


def owed(feed: Feed, position: int, envelope: Envelope) -> tuple[int, ...] | None:
    """Which messages at this position of our log a feed was promised, and has not settled; None = all."""
    queries = [q for q, since in feed.queries.items() if since <= position and feed.position < position]
    rows = [_is_wanted(queries, key, envelope.domain) for key in envelope.keys]
    if all(rows):
        return None
    return tuple([i for i, row in enumerate(envelope.rows()) if rows[row]])


def is_due(feed: Feed, parcel: Parcel) -> bool:
    """Did the peer ask before this place in its master's log? (What comes again may be older.)"""
    if not parcel.position or parcel.position > feed.asked_until.get(parcel.master, 0):
        return True
    envelope = parcel.envelope
    return any(
        feed.since.get(query, {}).get(parcel.master, 0) < parcel.position
        for query in feed.queries
        if any(_is_wanted([query], key, envelope.domain) for key in envelope.keys)
    )


def _is_wanted(queries: list[Query], key: str, domain: str) -> bool:
    return any(query.domain in ("", domain) and matches(query.text, key) for query in queries)
