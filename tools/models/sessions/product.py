"""Objects of the product in a state of a model, and their answers: feeds, intakes, outboxes and queues.

Sets of positions and numbers are bits of an integer (`bits.py`).
"""

from __future__ import annotations

from mesh.client.core.intake import Intake, Terms
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.giving import deliver
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.routing.aside import bring_back, drop_up_to, set_aside
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.streams.origin import OriginStream
from mesh.streams.outbox import Outbox
from mesh.streams.seen import SeenMessages
from mesh.wire.commands import Query
from mesh.wire.envelope import LATE, PERSISTENT, Envelope
from tools.models.bits import bit

STREAM, MASTER, OTHER = b"s" * 16, b"m" * 16, b"o" * 16
AMPLE = Credit(1 << 20, 100, 1 << 20)
ONE = [(1, 1)]  # the only job of a queue


def members(numbers: int) -> list[int]:
    """Return the members of a set, in order."""
    return [number for number in range(numbers.bit_length()) if numbers >> number & 1]


def _message(number: int) -> Envelope:
    return Envelope(STREAM, "", number, number, ("k",), 1, 1, b"x", flags=PERSISTENT)


# --- feeds of a node ----------------------------------------------------------------------------------------


class ResumingFeed:
    """A visited node's feed while a log is resumed, with the positions `held` of the ordinary link."""

    def __init__(self, held: int) -> None:
        self.sent = 0
        self.feed = Feed(b"f", AMPLE, self._on_sent, lambda stored: None)
        set_aside(self.feed, MASTER)
        for position in members(held):
            self.feed.offer(self._slice(position), 0.0)

    def _slice(self, position: int) -> EnvelopeSlice:
        return EnvelopeSlice(StoredEnvelope(_message(position), position, MASTER, owed=1))

    def _on_sent(self, feed: Feed, slice_: EnvelopeSlice) -> None:
        self.sent |= bit(slice_.stored.position)

    def positions_sent(self, resumed: int, is_complete: bool) -> int:
        """Return the positions that a connected client is sent, with those `resumed` of the log."""
        self.feed.connect(0.0)
        for position in members(resumed):
            self.feed.offer_resumed(self._slice(position), 0.0)
        if is_complete:
            bring_back(self.feed, MASTER, 0.0)
        return self.sent

    def positions_left(self, end: int) -> int:
        """Return the positions that are still held once the log is resumed up to `end`."""
        drop_up_to(self.feed, MASTER, end)
        return sum(bit(slice_.stored.position) for slice_ in self.feed.aside[MASTER] or ())


# --- streams ------------------------------------------------------------------------------------------------


def accepts_number(number: int, accepted: int) -> bool:
    """Return whether a master accepts a number after the numbers `accepted`; otherwise it is a repeat."""
    stream = OriginStream()
    for before in members(accepted):
        stream.accept_numbers(before, before, 1)
    return bool(stream.accept_numbers(number, number, 1))


def read_message(number: int, received: int) -> tuple[bool, bool]:
    """Return whether a message of a second master is new to a subscriber, and whether it is flagged late."""
    intake = Intake(1, Query("exact", "k", ""), False, Terms(), lambda intake: None)
    intake.confirm()
    for before in members(received):
        intake.on_item(MASTER, _message(before), None, 0, before)
    while intake.next_batch() is not None:
        intake.mark_consumed()
    intake.on_item(OTHER, _message(number), None, 0, number)
    batch = intake.next_batch()
    return batch is not None, batch is not None and batch._envelope.flags & LATE > 0


def cursor(received: tuple[int, ...]) -> tuple[int, ...]:
    """Return the position in each master's log that a subscription names, after these positions."""
    seen = SeenMessages()
    for i, positions in enumerate(received):
        for position in members(positions):
            seen.has_passed(bytes([i]), position, persistent=True)
    known = seen.positions()
    return tuple(known.get(bytes([i]), 0) for i in range(len(received)))


def resent(numbers: int, final: int, warned: int) -> int:
    """Return the numbers that an outbox sends on a new connection, after these answers."""
    outbox = Outbox(1 << 20, 100)
    for number in members(numbers):
        outbox.add(_message(number))
    for answered, is_final in ((warned, False), (final, True)):
        for number in members(answered):
            outbox.note_answer("", number, number, is_final)
    return sum(bit(envelope.first) for envelope in outbox.resend())


# --- a job of a queue ---------------------------------------------------------------------------------------


def grants_claim(is_delivered: bool, is_own: bool) -> bool:
    """Return whether a part grants a claim of its job; `is_own`: it was delivered to the claiming session."""
    part = LocalQueue("jobs", QueueTerms())
    part.add(_job(), 0.0, 0)
    if is_delivered:
        part.consumers.add_consumer(QueueConsumer(b"own" if is_own else b"other", "", 1, 1))
        assert len(list(deliver(part, 0.0, 0))) == 1
    return not part.consumers.add_consumer(QueueConsumer(b"own", "", 2, 1), ((STREAM, (1, 1)),))


def _job() -> QueuedEnvelope:
    return QueuedEnvelope(StoredEnvelope(_message(1), 1, MASTER, own=True))


def marks_return(was_redelivered: bool, was_given: bool) -> bool:
    """Return whether a job that returns to its queue is marked as redelivered."""
    job = _job()
    if was_redelivered:
        job.tried(ONE)
    if was_given:
        job.may_have_been_given(ONE)
    return any(job.column(ONE))
