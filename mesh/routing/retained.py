"""Retained values within a limit of bytes: of the topics of this master, or cached from other masters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Protocol

from mesh.hops import is_foreign
from mesh.patterns import SYSTEM, matches
from mesh.reserved import CONFLICTS, DEAD
from mesh.routing.recent import Recent, size_if_new
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

TopicValues = OrderedDict[tuple[str, str], RetainedValue]  # by (key, domain)


class ValueWatcher(Protocol):
    """An observer of the values that other sites publish, to detect conflicts."""

    def on_met(self, came: RetainedValue, stood: RetainedValue, stays: bool) -> None:
        """Handle a value that meets the value `stood` of another stream. `stays`: `stood` is newer."""

    def on_passed(self, envelope: Envelope) -> None:
        """Handle an accepted envelope of another site."""

    def on_outdone(self, came: RetainedValue, stands: RetainedValue) -> None:
        """Handle a value in a transfer from another site that is older than `stands`."""


# Divisor of the limit for values that lost a conflict.
OF_CONFLICTS = 16


class Retained:
    """Retained values by key and domain.

    If the limit is reached, the values published least recently are evicted first, and dead letters last.
    Values that lost against another site have a small limit of their own.
    """

    def __init__(
        self,
        max_bytes: int,
        on_evicted: Callable[[list[RetainedValue]], None] = lambda gone: None,
        here: str = "",
    ) -> None:
        """Create an empty table.

        `on_evicted` is called with evicted values; the topic of such a value may have a newer value by then.
        `here` is the name of this site.
        """
        self._max, self.on_evicted, self._here = max_bytes, on_evicted, here
        self.watcher: ValueWatcher | None = None
        self.bytes = 0  # of all values
        self._topics: TopicValues = OrderedDict()  # oldest first
        self._dead: TopicValues = OrderedDict()  # dead letters, oldest first
        self._lost: TopicValues = OrderedDict()  # values that lost against another site
        self._lost_bytes = 0  # of the lost values
        self._domains: dict[str, dict[str, None]] = {}  # by key: domains with a value
        self._evictions = 0
        self.gone = 0  # keys removed since the start
        self._listed: tuple[int, int, Iterator[str]] = (0, -1, iter(()))  # last index, `gone`, iterator
        self._recent = Recent()

    def watch(self, watcher: ValueWatcher) -> None:
        """Report values of other sites to `watcher` from now on."""
        self.watcher = watcher

    def __len__(self) -> int:
        self._settle()
        return len(self._topics) + len(self._dead) + len(self._lost)

    @property
    def evicted(self) -> int:
        self._settle()
        return self._evictions

    def retain_last(self, envelope: Envelope) -> None:
        """Retain the last value of each topic of the envelope, unless a newer one is known."""
        if self.watcher is not None and is_foreign(envelope.sender):  # conflicts must be detected
            self.put_all(last_values(envelope))
            return
        recent, size = self._recent, size_if_new(envelope)
        # An envelope that may evict values comes alone, as if the values before it had been read.
        if not recent.follows(envelope) or recent.bytes + size > self._max - self.bytes:
            self._settle()
        recent.add(envelope, size)
        if recent.is_full or recent.bytes > self._max - self.bytes:
            self._settle()

    def _settle(self) -> None:
        if self._recent:
            self._place(self._recent.take_all())

    def put_all(self, values: Iterable[RetainedValue]) -> None:
        """Retain each value unless a newer one is known."""
        self._settle()
        self._place(values)

    def _place(self, values: Iterable[RetainedValue]) -> None:
        if gone := self._put_all(values):
            self.on_evicted(gone)

    def restore_values(self, values: Iterable[RetainedValue]) -> None:
        """Restore values from the store at start.

        Values without room are not reported as evicted.
        """
        self._put_all(values)

    def _put_value(self, last: RetainedValue) -> list[RetainedValue]:
        key, domain = topic = last.key, last.envelope.domain
        topics = self._topics_of(key)
        old = topics.get(topic)
        if old is None:
            self._count(topics, last.size)
            self._domains.setdefault(key, {})[domain] = None
        elif old.is_newer_than(last, self._here):
            self._meet(last, old, stays=True)
            return []  # a later value overtook it
        else:
            self._meet(last, old, stays=False)
            self._count(topics, last.size - old.size)
            topics.move_to_end(topic)
        topics[topic] = last
        is_full = self.bytes > self._max or self._lost_bytes > self._max // OF_CONFLICTS
        return self._evicted(topic) if is_full else []

    def _count(self, topics: TopicValues, size: int) -> None:
        self.bytes += size
        if topics is self._lost:
            self._lost_bytes += size

    def _meet(self, came: RetainedValue, stood: RetainedValue, stays: bool) -> None:
        if self.watcher is not None and came.envelope.stream != stood.envelope.stream:
            self.watcher.on_met(came, stood, stays)

    def _put_all(self, values: Iterable[RetainedValue]) -> list[RetainedValue]:
        evicted: list[RetainedValue] = []
        topics = self._topics
        for last in values:
            topic = last.key, last.envelope.domain
            old = topics.get(topic)
            if (
                old is None
                or old.number >= last.number
                or old.envelope.stream != last.envelope.stream
                or old.envelope.xml != last.envelope.xml
            ):
                evicted += self._put_value(last)
                continue
            # The usual case is the next value of the same publisher. An envelope may have thousands.
            topics[topic] = last
            topics.move_to_end(topic)
            self.bytes += len(last.data) - len(old.data)
            if self.bytes > self._max:
                evicted += self._evicted(topic)
        return evicted

    def _evicted(self, newest: tuple[str, str]) -> list[RetainedValue]:
        """Evict values until the limits hold, but never the newest.

        Return the evicted values.
        """
        evicted = []
        while self._lost_bytes > self._max // OF_CONFLICTS and len(self._lost) > 1:
            evicted.append(self._forget_topic(next(iter(self._lost))))
        while self.bytes > self._max and len(self._topics) + len(self._dead) > 1:
            is_last = len(self._topics) == (newest in self._topics)
            evicted.append(self._forget_topic(next(iter(self._dead if is_last else self._topics))))
        self._evictions += len(evicted)
        return evicted

    def get(self, key: str, domain: str) -> RetainedValue | None:
        self._settle()
        return self._topics_of(key).get((key, domain))

    def _topics_of(self, key: str) -> TopicValues:
        if not key.startswith(SYSTEM):
            return self._topics
        if key.startswith(DEAD):
            return self._dead
        return self._lost if key.startswith(CONFLICTS) else self._topics

    def value_of(self, stream: bytes, domain: str, number: int, most: int) -> RetainedValue | None:
        """Return the message if it is among the `most` latest values of ordinary topics, else None."""
        self._settle()
        late = islice(reversed(self._topics.values()), most)
        same = (v for v in late if v.number == number and v.envelope.stream == stream)
        return next((v for v in same if v.envelope.domain == domain), None)

    def keys(self) -> list[str]:
        self._settle()
        return list(self._domains)

    @property
    def key_count(self) -> int:
        self._settle()
        return len(self._domains)

    def some_keys(self, begin: int, end: int) -> list[str]:
        """Return the keys between two positions, in order of arrival.

        Continuing at the last position is fast while no key was added or removed. Otherwise the keys before
        it are skipped again.
        """
        self._settle()
        if self._listed[:2] == (begin, self.gone):
            with suppress(RuntimeError):  # keys were added
                return self._list(begin, end, self._listed[2])
        return self._list(begin, end, islice(self._domains, begin, None))

    def _list(self, begin: int, end: int, keys: Iterator[str]) -> list[str]:
        found = list(islice(keys, max(0, end - begin)))
        self._listed = begin + len(found), self.gone, keys
        return found

    def domains(self, key: str) -> list[str]:
        self._settle()
        return list(self._domains.get(key, ()))

    def remove_value(self, key: str, domain: str) -> None:
        self._settle()
        if (key, domain) in self._topics_of(key):
            self._forget_topic((key, domain))

    def clear(self) -> None:
        self._recent = Recent()
        self._topics.clear()
        self._dead.clear()
        self._lost.clear()
        self.gone += len(self._domains)
        self._domains.clear()
        self.bytes = self._lost_bytes = 0

    def _forget_topic(self, topic: tuple[str, str]) -> RetainedValue:
        key, domain = topic
        topics = self._topics_of(key)
        last = topics.pop(topic)
        self._count(topics, -last.size)
        del self._domains[key][domain]
        if not self._domains[key]:
            del self._domains[key]
            self.gone += 1
        return last

    def values(self, wall: int) -> list[RetainedValue]:
        """Return all values that have not expired at `wall` (ns since 1970)."""
        self._settle()
        values = chain(self._topics.values(), self._dead.values(), self._lost.values())
        return [last for last in values if not last.is_void(wall)]

    def find_values(self, query: Query, wall: int) -> Iterator[RetainedValue]:
        """Yield unexpired values that match an exact key or a pattern. `wall` is in ns since 1970.

        For an XPath use XPathScan, because it may take long.
        """
        self._settle()
        for last in self._candidates(query):
            if not last.is_void(wall):
                yield last

    def _candidates(self, query: Query) -> list[RetainedValue]:
        keys = [query.text] if query.kind == "exact" else [k for k in self._domains if matches(query.text, k)]
        return [
            self._topics_of(key)[key, domain]
            for key in keys
            for domain in self._domains.get(key, ())
            if query.domain in ("", domain)
        ]
