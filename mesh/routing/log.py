"""The master's log: what this node accepted, in each publisher's order, and what of it must be stored."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from mesh.operations import Delete, Op, Put
from mesh.routing.last import Last, last_values, store_key
from mesh.routing.lastondisk import LastOnDisk
from mesh.routing.parcel import Parcel
from mesh.routing.retained import OnMet, Retained
from mesh.routing.shelf import Shelf
from mesh.routing.taker import Taker, Targets
from mesh.sites.accepting import ANY
from mesh.sites.hops import is_foreign
from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import ERASED, Envelope

ENDED = 10_000  # topics of which it is remembered when they ended


class Accepted(Struct, eq=False):
    """An envelope that was taken, to be delivered once it is stored and everything before it is, too."""

    deliveries: list[tuple[Parcel, Targets]]
    answer: Answer
    values: list[Last]  # that are stored with it
    erased: str = ""  # the key of a topic that is no more
    stored: bool = True
    is_refused: bool = False  # for want of room
    when_first: Callable[[], None] = lambda: None  # what to do when everything before it is done
    passed_over: list[Last] = []  # of its values, those that are not stored with it, for a newer one
    also: list[Callable[[Answer], None]] | None = None  # who else has asked since, and waits for its answer

    @property
    def envelope(self) -> Envelope:
        return self.deliveries[0][0].envelope

    @property
    def end(self) -> Last:
        """Of the topic that is no more, where a last value would stand."""
        return Last(self.envelope, self.envelope.first, self.erased, b"", 0)


@dataclass(slots=True)
class Lane:
    """One publisher stream: what is known of it, and what still waits for the disk."""

    shelf: Shelf  # of the store where what comes in it lies, with what is known of it
    origin: OriginStream = field(default_factory=OriginStream)
    waiting: deque[Accepted] = field(default_factory=deque)
    used: float = 0.0  # when its publisher last sent something

    def refusals_before(self, accepted: Accepted) -> None:
        """Count what is on disk now in all refusals before it. It must not wait for them: what others have
        sent after it would go past it, and its place in the log would be taken for settled."""
        for earlier in self.waiting:
            if earlier is accepted:
                return
            earlier.stored |= earlier.is_refused


class Log:
    """Streams and retained values of one master; their place in its store is on the shelf. `shelf_of(domain)`
    is the shelf of what is published there, where that has a store of its own."""

    def __init__(
        self,
        topics_bytes: int,
        shelf: Shelf,
        shelf_of: Callable[[str], Shelf] | None = None,
        keeps_end: Callable[[str, Envelope], bool] = lambda key, e: False,
        here: str = "",
        on_met: OnMet | None = None,
        on_came: Callable[[Envelope], None] | None = None,
    ) -> None:
        """`keeps_end(key, envelope)`: may another bring a value of a topic after its end? `here`: the name of
        this site; `on_met` as in `Retained`; `on_came` hears of what was published in another site."""
        self._here = here
        self._on_came = on_came
        self.shelf = shelf
        self.keeps_end = keeps_end
        self._shelf_of = shelf_of or (lambda domain: shelf)
        self.retained = Retained(topics_bytes, self._evicted, here, on_met)
        self.passed = 0  # the last position that was handed on
        self.newest = 0  # stamp of the newest value that was restored
        self._lanes: dict[bytes, dict[str, Lane]] = {}  # stream -> domain -> lane
        self._ended: OrderedDict[bytes, int] = OrderedDict()  # row of a topic -> stamp of its end
        self._last_on_disk = LastOnDisk(self.retained, shelf.later, here)

    def lane(self, stream: bytes, domain: str, now: float) -> Lane:
        """The lane of a stream in a domain; a new one knows nothing."""
        lanes = self._lanes.setdefault(stream, {})
        lane = lanes.get(domain)
        if lane is None:
            lane = lanes[domain] = Lane(self._shelf_of(domain))
        lane.used = now
        return lane

    def known(self, stream: bytes, domain: str) -> Lane | None:
        """The lane of a stream in a domain, if anything is known of it."""
        return self._lanes.get(stream, {}).get(domain)

    @property
    def has_taken(self) -> bool:
        """Is any lane known?"""
        return bool(self._lanes)

    def forget_idle(self, before: float) -> None:
        """Streams whose publisher vanished without a goodbye, so long ago that it will not come back."""
        for stream, lanes in list(self._lanes.items()):
            self._forget(stream, [d for d, lane in lanes.items() if lane.used < before])

    def forget_stream(self, stream: bytes) -> None:
        """A session is closed for good, with everything settled."""
        self._forget(stream, list(self._lanes.get(stream, ())))

    def _forget(self, stream: bytes, domains: list[str]) -> None:
        """Forget the lanes in which nothing waits, and their rows."""
        lanes = self._lanes.get(stream, {})
        for domain in domains:
            if not lanes[domain].waiting:
                row = stream + domain.encode()
                lanes.pop(domain).shelf.later("stream", row, Delete("stream", row))
        if not lanes:
            self._lanes.pop(stream, None)

    def accept(
        self, lane: Lane, pieces: list[tuple[Envelope, Targets]], matched: int, master: bytes
    ) -> tuple[Accepted, list[Op]]:
        """Take a fresh envelope; returns it with what must be stored before it is answered.

        `pieces` is the envelope with its targets; for several sessions, one copy addressed to each; of what
        durable subscriptions want, a copy for each behind it.
        """
        envelope = pieces[0][0]
        deliveries = [(Parcel(piece, master=master, own=True), targets) for piece, targets in pieces]
        answer = Answer(envelope.domain, envelope.first, envelope.last, matched=matched)
        is_event = bool(envelope.flags & ERASED)
        is_persistent = envelope.persistent
        is_stored = is_persistent and not envelope.to and not is_event
        values = last_values(envelope) if is_stored else []
        accepted = Accepted(deliveries, answer, values, envelope.keys[0] if is_event else "")
        ops: list[Op] = []
        shelf = lane.shelf
        if is_persistent or pieces[-1][0].persistent:  # a durable subscription has its copy last
            for parcel, targets in deliveries:
                if targets and parcel.envelope.persistent:
                    ops.append(shelf.append(parcel, targets))
            # The dedup state goes into the same transaction as the message: one without the other
            # would double or lose it after a crash.
            key = stream_key(envelope)
            ops.append(Put("stream", key, lane.origin.pack(), (envelope.first, envelope.last)))
            for value in accepted.values:
                if self._last_on_disk.goes(value):
                    ops.append(Put("retained", value.store_key, value.pack()))
                else:
                    accepted.passed_over.append(value)
        if is_event:
            self._last_on_disk.ends(accepted.end)
            ops.append(self._end_row(accepted.end))
        if ops:
            shelf.supersede(ops)
        accepted.stored = not ops
        if not accepted.stored or lane.waiting:
            lane.waiting.append(accepted)
        return accepted, ops

    def passes(self, accepted: Accepted) -> bool:
        """Hand it on now: its messages are the last values of their topics. True: one of these, or a newer
        one, is on disk with the next commit only, as it was older than what has ended meanwhile."""
        for parcel, _ in accepted.deliveries:
            if not parcel.is_late:
                self.passed = max(self.passed, parcel.position)
            parcel.after = self.passed
        uncertain = [value for value in accepted.values if self._last_on_disk.taken(value)]
        if accepted.values:
            self.retained.put_all(accepted.values)
        elif accepted.erased:
            self._ends(accepted.end)
        elif not accepted.envelope.to:
            self.retained.keep(accepted.envelope)
        if self._on_came is not None and is_foreign(accepted.envelope.sender):
            self._on_came(accepted.envelope)
        return any(value is one for value in uncertain for one in accepted.passed_over)

    def inherit(self, values: Iterable[Last]) -> int:
        """Last values that another master had: those that are newer than what is here. What is persistent of
        them goes to the disk with the next commit. Returns how many."""
        known, ended = self.retained.get, self._ended.get
        late = [value for value in values if value.envelope.sent > ended(value.store_key, -1)]
        pairs = [(value, known(value.key, value.envelope.domain)) for value in late]
        newer = [value for value, old in pairs if old is None or value.is_newer_than(old, self._here)]
        self.retained.put_all(newer)
        for value in newer:
            if value.envelope.persistent:
                self._last_on_disk.taken(value)
        return len(newer)

    def stands_against(self, value: Last) -> Last | bool:
        """The last value of its topic, if that stays when this one comes from another site; True when the
        topic has ended since."""
        last = self.retained.get(value.key, value.envelope.domain)
        if last is None:
            rows = value.store_key, store_key(ANY, value.key)
            return max(self._ended.get(row, 0) for row in rows) >= value.envelope.sent
        return not value.wins(last, self._here) and last

    def inherit_end(self, envelope: Envelope) -> None:
        """The end of a topic at another master, unless its value here is newer. It goes to the disk with the
        next commit."""
        end = Last(envelope, envelope.first, envelope.keys[0], b"", 0)
        last = self.retained.get(end.key, envelope.domain)
        if last is None or last.envelope.sent <= envelope.sent:
            self._last_on_disk.ends(end)
            self._ends(end)
            self.shelf.later("retained", end.store_key, self._end_row(end))

    def _end_row(self, end: Last) -> Op:
        """What is written of it, in place of the last value."""
        if self.keeps_end(end.key, end.envelope):
            return Put("retained", end.store_key, end.pack())
        return Delete("retained", end.store_key)

    def _ends(self, end: Last) -> None:
        self.retained.remove(end.key, end.envelope.domain)
        self._last_on_disk.ended(end)
        self._has_ended(end)

    def _has_ended(self, end: Last) -> None:
        self._ended[end.store_key] = max(end.envelope.sent, self._ended.pop(end.store_key, 0))
        if len(self._ended) > ENDED:
            row, _ = self._ended.popitem(last=False)
            if not self._last_on_disk.has(row):
                self.shelf.later("retained", row, Delete("retained", row))

    def _evicted(self, gone: list[Last]) -> None:
        for evicted in gone:
            if self.retained.get(evicted.key, evicted.envelope.domain) is not None:
                continue  # one topic made room for another, and then came a new value of it
            self._last_on_disk.forget(evicted.store_key)
            self.shelf.later("retained", evicted.store_key, Delete("retained", evicted.store_key))

    def refuse(self, lane: Lane, accepted: Accepted) -> None:
        """Refuse what could not be stored: nobody gets it, not even again, behind what followed it."""
        envelope = accepted.envelope
        lane.origin.refuse(envelope.first, envelope.last)
        self.write(lane, envelope)
        for value in [accepted.end] if accepted.erased else accepted.values:
            self._last_on_disk.refused(value)
        for parcel, _ in accepted.deliveries:
            if parcel.position:
                lane.shelf.released(parcel)

    def write(self, lane: Lane, envelope: Envelope) -> None:
        """What is known of that stream goes to the disk with the next commit."""
        key = stream_key(envelope)
        lane.shelf.later("stream", key, Put("stream", key, lane.origin.pack()))

    def give_up(self, envelope: Envelope, first: int, last: int, now: float) -> None:
        """Numbers that waited here in vain: they stay refused, also after a restart."""
        lane = self.lane(envelope.stream, envelope.domain, now)
        lane.origin.give_up(first, last)
        self.write(lane, envelope)

    def given_up(self, envelope: Envelope) -> Ranges | None:
        """Numbers of its stream that are refused for good, and whose publisher may not know that."""
        lane = self._lanes.get(envelope.stream, {}).get(envelope.domain)
        if lane is None or not lane.origin.refused:
            return None
        if envelope.low > lane.origin.low:  # else what is forgotten to be refused may be taken
            lane.origin.settle(envelope.low)
        return lane.origin.refused

    def restore(
        self, streams: dict[bytes, bytes], retained: Iterable[bytes], next_position: int, now: float
    ) -> None:
        """From the store, at start."""
        self.restore_streams(streams, now)
        rows = sorted(map(Last.unpack, retained), key=lambda last: last.stamp)
        values = [last for last in rows if not last.envelope.flags & ERASED]
        self.retained.restore(values)  # what has no room now stays on disk
        for last in values:
            self._last_on_disk.is_there(last)
        for last in rows:
            self.newest = max(self.newest, last.envelope.sent)
            if last.envelope.flags & ERASED:
                self._has_ended(last)
        self.shelf.next_position = next_position
        self.passed = next_position - 1  # what is owed is handed on before anything new

    def restore_streams(self, streams: dict[bytes, bytes], now: float) -> None:
        """The same, of what is known of publishers in one of the stores."""
        for key, state in streams.items():
            self.lane(key[:16], key[16:].decode(), now).origin = OriginStream.unpack(state)


def stream_key(envelope: Envelope) -> bytes:
    return envelope.stream + envelope.domain.encode()


def position_key(taker: Taker, position: int) -> Op:
    """The position to which a taker is settled, as a row of the side table."""
    return Put("position", taker.key, position.to_bytes(8))
