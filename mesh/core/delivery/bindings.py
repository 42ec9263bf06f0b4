"""What do durable subscriptions take of what this node accepts? Each has a queue, into which goes a copy."""

# Law: a copy is stored in the commit in which the message is accepted, whether that is persistent or not. It
#      has a place of its own, so what becomes of it is no matter of those who have the message as well.

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol

from msgspec.structs import replace

from mesh.core.desk.desk import Desk
from mesh.errors import QueueFull
from mesh.names import PUTS
from mesh.queues.lot import PRIORITY
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.routing.taker import Taker, Targets
from mesh.wire.commands import Query
from mesh.wire.envelope import ERASED, LOCAL_ONLY, PERSISTENT, SECOND, Envelope

NOT_FOR_THEM = ERASED | LOCAL_ONLY | SECOND


class Bound(Taker, Protocol):
    """This node's part of a queue that belongs to a durable subscription."""

    name: str

    @property
    def is_full(self) -> bool:
        """Is there no room for more?"""

    def expects(self, priority: int) -> None:
        """Something is about to come."""


class Bindings:
    """All of them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._index = SubscriptionIndex[Bound]()
        self._queries: dict[Bound, tuple[Query, ...]] = {}
        self.any = False  # asked of each message

    def bind(self, queue: Bound, queries: tuple[Query, ...]) -> None:
        """From now on it takes what matches one of these."""
        self.unbind(queue)
        for query in queries:
            self._index.add(queue, query)
        self._queries[queue], self.any = queries, True

    def unbind(self, queue: Bound) -> None:
        """It takes no more."""
        for query in self._queries.pop(queue, ()):
            self._index.discard(queue, query)
        self.any = bool(self._queries)

    def wanting(self, envelope: Envelope) -> list[str]:
        """The names of the queues that want it, or some of it."""
        return [queue.name for queue, _ in self._index.plan(envelope)]

    def copies(self, envelope: Envelope) -> list[tuple[Envelope, Targets]]:
        """Of what was accepted, one for each queue. QueueFull."""
        copies: list[tuple[Envelope, Targets]] = []
        for queue, indices in self._index.plan(envelope):
            if queue.is_full:
                text = f"the durable subscription {queue.name!r} is full at {self._desk.me.name}."
                hint = "Its consumers have to take some; or unsubscribe, if there are none any more."
                raise QueueFull(text, hint=hint)
            queue.expects(PRIORITY)
            piece = envelope if indices is None else envelope.cut(indices)
            copy = replace(
                piece,
                stream=_stream(envelope),
                to=PUTS + queue.name,
                flags=PERSISTENT,
                # Several masters give it one stamp, with which it would come in between others here.
                sent=self._desk.stamp(),
            )
            copies.append((copy, [(queue, None)]))
        return copies


def _stream(envelope: Envelope) -> bytes:
    """In a queue a message is known by stream and number; those of each domain are counted from 1."""
    if not envelope.domain:
        return envelope.stream
    return blake2b(envelope.stream + envelope.domain.encode(), digest_size=16).digest()
