"""The last value of every topic this node is master of, within a bound of bytes."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from mesh.patterns import matches
from mesh.wire.commands import Query
from mesh.wire.envelope import INITIAL, LOCAL_ONLY, Envelope, decode

OVERHEAD = 400  # bytes a topic costs beside its content
DEAD = "__sys__deadMessage/"  # a dead letter is all that is left of a message that somebody was promised


class Last(Struct, frozen=True, gc=False):
    """Message `number` of an envelope, cut out lazily: most values are replaced before anybody asks."""

    envelope: Envelope  # without its body
    number: int
    key: str
    data: bytes  # own properties, then content
    props: int

    @property
    def size(self) -> int:
        return len(self.data) + len(self.key) + OVERHEAD

    @property
    def stamp(self) -> tuple[int, bytes, int]:
        """Newest wins: hybrid clock, then id."""
        return self.envelope.sent, self.envelope.stream, self.number

    def is_newer_than(self, other: Last) -> bool:
        """By what its publisher said last; between two publishers by what the master took last."""
        if self.envelope.stream == other.envelope.stream:
            return self.number > other.number
        return self.stamp > other.stamp

    @property
    def is_local(self) -> bool:
        """Is it for clients of this node only?"""
        return bool(self.envelope.flags & LOCAL_ONLY)

    def is_void(self, wall: int) -> bool:
        """Has it expired at `wall` (ns since 1970)?"""
        return 0 < self.envelope.expires <= wall

    @property
    def store_key(self) -> bytes:
        return store_key(self.envelope.domain, self.key)

    def as_envelope(self) -> Envelope:
        e = self.envelope
        props: int | bytes = array("I", [self.props]).tobytes() if self.props else 0
        return Envelope(
            stream=e.stream, domain=e.domain, first=self.number, last=self.number, keys=(self.key,), count=1,
            sizes=len(self.data), body=self.data, props=props, flags=e.flags | INITIAL,
            low=min(e.low, self.number), sender=e.sender, sent=e.sent, expires=e.expires, route=e.route,
        )  # fmt: skip

    def pack(self) -> bytes:
        """As stored: length of the header, header, data."""
        header = self.as_envelope().header()
        return len(header).to_bytes(4) + header + self.data

    @classmethod
    def unpack(cls, record: bytes) -> Last:
        end = 4 + int.from_bytes(record[:4])
        e = decode(record[4:end], record[end:])
        return cls(_bare(e), e.first, e.keys[0], record[end:], e.props_size(0))


def store_key(domain: str, key: str) -> bytes:
    """The row of a topic's last value."""
    return domain.encode() + b"\0" + key.encode()


def _bare(e: Envelope) -> Envelope:
    return Envelope(
        stream=e.stream, domain=e.domain, first=e.first, last=e.last, keys=("",), count=1, sizes=0, body=b"",
        flags=e.flags & ~INITIAL, low=e.low, sender=e.sender, sent=e.sent, expires=e.expires, route=e.route,
    )  # fmt: skip


Topics = OrderedDict[tuple[str, str], Last]  # by (key, domain)


class Retained:
    """Topics by key and domain. When bytes run out, the least recently published are forgotten first, and
    dead letters last."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._bytes = 0
        self._topics: Topics = OrderedDict()  # the oldest first,
        self._dead: Topics = OrderedDict()  # and likewise dead letters
        self._domains: dict[str, dict[str, None]] = {}  # key -> the domains it has a value in
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._topics) + len(self._dead)

    @staticmethod
    def cut(envelope: Envelope) -> list[Last]:
        """The last message of each key in it."""
        bare, keys, body = _bare(envelope), envelope.keys, envelope.body
        last_of = {0: envelope.count - 1}
        if envelope.index:
            last_of = dict(zip(envelope.rows(), range(envelope.count), strict=True))
        places, numbers = list(last_of.values()), envelope.number_list(last_of.values())
        ends, props = envelope.ends(), envelope.props_sizes(places)
        return [
            Last(bare, number, keys[row], body[ends[i - 1] if i else 0 : ends[i]], size)
            for row, i, number, size in zip(last_of, places, numbers, props, strict=True)
        ]

    def put(self, last: Last) -> list[Last]:
        """Remember it, unless a newer one is there; returns what had to be forgotten for it."""
        key, domain = topic = last.key, last.envelope.domain
        topics = self._of(key)
        old = topics.get(topic)
        if old is None:
            self._bytes += len(last.data) + len(key) + OVERHEAD
            self._domains.setdefault(key, {})[domain] = None
        elif old.is_newer_than(last):
            return []  # it waited for the disk, or for its master, while another went past it
        else:
            self._bytes += len(last.data) - len(old.data)
            topics.move_to_end(topic)
        topics[topic] = last
        return self._evicted(topic) if self._bytes > self._max else []

    def put_all(self, values: Iterable[Last]) -> list[Last]:
        """The same with many."""
        evicted: list[Last] = []
        topics = self._topics
        for last in values:
            topic = last.key, last.envelope.domain
            old = topics.get(topic)
            if old is None or old.number >= last.number or old.envelope.stream != last.envelope.stream:
                evicted += self.put(last)
                continue
            # The next of its publisher, as a rule. Thousands of them may be in one envelope.
            topics[topic] = last
            topics.move_to_end(topic)
            self._bytes += len(last.data) - len(old.data)
            if self._bytes > self._max:
                evicted += self._evicted(topic)
        return evicted

    def _evicted(self, newest: tuple[str, str]) -> list[Last]:
        """What had to be forgotten; what has just come stays."""
        evicted = []
        while self._bytes > self._max and len(self) > 1:
            is_last = len(self._topics) == (newest in self._topics)
            evicted.append(self._forget(next(iter(self._dead if is_last else self._topics))))
        self.evicted += len(evicted)
        return evicted

    def get(self, key: str, domain: str) -> Last | None:
        """The last value of one topic."""
        return self._of(key).get((key, domain))

    def _of(self, key: str) -> Topics:
        return self._dead if key.startswith(DEAD) else self._topics

    def domains(self, key: str) -> list[str]:
        """In which domains has this key a value?"""
        return list(self._domains.get(key, ()))

    def remove(self, key: str, domain: str) -> None:
        """The topic is no more; one that is not there does no harm."""
        if (key, domain) in self._of(key):
            self._forget((key, domain))

    def clear(self) -> None:
        """Forget everything."""
        self._topics.clear()
        self._dead.clear()
        self._domains.clear()
        self._bytes = 0

    def _forget(self, topic: tuple[str, str]) -> Last:
        key, domain = topic
        last = self._of(key).pop(topic)
        self._bytes -= last.size
        del self._domains[key][domain]
        if not self._domains[key]:
            del self._domains[key]
        return last

    def find(self, query: Query, wall: int) -> Iterator[Last]:
        """Values that a query asks for and that have not expired at `wall` (ns since 1970)."""
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
