"""Which feeds want a message? Answered once per key, remembered until something changes."""

from collections.abc import Iterator
from itertools import chain

from mesh.errors import BadQuery
from mesh.patterns import Trie, check_pattern
from mesh.routing.feed import Feed
from mesh.values import check_key
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

CACHE = 100_000  # keys whose answer is remembered


class Subscriptions:
    """Queries of many feeds; a feed is named once however many of its queries match."""

    def __init__(self) -> None:
        self._trie: Trie[tuple[Feed, Query]] = Trie()
        self._cache: dict[tuple[str, str], tuple[Feed, ...]] = {}

    def add(self, feed: Feed, query: Query) -> None:
        self._trie.add(query.text, (feed, query))
        self._cache.clear()

    def discard(self, feed: Feed, query: Query) -> None:
        self._trie.discard(query.text, (feed, query))
        self._cache.clear()

    def match(self, key: str, domain: str) -> tuple[Feed, ...]:
        """Feeds that want messages of this key and domain."""
        found = self._cache.get((key, domain))
        if found is None:
            found = tuple({feed: None for feed, query in self._sorted(key) if query.domain in ("", domain)})
            if len(self._cache) >= CACHE:
                self._cache.clear()
            self._cache[key, domain] = found
        return found

    def _sorted(self, key: str) -> list[tuple[Feed, Query]]:
        # A set has no order of its own; the core must do the same thing for the same input.
        return sorted(self._trie.match(key), key=lambda pair: pair[0].key)

    def plan(self, envelope: Envelope) -> Iterator[tuple[Feed, tuple[int, ...] | None]]:
        """(feed, which messages); None = all of them."""
        domain, known = envelope.domain, self._cache
        by_row = [
            self.match(key, domain) if (found := known.get((key, domain))) is None else found
            for key in envelope.keys
        ]
        if by_row.count(by_row[0]) == len(by_row):
            yield from ((feed, None) for feed in by_row[0])
            return
        rows_of: dict[Feed, list[int]] = {}
        for row, feeds in enumerate(by_row):
            for feed in feeds:
                rows_of.setdefault(feed, []).append(row)
        places: list[list[int]] = [[] for _ in by_row]
        for i, row in enumerate(envelope.rows()):
            places[row].append(i)
        for feed, rows in rows_of.items():
            if len(rows) == len(by_row):
                yield feed, None
            else:
                yield feed, tuple(sorted(chain.from_iterable([places[row] for row in rows])))


def check_query(query: Query) -> Query:
    """The query, if it makes sense; BadQuery or BadKey else."""
    if query.kind == "exact":
        check_key(query.text)
    elif query.kind == "pattern":
        check_pattern(query.text)
    else:
        raise BadQuery(f"a query of kind {query.kind!r}", hint="Use key= or pattern=.")
    return query
