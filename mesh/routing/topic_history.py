"""The latest messages of topics for which a rule keeps more than the retained value."""

# Law 1: a topic has at most as many messages as its rule allows, in the order of their timestamps.
# Law 2: with the retained values, all messages fit into the limit of bytes; the topics that were published
# least recently lose messages first.
# Law 3: what was erased does not return after a crash: its rows end in the commit of the erasure.

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter

from mesh.operations import Delete, Op, Put
from mesh.routing.retained_value import RetainedValue, indices_of_values, store_key, values_at
from mesh.wire.envelope import Envelope

TABLE = "kept"
PREFIX = b"history/"  # of the keys of rows
STAMP = attrgetter("stamp")
Topic = tuple[str, str]  # (key, domain)
KeptMessage = tuple[RetainedValue, int]  # with the limit of messages of its topic


class TopicHistories:
    """The histories of one master.

    `limits_of(envelope)` returns how many messages of each key are kept; keys without a history are left out.
    `room()` returns the bytes that all histories may use now. `later(table, key, op)` writes with the next
    commit.
    """

    def __init__(
        self,
        limits_of: Callable[[Envelope], Mapping[str, int]],
        room: Callable[[], int],
        later: Callable[[str, bytes, Op], None],
    ) -> None:
        self._limits_of, self._room, self._later = limits_of, room, later
        self._topics: OrderedDict[Topic, deque[RetainedValue]] = OrderedDict()  # published last at the end
        self.bytes = 0
        self.evicted = 0  # messages dropped for lack of room

    @property
    def figures(self) -> dict[str, int | float]:
        return {"history_messages": len(self), "history_evicted": self.evicted}

    def __len__(self) -> int:
        return sum(map(len, self._topics.values()))

    def select_kept(self, envelope: Envelope) -> list[KeptMessage]:
        """Return the messages of an envelope that will be kept, in their order."""
        limits = self._limits_of(envelope)
        if not limits:
            return []
        values = values_at(envelope, indices_of_values(envelope, limits))
        return [(value, limits[value.key]) for value in values]

    def add_all(self, messages: Iterable[KeptMessage]) -> None:
        """Keep messages that were just accepted."""
        for value, most in messages:
            topic = value.key, value.envelope.domain
            kept = self._topics.setdefault(topic, deque())
            if kept and value.stamp < kept[-1].stamp:
                insort(kept, value, key=STAMP)
            else:
                kept.append(value)
            self.bytes += value.size
            self._topics.move_to_end(topic)
            while len(kept) > most:
                self._drop_oldest(topic)
        self.trim()

    def trim(self) -> None:
        """Drop messages until the rest has room, those of the topics published least recently first."""
        while self._topics and self.bytes > self._room():
            self.evicted += 1
            self._drop_oldest(next(iter(self._topics)))

    def latest(self, last: RetainedValue, most: int, wall: int) -> list[RetainedValue]:
        """Return the topic's latest `most` unexpired messages, oldest first; `last` is its retained value."""
        kept = self._topics.get((last.key, last.envelope.domain), ()) if most > 1 else ()
        earlier = [value for value in kept if value.stamp != last.stamp and not value.is_void(wall)]
        return [*earlier[max(0, len(earlier) - most + 1) :], last]

    def remove_topic(self, key: str, domain: str) -> None:
        while (key, domain) in self._topics:
            self._drop_oldest((key, domain))

    def review_rules(self) -> None:
        """Drop the messages that the rules in force do not keep any longer."""
        for topic, kept in list(self._topics.items()):
            most = self._most(kept[-1])
            for _ in range(len(kept) - most):
                self._drop_oldest(topic)

    def _most(self, value: RetainedValue) -> int:
        return self._limits_of(value.as_envelope()).get(value.key, 0)

    def _drop_oldest(self, topic: Topic) -> None:
        kept = self._topics[topic]
        value = kept.popleft()
        self.bytes -= value.size
        if value.envelope.persistent:
            self._delete_row(value)
        if not kept:
            del self._topics[topic]

    # --- on disk ----------------------------------------------------------------------------------------

    def puts(self, messages: Iterable[KeptMessage]) -> list[Put]:
        """Return the operations that store messages, for the commit of their envelope."""
        return [Put(TABLE, row_of(value), value.pack()) for value, _ in messages]

    def deletes(self, key: str, domain: str) -> list[Op]:
        """Return the operations that delete the stored messages of a topic, for the commit of its erasure."""
        kept = self._topics.get((key, domain), ())
        return [Delete(TABLE, row_of(value)) for value in kept if value.envelope.persistent]

    def restore(self, rows: Mapping[bytes, bytes], is_there: Callable[[str, str], bool]) -> None:
        """Restore the messages of topics that have a value, by `is_there(key, domain)`."""
        values = [RetainedValue.unpack(row) for key, row in rows.items() if key.startswith(PREFIX)]
        for value in sorted(values, key=STAMP):
            if (most := self._most(value)) and is_there(value.key, value.envelope.domain):
                self.add_all(((value, most),))
            else:
                self._delete_row(value)

    def _delete_row(self, value: RetainedValue) -> None:
        key = row_of(value)
        self._later(TABLE, key, Delete(TABLE, key))


def row_of(value: RetainedValue) -> bytes:
    """Return the key of the row of one message."""
    topic = store_key(value.envelope.domain, value.key)
    return PREFIX + topic + b"\0" + value.envelope.stream + value.number.to_bytes(8)
