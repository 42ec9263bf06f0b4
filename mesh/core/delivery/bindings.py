"""What do durable subscriptions take of what this node accepts? Each has a queue, into which goes a copy."""

# Law: a copy is stored in the commit in which the message is accepted, whether that is persistent or not. It
#      has a place of its own, so what becomes of it is no matter of those who have the message as well.

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Protocol

from msgspec.structs import replace

from mesh.core.delivery.facts import BoundAgain
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Committed
from mesh.errors import MeshError, QueueFull
from mesh.names import PUTS
from mesh.queues.lots.lot import PRIORITY
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.routing.taker import Taker, Targets
from mesh.wire.commands import Answer, Query
from mesh.wire.envelope import ERASED, LOCAL_ONLY, PERSISTENT, RESENT, SECOND, Envelope

KEYS = 10  # that are named, when messages are lacking; and as many queues
NOT_FOR_THEM = ERASED | LOCAL_ONLY | SECOND
Answered = Callable[[Answer], None]


class BoundQueue(Taker, Protocol):
    """This node's part of a queue that belongs to a durable subscription."""

    name: str

    @property
    def refuses(self) -> bool:
        """Is there no room for more, and may it refuse that?"""

    def expects(self, priority: int) -> None:
        """Something is about to come."""

    def again(self, envelope: Envelope, then: Committed) -> None:
        """This may have been in another part of the queue; `then` hears when it is on disk here."""


class Bindings:
    """All of them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._index = SubscriptionIndex[BoundQueue]()
        self._queries: dict[BoundQueue, tuple[Query, ...]] = {}
        self.any = False  # asked of each message

    def bind(self, queue: BoundQueue, queries: tuple[Query, ...]) -> None:
        """From now on it takes what matches one of these."""
        self.unbind(queue)
        for query in queries:
            self._index.add(queue, query)
        self._queries[queue], self.any = queries, True

    def unbind(self, queue: BoundQueue) -> None:
        """It takes no more."""
        for query in self._queries.pop(queue, ()):
            self._index.discard(queue, query)
        self.any = bool(self._queries)

    def wanting(self, envelope: Envelope) -> list[str]:
        """The names of the queues that want it, or some of it."""
        return [queue.name for queue, _ in self._index.plan(envelope)]

    def taking(self, key: str, domain: str) -> list[str]:
        """The names of the queues that want messages of that topic."""
        return [queue.name for queue in self._index.match(key, domain)] if self.any else []

    def again(self, envelope: Envelope, answered: Answered) -> Answered:
        """Have what was accepted before in the queues that want it, where it says that it may have been given
        out before. Returns what to call with its answers: these wait for the disk.
        """
        if self._desk.watched:
            self._desk.say(BoundAgain(envelope))
        try:
            copies = list(self._copies(envelope))
        except QueueFull as error:
            self.lacks(envelope, envelope.count, str(error))
            return answered
        waiting, open_copies = list[Answer](), len(copies)

        def stored(error: MeshError | None) -> None:
            nonlocal open_copies
            if error is not None:
                self.lacks(envelope, envelope.count, str(error))
            open_copies -= 1
            if not open_copies:
                for answer in waiting:
                    answered(answer)

        def say(answer: Answer) -> None:
            if open_copies:
                waiting.append(answer)
            else:
                answered(answer)

        for queue, copy in copies:
            queue.again(copy, stored)
        return say

    def lacks(self, envelope: Envelope, count: int, why: str) -> None:
        """Tell that so many of these may be in no queue, if any wants it."""
        names = self.wanting(envelope)
        if names:
            self._desk.count("durable_lost", count)
            keys, of = ", ".join(envelope.keys[:KEYS]), ", ".join(names[:KEYS])
            text = f"{count:,} messages of {keys} may be lacking in {of}: {why}"
            self._desk.event("durable", text, level="warning")

    def copies(self, envelope: Envelope, may_be_second: bool) -> list[tuple[Envelope, Targets]]:
        """Of what was accepted, one for each queue. `may_be_second`: it may be in another part, too, which
        nobody knows who could tell. QueueFull.
        """
        flags = PERSISTENT | RESENT if may_be_second else PERSISTENT
        return [(copy, [(queue, None)]) for queue, copy in self._copies(envelope, flags)]

    def _copies(self, envelope: Envelope, flags: int = PERSISTENT) -> Iterator[tuple[BoundQueue, Envelope]]:
        for queue, indices in self._index.plan(envelope):
            if queue.refuses:
                text = f"the durable subscription {queue.name!r} is full at {self._desk.me.name}."
                hint = "Its consumers have to take some; or unsubscribe, if there are none any more."
                raise QueueFull(text, hint=hint)
            queue.expects(PRIORITY)
            piece = envelope if indices is None else envelope.cut(indices)
            copy = replace(
                piece,
                stream=_stream(envelope),
                to=PUTS + queue.name,
                flags=flags,
                # Several masters give it one stamp, with which it would come in between others here.
                sent=self._desk.stamp(),
            )
            yield queue, copy


def _stream(envelope: Envelope) -> bytes:
    """In a queue a message is known by stream and number; those of each domain are counted from 1."""
    if not envelope.domain:
        return envelope.stream
    return blake2b(envelope.stream + envelope.domain.encode(), digest_size=16).digest()
