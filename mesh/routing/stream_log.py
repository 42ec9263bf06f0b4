"""A master's state of one publisher stream, and its envelopes that wait for the disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from mesh.routing.retained_value import RetainedValue
from mesh.routing.sink import Targets
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.topic_history import KeptMessage
from mesh.streams.origin import OriginStream
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

    def refusals_before(self, accepted: Accepted) -> None:
        """Mark all refusals that wait before `accepted` as stored, so that `accepted` does not wait for them.

        Otherwise later messages of others would overtake it, and its log position would count as settled.
        """
        for earlier in self.waiting:
            if earlier is accepted:
                return
            earlier.stored |= earlier.is_refused
