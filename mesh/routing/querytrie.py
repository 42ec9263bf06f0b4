"""Queries of all kinds, each with a value, matched by a message's key, domain and XML."""

from __future__ import annotations

from collections.abc import Hashable, Set
from typing import Generic, TypeVar

from mesh.mapping.cost import MOST_TOGETHER
from mesh.mapping.keyxml import COMPILED, Document, asked
from mesh.patterns import SYSTEM, Trie, matches
from mesh.wire.commands import Query
from mesh.wire.limits import XPATH

T = TypeVar("T", bound=Hashable)


class QueryTrie(Generic[T]):
    """A set of (query, value) pairs.

    Callers validate each query before they add it, and compare its domain with that of a message.
    """

    __slots__ = ("_trie", "_xpaths")

    def __init__(self) -> None:
        self._trie: Trie[T] = Trie()
        self._xpaths: dict[str, set[T]] = {}

    @property
    def has_xpaths(self) -> bool:
        return bool(self._xpaths)

    def add(self, query: Query, value: T) -> None:
        if query.kind == XPATH:
            self._xpaths.setdefault(query.text, set()).add(value)
        else:
            self._trie.add(query.text, value)

    def discard(self, query: Query, value: T) -> None:
        if query.kind != XPATH:
            self._trie.discard(query.text, value)
        elif (values := self._xpaths.get(query.text)) is not None:
            values.discard(value)
            if not values:
                del self._xpaths[query.text]

    def visits_with(self, query: Query) -> int:
        """Return how many document nodes all XPaths, including that of `query`, may visit for one message."""
        return visits_together(self._xpaths.keys() | {query.text})

    def match(self, key: str, domain: str, xml: str) -> set[T]:
        """Return the values of all matching queries, as a new set."""
        found = self._trie.match(key)
        if self._xpaths and not key.startswith(SYSTEM):
            document = Document(key, domain, xml)
            for text, values in self._xpaths.items():
                if asked(text).matches(document):
                    found |= values
        return found


def visits_of(text: str) -> int:
    """Return how much of the limit of visits an XPath uses.

    The minimum bounds the number of compiled XPaths.
    """
    return max(asked(text).price, 1 + MOST_TOGETHER // COMPILED)


def visits_together(texts: Set[str]) -> int:
    """Return how many document nodes the XPaths in `texts` may visit for one message."""
    return sum(map(visits_of, texts))


def wants(query: Query, key: str, domain: str, xml: str) -> bool:
    """Return whether the query matches the message, including its domain.

    An XPath never matches system topics.
    """
    if query.domain not in ("", domain):
        return False
    if query.kind == XPATH:
        return not key.startswith(SYSTEM) and asked(query.text).matches(Document(key, domain, xml))
    return matches(query.text, key)
