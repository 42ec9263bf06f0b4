"""The open requests of a client, until their reply, refusal, timeout or loss."""

# Law 1: a request has one outcome; only a request to all services has several replies. Replies after the end
#        of a request are counted and dropped.
# Law 2: an abandoned request is dropped immediately.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, frexp, ldexp
from typing import Protocol

from mesh.client.batch import Batch
from mesh.client.core.client_context import Alarm, ClientContext, Promise
from mesh.client.core.refusals import of_answer, of_reply_code
from mesh.client.message import Message
from mesh.errors import HandlerLost, MeshError, MeshTimeout
from mesh.names import SENDS
from mesh.printable import typed
from mesh.streams.ranges import numbers_within
from mesh.wire.commands import Answer
from mesh.wire.envelope import REPLY, Envelope
from mesh.wire.properties import LONGEST_CODE

REPLIES = 2**32 - 1  # the subscription number of replies
GRAINS = 7  # deadlines are rounded to 1/64, to share alarms
FINEST = -10  # but not below 2**-17 s, the clock's precision
LOST = "The request was delivered, but the node restarted before a reply. The request may have run."


class Bucket(dict[int, "ReplyWaiter"]):
    """The requests with the same deadline, by number."""

    alarm: Alarm


class ReplyWaiter(Protocol):
    """The receiver of replies to a request."""

    bucket: Bucket
    counts: bool  # whether it needs the number of services

    def on_reply(self, message: Message, error: MeshError | None) -> bool:
        """Handle a reply, or its error; return whether the request is over."""

    def on_answer(self, answer: Answer) -> bool:
        """Handle the number of services that have the request; return whether the request is over."""

    def on_refused(self, error: MeshError) -> None:
        """End the request with an error: no further reply will come."""

    def on_deadline(self, has_expired: bool = False) -> None:
        """End the request, whose time is over; `has_expired`: before a service accepted it."""


class One:
    """A request with one reply, which resolves the promise. `to` and `timeout` appear in its errors."""

    __slots__ = ("_timeout", "_to", "bucket", "promise")
    promise: Promise
    bucket: Bucket
    counts = False

    def __init__(self, promise: Promise, bucket: Bucket, to: str, timeout: float) -> None:
        self.promise, self.bucket = promise, bucket
        self._to, self._timeout = to, timeout

    def on_reply(self, message: Message, error: MeshError | None) -> bool:
        if not self.promise.done():
            if error is None:
                self.promise.set_result(message)
            else:
                self.promise.set_exception(error)
        return True

    def on_answer(self, answer: Answer) -> bool:
        return False

    def on_refused(self, error: MeshError) -> None:
        if not self.promise.done():
            self.promise.set_exception(error)

    def on_deadline(self, has_expired: bool = False) -> None:
        fate = "No server accepted the request" if has_expired else "The request may still run"
        hint = f"{fate}. See: mesh why address {typed(self._to)}"
        self.on_refused(
            MeshTimeout(f"No reply came from {self._to} within {_said(self._timeout)}.", hint=hint)
        )


class Requests:
    """The open requests of a client, by their sequence numbers among sends to addresses."""

    def __init__(self, context: ClientContext) -> None:
        self._context = context
        self._open: dict[int, ReplyWaiter] = {}
        self._buckets: dict[float, Bucket] = {}
        self._counting = 0  # requests that need the number of services
        self.late: int = 0  # replies without an open request

    def __len__(self) -> int:
        return len(self._open)

    # --- adding -----------------------------------------------------------------------------------------

    def until(self, timeout: float) -> float:
        """Return a deadline `timeout` seconds from now or slightly later, rounded so that many share it."""
        grain = ldexp(1.0, max(FINEST, frexp(timeout)[1]) - GRAINS)
        return ceil((self._context.now + timeout) / grain) * grain

    def bucket(self, until: float) -> Bucket:
        bucket = self._buckets.get(until)
        if bucket is None:
            bucket = Bucket()
            bucket.alarm = self._context.later(until - self._context.now, lambda: self._ring(until))
            self._buckets[until] = bucket
        return bucket

    def add(self, number: int, asked: ReplyWaiter) -> None:
        self._open[number] = asked.bucket[number] = asked
        self._counting += asked.counts

    def drop_request(self, number: int) -> None:
        asked = self._open.pop(number, None)
        if asked is not None:
            del asked.bucket[number]
            self._counting -= asked.counts

    # --- receiving --------------------------------------------------------------------------------------

    def on_replies(self, envelope: Envelope, indices: Sequence[int] | None) -> list[int]:
        """Handle replies; return the numbers of their requests, [] if the envelope has no replies."""
        batch = Batch(envelope, indices)
        if not envelope.flags & REPLY or envelope.domain != SENDS:
            self.late += len(batch)
            return []
        numbers = envelope.number_list(range(envelope.count) if indices is None else indices)
        found, is_plain = self._open, not envelope.props
        for number, message in zip(numbers, batch, strict=True):
            asked = found.get(number)
            if asked is None:
                self.late += 1
            elif asked.on_reply(message, None if is_plain else _error_in(message)):
                self.drop_request(number)
        return numbers

    def on_answer(self, answer: Answer) -> None:
        """Handle an answer to some numbers.

        OK: services have the requests. FORWARD_WARNING is ignored. All other states are refusals.
        """
        if answer.state == "OK":
            if self._counting:
                for number in numbers_within(self._open, answer.first, answer.last):
                    if self._open[number].on_answer(answer):
                        self.drop_request(number)
        elif answer.state != "FORWARD_WARNING":
            self._refuse(numbers_within(self._open, answer.first, answer.last), answer)

    def fail_lost(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            asked = self._open[number]
            self.drop_request(number)
            asked.on_refused(HandlerLost(LOST))

    def numbers(self) -> list[int]:
        return list(self._open)

    def _refuse(self, numbers: Iterable[int], answer: Answer) -> None:
        for number in numbers:
            asked = self._open[number]
            self.drop_request(number)
            if answer.state == "EXPIRED":
                asked.on_deadline(has_expired=True)
            else:
                asked.on_refused(of_answer(answer))

    def _ring(self, until: float) -> None:
        bucket = self._buckets.pop(until)
        for number, asked in list(bucket.items()):
            self.drop_request(number)
            asked.on_deadline()

    def close(self, error: MeshError) -> None:
        for bucket in self._buckets.values():
            bucket.alarm.cancel()
        self._buckets.clear()
        for number, asked in list(self._open.items()):
            self.drop_request(number)
            asked.on_refused(error)


def _said(limit: float) -> str:
    """Format a time limit, rounded because calls of mesh.sync have spent some microseconds of it."""
    if limit < 0.001:
        return "a millisecond"
    return f"{limit:.3g} s" if limit < 1000 else f"{limit:g} s"


def _error_in(message: Message) -> MeshError | None:
    code = message._properties().code[:LONGEST_CODE]
    return of_reply_code(code, message.content.decode(errors="replace"), message.sender) if code else None
