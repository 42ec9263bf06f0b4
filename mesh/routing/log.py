"""The master's log: accepted messages in each publisher's order, and the operations that store them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mesh.flow.bounded import Bounded
from mesh.hops import is_foreign
from mesh.operations import Delete, Op, Put
from mesh.routing.retained import Retained
from mesh.routing.retained_value import RetainedValue, last_values, store_key
from mesh.routing.retained_value_rows import RetainedValueRows
from mesh.routing.sink import Sink, Targets
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.routing.topic_history import TopicHistories
from mesh.site_policy.accepting import ANY
from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import ERASED, Envelope

ENDED = 10_000  # ended topics whose end is remembered


class Log:
    """The streams and retained values of one master.

    `shelf` is the handle of the node's store. `shelf_of(domain)` returns the handle of the domain's store, if
    it has one of its own.
    """

    def __init__(
        self,
        topics_bytes: int,
        shelf: StoreHandle,
        shelf_of: Callable[[str], StoreHandle] | None = None,
        keeps_end: Callable[[str, Envelope], bool] = lambda key, e: False,
        here: str = "",
        histories_of: Callable[[Envelope], Mapping[str, int]] = lambda e: {},
    ) -> None:
        """Create an empty log.

        `keeps_end(key, envelope)` returns whether another master may bring a value of a topic after its end.
        `here` is the name of this site. `histories_of` is `limits_of` of the histories.
        """
        self._here = here
        self.shelf = shelf
        self.keeps_end = keeps_end
        self._shelf_of = shelf_of or (lambda domain: shelf)
        self.retained = Retained(topics_bytes, self._evicted, here)
        self.histories = TopicHistories(histories_of, lambda: topics_bytes - self.retained.bytes, shelf.later)
        self.passed = 0  # last position handed on
        self.newest = 0  # timestamp of the newest restored value
        self._lanes: dict[bytes, dict[str, StreamLog]] = {}  # by stream, by domain
        self._ended = Bounded[bytes, int](ENDED)  # row of a topic: timestamp of its end
        self._last_on_disk = RetainedValueRows(self.retained, shelf.later, here)

    def lane(self, stream: bytes, domain: str, now: float) -> StreamLog:
        """Return the state of a stream in a domain, creating an empty one if necessary."""
        lanes = self._lanes.setdefault(stream, {})
        lane = lanes.get(domain)
        if lane is None:
            lane = lanes[domain] = StreamLog(self._shelf_of(domain))
        lane.used = now
        return lane

    def find_stream(self, stream: bytes, domain: str) -> StreamLog | None:
        return self._lanes.get(stream, {}).get(domain)

    @property
    def has_taken(self) -> bool:
        return bool(self._lanes)

    def forget_idle(self, before: float) -> None:
        """Forget streams unused since `before` with nothing waiting: their publisher will not return."""
        for stream, lanes in list(self._lanes.items()):
            self._forget_domains(stream, [d for d, lane in lanes.items() if lane.used < before])

    def forget_stream(self, stream: bytes) -> None:
        """Forget the stream of a closed session, except in domains where messages wait."""
        self._forget_domains(stream, list(self._lanes.get(stream, ())))

    def _forget_domains(self, stream: bytes, domains: list[str]) -> None:
        lanes = self._lanes.get(stream, {})
        for domain in domains:
            if not lanes[domain].waiting:
                row = stream + domain.encode()
                lanes.pop(domain).shelf.later("stream", row, Delete("stream", row))
        if not lanes:
            self._lanes.pop(stream, None)

    def accept_envelope(
        self, lane: StreamLog, pieces: list[tuple[Envelope, Targets]], matched: int, master: bytes
    ) -> tuple[Accepted, list[Op]]:
        """Accept a new envelope, and return it with the operations to store before it is answered.

        `pieces` has the envelope, or a copy for each session, then one for each durable subscription.
        """
        envelope = pieces[0][0]
        deliveries = [(StoredEnvelope(piece, master=master, own=True), targets) for piece, targets in pieces]
        answer = Answer(envelope.domain, envelope.first, envelope.last, matched=matched)
        is_event = bool(envelope.flags & ERASED)
        is_persistent = envelope.persistent
        is_stored = is_persistent and not envelope.to and not is_event
        values = last_values(envelope) if is_stored else []
        accepted = Accepted(deliveries, answer, values, envelope.keys[0] if is_event else "")
        if not envelope.to and not is_event:
            accepted.history = self.histories.select_kept(envelope)
        ops: list[Op] = []
        if is_persistent or pieces[-1][0].persistent:  # copies for durable subscriptions come last
            for stored, targets in deliveries:
                if targets and stored.envelope.persistent:
                    ops.append(lane.shelf.append_envelope(stored, targets))
            # In the same transaction as the message: otherwise a crash would duplicate or lose the message.
            key = stream_key(envelope)
            ops.append(Put("stream", key, lane.origin.pack(), (envelope.first, envelope.last)))
            if is_stored:
                ops += self.histories.puts(accepted.history)
            for value in accepted.values:
                if self._last_on_disk.goes(value):
                    ops.append(Put("retained", value.store_key, value.pack()))
                else:
                    accepted.passed_over.append(value)
        if is_event:
            ops += self._end_topic(accepted, envelope.domain)
        if ops:
            lane.shelf.supersede(ops)
        accepted.stored = not ops
        if not accepted.stored or lane.waiting:
            lane.waiting.append(accepted)
        return accepted, ops

    def passes(self, accepted: Accepted) -> bool:
        """Record that the accepted envelope is handed on, and retain its values or end its topic.

        Return whether any value that was not stored with the envelope is safely on disk only after the next
        commit.
        """
        for stored, _ in accepted.deliveries:
            if not stored.is_late:
                self.passed = max(self.passed, stored.position)
            stored.after = self.passed
        is_uncertain = False
        if accepted.values:
            uncertain = [value for value in accepted.values if self._last_on_disk.record_accepted(value)]
            is_uncertain = any(value is one for value in uncertain for one in accepted.passed_over)
            self.retained.put_all(accepted.values)
        elif accepted.erased:
            self._ends(accepted.end)
        elif not accepted.envelope.to:
            self.retained.retain_last(accepted.envelope)
        if accepted.history or self.histories.bytes:
            self.histories.add_all(accepted.history)
        watcher = self.retained.watcher
        if watcher is not None and is_foreign(accepted.envelope.sender):
            watcher.on_passed(accepted.envelope)
        return is_uncertain

    def inherit(self, values: Iterable[RetainedValue]) -> int:
        """Retain the values of another master that are newer than the known values and ends of their topics.

        Return their number. Persistent values are written with the next commit.
        """
        known, ended = self.retained.get, self._ended.get
        late = [value for value in values if value.envelope.sent > ended(value.store_key, -1)]
        pairs = [(value, known(value.key, value.envelope.domain)) for value in late]
        newer = [value for value, old in pairs if old is None or value.is_newer_than(old, self._here)]
        self.retained.put_all(newer)
        for value in newer:
            if value.envelope.persistent:
                self._last_on_disk.record_accepted(value)
        return len(newer)

    def stands_against(self, value: RetainedValue) -> RetainedValue | bool:
        """Return the retained value that stays when `value` arrives from another site, or False.

        True means that the topic has ended since `value` was published.
        """
        last = self.retained.get(value.key, value.envelope.domain)
        if last is None:
            rows = value.store_key, store_key(ANY, value.key)
            return max(self._ended.get(row, 0) for row in rows) >= value.envelope.sent
        return not value.wins(last, self._here) and last

    def inherit_end(self, envelope: Envelope) -> None:
        """Process the end of a topic at another master, unless the value here is newer.

        The end is written with the next commit.
        """
        end = RetainedValue(envelope, envelope.first, envelope.keys[0], b"", 0)
        last = self.retained.get(end.key, envelope.domain)
        if last is None or last.envelope.sent <= envelope.sent:
            self._last_on_disk.ends(end)
            self._ends(end)
            self.shelf.later("retained", end.store_key, self._end_row(end))

    def _end_topic(self, accepted: Accepted, domain: str) -> list[Op]:
        """End the topic of an erase event on disk, and return the operations for that."""
        self._last_on_disk.ends(accepted.end)
        return [self._end_row(accepted.end), *self.histories.deletes(accepted.erased, domain)]

    def _end_row(self, end: RetainedValue) -> Op:
        if self.keeps_end(end.key, end.envelope):
            return Put("retained", end.store_key, end.pack())
        return Delete("retained", end.store_key)

    def _ends(self, end: RetainedValue) -> None:
        self.retained.remove_value(end.key, end.envelope.domain)
        self.histories.remove_topic(end.key, end.envelope.domain)
        self._last_on_disk.record_end(end)
        self._has_ended(end)

    def _has_ended(self, end: RetainedValue) -> None:
        sent = max(end.envelope.sent, self._ended.get(end.store_key, 0))
        oldest = self._ended.keep(end.store_key, sent)
        if oldest is not None and not self._last_on_disk.has_value(row := oldest[0]):
            self.shelf.later("retained", row, Delete("retained", row))

    def _evicted(self, gone: list[RetainedValue]) -> None:
        for evicted in gone:
            if self.retained.get(evicted.key, evicted.envelope.domain) is not None:
                continue  # a new value arrived after the eviction
            self._last_on_disk.forget_topic(evicted.store_key)
            self.histories.remove_topic(evicted.key, evicted.envelope.domain)
            self.shelf.later("retained", evicted.store_key, Delete("retained", evicted.store_key))

    def refuse_accepted(self, lane: StreamLog, accepted: Accepted) -> None:
        """Refuse an envelope that could not be stored.

        It is never delivered, not even if resent.
        """
        envelope = accepted.envelope
        lane.origin.refuse_numbers(envelope.first, envelope.last)
        self.write_stream(lane, envelope)
        for value in [accepted.end] if accepted.erased else accepted.values:
            self._last_on_disk.restore_previous(value)
        for stored, _ in accepted.deliveries:
            if stored.position:
                lane.shelf.delete_released(stored)

    def write_stream(self, lane: StreamLog, envelope: Envelope) -> None:
        """Write the state of the stream with the next commit."""
        key = stream_key(envelope)
        lane.shelf.later("stream", key, Put("stream", key, lane.origin.pack()))

    def give_up(self, envelope: Envelope, first: int, last: int, now: float) -> None:
        """Finally refuse numbers that have expired here. The refusal outlives a restart."""
        lane = self.lane(envelope.stream, envelope.domain, now)
        lane.origin.give_up(first, last)
        self.write_stream(lane, envelope)

    def given_up(self, envelope: Envelope) -> Ranges | None:
        """Return the finally refused numbers that the publisher may not know, or None if there are none."""
        lane = self._lanes.get(envelope.stream, {}).get(envelope.domain)
        if lane is None or not lane.origin.refused:
            return None
        if envelope.low > lane.origin.low:  # a forgotten refusal may be accepted
            lane.origin.settle(envelope.low)
        return lane.origin.refused

    def restore_log(
        self,
        streams: dict[bytes, bytes],
        retained: Iterable[bytes],
        next_position: int,
        now: float,
        histories: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self.restore_streams(streams, now)
        rows = sorted(map(RetainedValue.unpack, retained), key=lambda last: last.stamp)
        values = [last for last in rows if not last.envelope.flags & ERASED]
        self.retained.restore_values(values)  # values without room stay on disk
        for last in values:
            self._last_on_disk.is_there(last)
        for last in rows:
            self.newest = max(self.newest, last.envelope.sent)
            if last.envelope.flags & ERASED:
                self._has_ended(last)
        self.histories.restore(
            histories or {}, lambda key, domain: self.retained.get(key, domain) is not None
        )
        self.shelf.next_position = next_position
        self.passed = next_position - 1  # owed messages are handed on before new ones

    def restore_streams(self, streams: dict[bytes, bytes], now: float) -> None:
        for key, state in streams.items():
            self.lane(key[:16], key[16:].decode(), now).origin = OriginStream.unpack(state)


def stream_key(envelope: Envelope) -> bytes:
    return envelope.stream + envelope.domain.encode()


def position_key(taker: Sink, position: int) -> Op:
    """Return the operation that stores the position up to which a sink is settled."""
    return Put("position", taker.key, position.to_bytes(8))
