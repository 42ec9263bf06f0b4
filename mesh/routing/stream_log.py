"""A master's state of one publisher stream, and its envelopes that wait for the disk."""

# Law: the timestamps of a stream ascend with its numbers, in whatever order these arrive. Timestamps alone
#      then order the values of a topic, so all nodes retain the same one. A restarted master knows only the
#      timestamps that it has given since.

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from mesh.routing.retained_value import RetainedValue
from mesh.routing.sink import Targets
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.topic_history import KeptMessage
from mesh.streams.origin import MAX_RANGES, OriginStream
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope


class Accepted(Struct, eq=False):
    """An accepted envelope, delivered when it and everything before it in its stream is stored."""

    deliveries: list[tuple[StoredEnvelope, Targets]]
    answer: Answer
    values: list[RetainedValue]  # stored with it
    erased: str = ""  # key of the topic that it ends
    stored: bool = True
    is_refused: bool = False  # for lack of room
    when_first: Callable[[], None] = lambda: None  # called when everything before it is done
    passed_over: list[RetainedValue] = []  # values not stored with it: a newer one exists
    history: list[KeptMessage] = []  # messages kept as the history of their topics
    also: list[Callable[[Answer], None]] | None = None  # later requesters of its answer

    @property
    def envelope(self) -> Envelope:
        return self.deliveries[0][0].envelope

    @property
    def end(self) -> RetainedValue:
        """The end of the topic, in the form of a retained value."""
        return RetainedValue(self.envelope, self.envelope.first, self.erased, b"", 0)


@dataclass(slots=True)
class StreamLog:
    """A publisher stream: its state, and the messages that wait for the disk."""

    shelf: StoreHandle  # bookkeeping of the store that it is in
    origin: OriginStream = field(default_factory=OriginStream)
    waiting: deque[Accepted] = field(default_factory=deque)
    used: float = 0.0  # time of the last message
    following: int = 1  # the number after the highest stamped one
    begun: list[tuple[int, int]] = field(default_factory=list)  # first number after a hole, and its timestamp

    def stamp_numbers(self, envelope: Envelope, now: int) -> int:
        """Return the timestamp of new numbers: `now`, or for late ones that of the next higher number."""
        first, following = envelope.first, self.following
        if first >= following:
            self.following = envelope.last + 1
        if first == following:
            return now
        begun, low = self.begun, envelope.low
        settled = bisect_left(begun, (low + 1,))  # nothing below them can be new
        del begun[: max(settled, len(begun) - MAX_RANGES)]
        place = bisect_left(begun, (first,))
        stamp = begun[place][1] if place < len(begun) else now
        begun.insert(place, (first, stamp))
        return stamp

    def refusals_before(self, accepted: Accepted) -> None:
        """Mark all refusals that wait before `accepted` as stored, so that `accepted` does not wait for them.

        Otherwise later messages of others would overtake it, and its log position would count as settled.
        """
        for earlier in self.waiting:
            if earlier is accepted:
                return
            earlier.stored |= earlier.is_refused
