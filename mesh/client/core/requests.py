"""Which requests are open, and what came of each? A reply, a refusal, the end of its time, or the loss of
whoever had it."""

# Law 1: each is told one outcome, once. What comes after that is late: counted, and dropped.
# Law 2: a request that nobody waits for any more is not there any more.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, frexp, ldexp
from typing import Protocol

from mesh.client.core.desk import Alarm, ClientDesk, Promise
from mesh.client.core.refusals import of_answer, of_reply_code
from mesh.client.message import Batch, Message
from mesh.errors import HandlerLost, MeshError, MeshTimeout
from mesh.names import SENDS
from mesh.wire.commands import Answer
from mesh.wire.envelope import REPLY, Envelope
from mesh.wire.properties import LONGEST_CODE

REPLIES = 2**32 - 1  # the number of the subscription that replies come for
GRAINS = 7  # a time is kept to a 64th, at worst: so those that end together have one alarm
FINEST = -10  # but to no less than 2**-17 s: what is finer is lost beside the time of day
LOST = "somebody was given it, and nobody knows whether it was done: the node is another, or was restarted."


class Bucket(dict[int, "ReplyWaiter"]):
    """The requests whose time ends together, by number."""

    alarm: Alarm


class ReplyWaiter(Protocol):
    """Whoever waits for something that was sent to an address."""

    bucket: Bucket
    counts: bool  # whether it wants to know how many have it

    def replied(self, message: Message, error: MeshError | None) -> bool:
        """A reply has come, with why it is none: is this the end?"""

    def answered(self, answer: Answer) -> bool:
        """It was given to so many: is this the end?"""

    def refused(self, error: MeshError) -> None:
        """Nothing will come of it."""

    def over(self) -> None:
        """Its time is over."""


class One:
    """One that has one reply, which keeps the promise. `to`, `timeout`: for its errors."""

    __slots__ = ("_timeout", "_to", "bucket", "promise")
    promise: Promise
    bucket: Bucket
    counts = False

    def __init__(self, promise: Promise, bucket: Bucket, to: str, timeout: float) -> None:
        self.promise, self.bucket = promise, bucket
        self._to, self._timeout = to, timeout

    def replied(self, message: Message, error: MeshError | None) -> bool:
        if not self.promise.done():
            if error is None:
                self.promise.set_result(message)
            else:
                self.promise.set_exception(error)
        return True

    def answered(self, answer: Answer) -> bool:
        return False

    def refused(self, error: MeshError) -> None:
        if not self.promise.done():
            self.promise.set_exception(error)

    def over(self) -> None:
        hint = "It may still be done. Does somebody reply there, and in time?"
        self.refused(MeshTimeout(f"no reply came from {self._to} within {_said(self._timeout)}.", hint=hint))


class Requests:
    """The open ones of a client, by their numbers in its stream of sends to addresses."""

    def __init__(self, desk: ClientDesk) -> None:
        self._desk = desk
        self._open: dict[int, ReplyWaiter] = {}
        self._buckets: dict[float, Bucket] = {}
        self._counting = 0  # of those that want to know how many have them
        self.late: int = 0  # replies that nobody waited for any more

    def __len__(self) -> int:
        return len(self._open)

    # --- asking -----------------------------------------------------------------------------------------

    def until(self, timeout: float) -> float:
        """The end of so many seconds from now, or a bit later: many have the same."""
        grain = ldexp(1.0, max(FINEST, frexp(timeout)[1]) - GRAINS)
        return ceil((self._desk.now + timeout) / grain) * grain

    def bucket(self, until: float) -> Bucket:
        """Of those whose time ends then."""
        bucket = self._buckets.get(until)
        if bucket is None:
            bucket = Bucket()
            bucket.alarm = self._desk.later(until - self._desk.now, lambda: self._ring(until))
            self._buckets[until] = bucket
        return bucket

    def add(self, number: int, asked: ReplyWaiter) -> None:
        """It was posted under that number."""
        self._open[number] = asked.bucket[number] = asked
        self._counting += asked.counts

    def forget(self, number: int) -> None:
        """Nobody waits for it any more, or it has all that it will get."""
        asked = self._open.pop(number, None)
        if asked is not None:
            del asked.bucket[number]
            self._counting -= asked.counts

    # --- hearing ----------------------------------------------------------------------------------------

    def arrived(self, envelope: Envelope, indices: Sequence[int] | None) -> list[int]:
        """Replies; returns the numbers of what they reply to."""
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
            elif asked.replied(message, None if is_plain else _error_in(message)):
                self.forget(number)
        return numbers

    def answered(self, answer: Answer) -> None:
        """What became of some numbers: OK, when somebody has them."""
        if answer.state == "OK":
            if self._counting:
                for number in self._within(answer):
                    if self._open[number].answered(answer):
                        self.forget(number)
        elif answer.state != "FORWARD_WARNING":
            self._refuse(self._within(answer), answer)

    def lost(self, numbers: Iterable[int]) -> None:
        """Of these nobody can say any more what becomes of them."""
        for number in numbers:
            asked = self._open[number]
            self.forget(number)
            asked.refused(HandlerLost(LOST))

    def numbers(self) -> list[int]:
        """Of all that are open."""
        return list(self._open)

    def _within(self, answer: Answer) -> list[int]:
        first, last = answer.first, answer.last
        if last - first < len(self._open):
            return [n for n in range(first, last + 1) if n in self._open]
        return [n for n in self._open if first <= n <= last]

    def _refuse(self, numbers: Iterable[int], answer: Answer) -> None:
        for number in numbers:
            asked = self._open[number]
            self.forget(number)
            if answer.state == "EXPIRED":
                asked.over()
            else:
                asked.refused(of_answer(answer))

    def _ring(self, until: float) -> None:
        bucket = self._buckets.pop(until)
        for number, asked in list(bucket.items()):
            self.forget(number)
            asked.over()

    def close(self, error: MeshError) -> None:
        """The client is closed: whoever waits learns it."""
        for bucket in self._buckets.values():
            bucket.alarm.cancel()
        self._buckets.clear()
        for number, asked in list(self._open.items()):
            self.forget(number)
            asked.refused(error)


def _said(limit: float) -> str:
    """A time in words. In mesh.sync some microseconds of it are over."""
    if limit < 0.001:
        return "a millisecond"
    return f"{limit:.3g} s" if limit < 1000 else f"{limit:g} s"


def _error_in(message: Message) -> MeshError | None:
    """Why a reply is none; None: it is one."""
    code = message._properties().code[:LONGEST_CODE]
    return of_reply_code(code, message.content.decode(errors="replace"), message.sender) if code else None
