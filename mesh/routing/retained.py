"""The last value of every topic this node is master of, within a bound of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice

from mesh.patterns import SYSTEM, matches
from mesh.reserved import CONFLICTS, DEAD
from mesh.routing.last import Last, last_values
from mesh.routing.recent import Recent
from mesh.sites.hops import is_foreign
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope

TopicValues = OrderedDict[tuple[str, str], Last]  # by (key, domain)
OnMet = Callable[[Last, Last, bool], None]
OF_CONFLICTS = 16  # a part of the bytes: what is kept of those at most


class Retained:
    """Topics by key and domain. When bytes run out, the least recently published are forgotten first, and
    dead letters last. What lost against another site has a small part of them, from which it is forgotten."""

    def __init__(
        self,
        max_bytes: int,
        on_evicted: Callable[[list[Last]], None] = lambda gone: None,
        here: str = "",
        on_met: OnMet | None = None,
    ) -> None:
        """`on_evicted` gets what had to be forgotten, and may have a newer value again. `here`: the name of
        this site. `on_met` hears of a value that came, of the one of another stream that stood there, and
        whether that stays."""
        self._max, self.on_evicted, self._here = max_bytes, on_evicted, here
        self._on_met = on_met
        self.bytes = 0  # of all
        self._topics: TopicValues = OrderedDict()  # the oldest first,
        self._dead: TopicValues = OrderedDict()  # and likewise dead letters,
        self._lost: TopicValues = OrderedDict()  # and what lost,
        self._lost_bytes = 0  # with their bytes
        self._domains: dict[str, dict[str, None]] = {}  # key -> the domains it has a value in
        self._evictions = 0
        self.gone = 0  # keys of which no topic is left, since the start
        self._listed: tuple[int, int, Iterator[str]] = (0, -1, iter(()))  # up to where, when so many had gone
        self._recent = Recent()

    def __len__(self) -> int:
        self._settle()
        return len(self._topics) + len(self._dead) + len(self._lost)

    @property
    def evicted(self) -> int:
        """The number of values that had to be forgotten since the start."""
        self._settle()
        return self._evictions

    def keep(self, envelope: Envelope) -> None:
        """Remember the last value of each of its topics, unless a newer one is there."""
        if self._on_met is not None and is_foreign(envelope.sender):  # it meets what came before it
            self.put_all(last_values(envelope))
            return
        recent = self._recent
        if not recent.follows(envelope):
            self._settle()
        recent.add(envelope)
        if recent.is_full or recent.bytes > self._max - self.bytes:
            self._settle()

    def _settle(self) -> None:
        """Give what came of late its place: there is room for it, or `keep` had done this before."""
        if self._recent:
            self._place(self._recent.take())

    def put_all(self, values: Iterable[Last]) -> None:
        """Remember each, unless a newer one is there."""
        self._settle()
        self._place(values)

    def _place(self, values: Iterable[Last]) -> None:
        if gone := self._put_all(values):
            self.on_evicted(gone)

    def restore(self, values: Iterable[Last]) -> None:
        """From the store, at start: nobody is told of those that find no room."""
        self._put_all(values)

    def _put(self, last: Last) -> list[Last]:
        """Returns what had to be forgotten for it."""
        key, domain = topic = last.key, last.envelope.domain
        topics = self._of(key)
        old = topics.get(topic)
        if old is None:
            self._count(topics, last.size)
            self._domains.setdefault(key, {})[domain] = None
        elif old.is_newer_than(last, self._here):
            self._meet(last, old, stays=True)
            return []  # it waited for the disk, or for its master, while another went past it
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

    def _meet(self, came: Last, stood: Last, stays: bool) -> None:
        if self._on_met is not None and came.envelope.stream != stood.envelope.stream:
            self._on_met(came, stood, stays)

    def _put_all(self, values: Iterable[Last]) -> list[Last]:
        """The same with many."""
        evicted: list[Last] = []
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
                evicted += self._put(last)
                continue
            # The next of its publisher, as a rule. Thousands of them may be in one envelope.
            topics[topic] = last
            topics.move_to_end(topic)
            self.bytes += len(last.data) - len(old.data)
            if self.bytes > self._max:
                evicted += self._evicted(topic)
        return evicted

    def _evicted(self, newest: tuple[str, str]) -> list[Last]:
        """The values that had to be forgotten; what has just come stays."""
        evicted = []
        while self._lost_bytes > self._max // OF_CONFLICTS and len(self._lost) > 1:
            evicted.append(self._forget(next(iter(self._lost))))
        while self.bytes > self._max and len(self._topics) + len(self._dead) > 1:
            is_last = len(self._topics) == (newest in self._topics)
            evicted.append(self._forget(next(iter(self._dead if is_last else self._topics))))
        self._evictions += len(evicted)
        return evicted

    def get(self, key: str, domain: str) -> Last | None:
        """The last value of one topic."""
        self._settle()
        return self._of(key).get((key, domain))

    def _of(self, key: str) -> TopicValues:
        if not key.startswith(SYSTEM):
            return self._topics
        if key.startswith(DEAD):
            return self._dead
        return self._lost if key.startswith(CONFLICTS) else self._topics

    def value_of(self, stream: bytes, domain: str, number: int, most: int) -> Last | None:
        """The last value that is this message, if it is among so many that were published last."""
        self._settle()
        late = islice(reversed(self._topics.values()), most)
        same = (v for v in late if v.number == number and v.envelope.stream == stream)
        return next((v for v in same if v.envelope.domain == domain), None)

    def keys(self) -> list[str]:
        """The keys of all topics that have a value."""
        self._settle()
        return list(self._domains)

    @property
    def key_count(self) -> int:
        """How many these are."""
        self._settle()
        return len(self._domains)

    def some_keys(self, begin: int, end: int) -> list[str]:
        """Those from one place to another, in the order in which they came. Who goes on where he was, while
        no key came or went, does so at once; else all before are counted anew."""
        self._settle()
        if self._listed[:2] == (begin, self.gone):
            with suppress(RuntimeError):  # keys have come
                return self._list(begin, end, self._listed[2])
        return self._list(begin, end, islice(self._domains, begin, None))

    def _list(self, begin: int, end: int, keys: Iterator[str]) -> list[str]:
        found = list(islice(keys, max(0, end - begin)))
        self._listed = begin + len(found), self.gone, keys
        return found

    def domains(self, key: str) -> list[str]:
        """In which domains has this key a value?"""
        self._settle()
        return list(self._domains.get(key, ()))

    def remove(self, key: str, domain: str) -> None:
        """The topic is no more; one that is not there does no harm."""
        self._settle()
        if (key, domain) in self._of(key):
            self._forget((key, domain))

    def clear(self) -> None:
        """Forget everything."""
        self._recent = Recent()
        self._topics.clear()
        self._dead.clear()
        self._lost.clear()
        self.gone += len(self._domains)
        self._domains.clear()
        self.bytes = self._lost_bytes = 0

    def _forget(self, topic: tuple[str, str]) -> Last:
        key, domain = topic
        topics = self._of(key)
        last = topics.pop(topic)
        self._count(topics, -last.size)
        del self._domains[key][domain]
        if not self._domains[key]:
            del self._domains[key]
            self.gone += 1
        return last

    def values(self, wall: int) -> list[Last]:
        """All that have not expired at `wall` (ns since 1970)."""
        self._settle()
        values = chain(self._topics.values(), self._dead.values(), self._lost.values())
        return [last for last in values if not last.is_void(wall)]

    def find(self, query: Query, wall: int) -> Iterator[Last]:
        """Values that a query asks for and that have not expired at `wall` (ns since 1970). Of an XPath ask
        XPathScan: it may take long."""
        self._settle()
        for last in self._candidates(query):
            if not last.is_void(wall):
                yield last

    def _candidates(self, query: Query) -> list[Last]:
        keys = [query.text] if query.kind == "exact" else [k for k in self._domains if matches(query.text, k)]
        return [
            self._of(key)[key, domain]
            for key in keys
            for domain in self._domains.get(key, ())
            if query.domain in ("", domain)
        ]
