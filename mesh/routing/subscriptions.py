"""Index of subscriptions, which finds the sinks of a message.

Results are cached by key, domain and XML until a change.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

from mesh.errors import BadQuery
from mesh.mapping.keyxml import asked
from mesh.patterns import check_pattern
from mesh.routing.querytrie import QueryTrie
from mesh.routing.shares import Indices
from mesh.routing.sink import Sink
from mesh.values import check_key
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import XPATH

T = TypeVar("T", bound=Sink)
KeySpace = str | tuple[str, str]
CACHE = 100_000  # cached keys


class SubscriptionIndex(Generic[T]):
    """The queries of many sinks.

    A sink is returned once, however many of its queries match.
    """

    def __init__(self) -> None:
        self._trie: QueryTrie[tuple[T, Query]] = QueryTrie()
        self._known: dict[KeySpace, dict[str, tuple[T, ...]]] = {}  # domain (and XML): key: sinks
        self._count = 0  # of cached keys

    def add(self, taker: T, query: Query) -> None:
        self._trie.add(query, (taker, query))
        self._clear_cache()

    def discard(self, taker: T, query: Query) -> None:
        self._trie.discard(query, (taker, query))
        self._clear_cache()

    def visits_with(self, query: Query) -> int:
        """Return how many document nodes all XPaths, including that of `query`, may visit for one message."""
        return self._trie.visits_with(query)

    def match(self, key: str, domain: str, xml: str = "") -> tuple[T, ...]:
        place = self._place(domain, xml)
        found = self._known_in(place).get(key)
        if found is None:
            found = tuple({taker: None for taker, _ in self._sorted(key, domain, xml)})
            if self._count >= CACHE:
                self._clear_cache()
            self._known_in(place)[key] = found
            self._count += 1
        return found

    def _place(self, domain: str, xml: str) -> KeySpace:
        return (domain, xml) if xml and self._trie.has_xpaths else domain

    def _known_in(self, place: KeySpace) -> dict[str, tuple[T, ...]]:
        return self._known.setdefault(place, {})

    def _clear_cache(self) -> None:
        self._known.clear()
        self._count = 0

    def _sorted(self, key: str, domain: str, xml: str) -> list[tuple[T, Query]]:
        # Sets have no order, but the core must be deterministic.
        found = self._trie.match(key, domain, xml)
        return sorted(
            (pair for pair in found if pair[1].domain in ("", domain)), key=lambda pair: pair[0].key
        )

    def plan(self, envelope: Envelope) -> Iterator[tuple[T, Indices | None]]:
        """Yield the sinks of the envelope, each with its messages; None = all."""
        domain, xml = envelope.domain, envelope.xml
        known = list(map(self._known_in(self._place(domain, xml) if xml else domain).get, envelope.keys))
        if known[0] is not None and known.count(known[0]) == len(known):  # usual case: the same sinks
            yield from ((taker, None) for taker in known[0])
            return
        by_row = [self.match(key, domain, xml) for key in envelope.keys]
        yield from by_taker(envelope, by_row)


def by_taker(envelope: Envelope, by_row: Sequence[Iterable[T]]) -> Iterator[tuple[T, Indices | None]]:
    """Yield each sink of the rows with its messages; None = all."""
    rows_of: dict[T, list[int]] = {}
    for row, takers in enumerate(by_row):
        for taker in takers:
            rows_of.setdefault(taker, []).append(row)
    places: list[list[int]] = [[] for _ in by_row]
    for i, row in enumerate(envelope.rows()):
        places[row].append(i)
    for taker, rows in rows_of.items():
        if len(rows) == len(by_row):
            yield taker, None
        else:
            yield taker, tuple(sorted(chain.from_iterable([places[row] for row in rows])))


def check_query(query: Query) -> Query:
    """Return the query if it is valid. Raises: BadQuery, BadKey."""
    if query.kind == "exact":
        check_key(query.text)
    elif query.kind == "pattern":
        check_pattern(query.text)
    elif query.kind == XPATH:
        asked(query.text)
    else:
        raise BadQuery(f"A query cannot have the kind {query.kind!r}.", hint="Use key=, pattern= or xpath=.")
    return query
