"""Retained values of other masters' topics, as this node has received them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mesh.flow.bounded import Bounded
from mesh.flow.lifetimes import Lifetimes
from mesh.routing.retained import Retained
from mesh.routing.retained_value import RetainedValue
from mesh.wire.commands import Query
from mesh.wire.envelope import ERASED, Envelope

KNOWN = 100_000  # remembered queries, and remembered domains
SWEPT = 10_000  # values that expire in one second, at most


class Cache:
    """Cached values, the queries for which they are complete, and the domains of published topics.

    `ttls_of(envelope)` returns, by key, for how many s a value may be cached; keys without a limit are left
    out.
    """

    def __init__(
        self, size: int, ttls_of: Callable[[Envelope], Mapping[str, float]] = lambda envelope: {}
    ) -> None:
        self.values = Retained(size, self._evicted)
        self._ttls_of = ttls_of
        self._lives = Lifetimes[tuple[str, str]]()  # of values, by (key, domain)
        self.life = 0  # number of times the cache was emptied
        # Queries that were answered since the cache was emptied. For these the cache has the latest values,
        # whatever the clocks of publishers; for other topics it may lack newer values.
        self._known: set[Query] = set()
        self._domains = Bounded[str, str](KNOWN)  # key -> domain of published messages

    def store_value(self, envelope: Envelope, now: float) -> None:
        """Store a value of another master's topic, or erase the topic."""
        if envelope.flags & ERASED:
            self.remove_value(envelope.keys[0], envelope.domain)
            return
        self.values.retain_last(envelope)
        for key, ttl in self._ttls_of(envelope).items():
            self._lives.begin((key, envelope.domain), ttl, now)

    def remove_value(self, key: str, domain: str) -> None:
        self._lives.forget_key((key, domain))
        self.values.remove_value(key, domain)

    def get(self, key: str, domain: str, now: float) -> RetainedValue | None:
        """Return the value of a topic unless its time in the cache is over."""
        return None if self._lives.is_over((key, domain), now) else self.values.get(key, domain)

    def expire(self, now: float) -> None:
        """Discard values whose time in the cache is over, at most SWEPT."""
        for key, domain in self._lives.pop_over(now, SWEPT):
            self.values.remove_value(key, domain)

    def _evicted(self, gone: list[RetainedValue]) -> None:
        for value in gone:
            if self.values.get(value.key, value.envelope.domain) is None:
                self._lives.forget_key((value.key, value.envelope.domain))

    def empty(self) -> None:
        """Discard the values and the known queries, as newer values may have been missed."""
        self.values.clear()
        self._lives.clear()
        self._known.clear()
        self.life += 1

    def knows(self, query: Query, life: int) -> None:
        """Record that all values of a query are in the cache.

        `life` is the value of `self.life` when the query was sent. The record is ignored if the cache was
        emptied since then.
        """
        if len(self._known) >= KNOWN:
            self._known.clear()
        if life == self.life:
            self._known.add(query)

    def knows_one(self, queries: tuple[Query, ...]) -> bool:
        """Return whether the cache has all values of at least one of the queries."""
        return not self._known.isdisjoint(queries)

    def forget_query(self, query: Query) -> None:
        """Forget a query whose messages will no longer arrive."""
        self._known.discard(query)

    def went(self, envelope: Envelope) -> None:
        """Remember the domain of each topic that a local client published for other masters."""
        for key in envelope.keys:
            self._domains.keep(key, envelope.domain)

    def domains_of(self, key: str) -> list[str]:
        """Return the domains of other masters in which this node has seen the topic."""
        published = [self._domains[key]] if key in self._domains else []
        return list(dict.fromkeys([*self.values.domains(key), *published]))
