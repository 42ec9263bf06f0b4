"""The bindings of durable subscriptions, which copy accepted messages into their queues."""

# Law: a copy is stored in the commit that accepts the message, persistent or not. It has its own position,
#      so its settlement is independent of the other receivers.

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Protocol

from msgspec.structs import replace

from mesh.errors import MeshError, QueueFull
from mesh.kernel.context.disk import Committed
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.facts import BoundAgain
from mesh.names import PUTS
from mesh.printable import count as counted
from mesh.routing.sink import Sink, Targets
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.values import PRIORITY
from mesh.wire.commands import Answer, Query
from mesh.wire.envelope import ERASED, LOCAL_ONLY, PERSISTENT, RESENT, SECOND, Envelope

KEYS = 10  # keys and queues named in a report, at most
NOT_FOR_THEM = ERASED | LOCAL_ONLY | SECOND
Answered = Callable[[Answer], None]


class BoundQueue(Sink, Protocol):
    """The local part of a queue that belongs to a durable subscription."""

    name: str

    @property
    def refuses(self) -> bool:
        """Whether the queue is full and rejects messages."""

    def expects(self, priority: int) -> None:
        """Prepare for a message of this priority."""

    def store_redelivered(self, envelope: Envelope, then: Committed) -> None:
        """Add messages that another node may have delivered, marked as redelivered.

        `then` is called when they are on disk here, or with the error.
        """


class DurableBindings:
    """The bound queues of all durable subscriptions at this node."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._index = SubscriptionIndex[BoundQueue]()
        self._queries: dict[BoundQueue, tuple[Query, ...]] = {}
        self.any = False  # checked for each message

    def bind_queue(self, queue: BoundQueue, queries: tuple[Query, ...]) -> None:
        """Bind a queue: it receives a copy of each message that is accepted from now on and matches a query.

        `queries` replace earlier queries of the queue.
        """
        self.unbind(queue)
        for query in queries:
            self._index.add(queue, query)
        self._queries[queue], self.any = queries, True

    def unbind(self, queue: BoundQueue) -> None:
        for query in self._queries.pop(queue, ()):
            self._index.discard(queue, query)
        self.any = bool(self._queries)

    def wanting(self, envelope: Envelope) -> list[str]:
        """Return the names of the queues with a query that matches part of the envelope."""
        return [queue.name for queue, _ in self._index.plan(envelope)]

    def taking(self, key: str, domain: str) -> list[str]:
        """Return the names of the queues that receive messages of that topic."""
        return [queue.name for queue in self._index.match(key, domain)] if self.any else []

    def redeliver(self, envelope: Envelope, answered: Answered) -> Answered:
        """Add an accepted envelope to the matching queues once more, marked as redelivered.

        Return the handler for its answers, which wait until the copies are on disk. If one of the queues is
        full, no queue receives the envelope, and the loss is reported.
        """
        if self._context.facts.watched:
            self._context.facts.publish_fact(BoundAgain(envelope))
        try:
            copies = list(self._copies(envelope))
        except QueueFull as error:
            self.report_missing(envelope, envelope.count, str(error))
            return answered
        waiting, open_copies = list[Answer](), len(copies)

        def stored(error: MeshError | None) -> None:
            nonlocal open_copies
            if error is not None:
                self.report_missing(envelope, envelope.count, str(error))
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
            queue.store_redelivered(copy, stored)
        return say

    def report_missing(self, envelope: Envelope, count: int, why: str) -> None:
        """Report that the queues that match the envelope may lack `count` of its messages."""
        names = self.wanting(envelope)
        if names:
            self._context.counters.add_count("durable_lost", count)
            keys, of = ", ".join(envelope.keys[:KEYS]), ", ".join(names[:KEYS])
            text = f"{of} may lack {counted(count, 'message')} of {keys}: {why}"
            self._context.event("durable", text, level="warning")

    def copies(self, envelope: Envelope, may_be_second: bool) -> list[tuple[Envelope, Targets]]:
        """Return a copy of an accepted envelope for each matching queue. Raises: QueueFull if one rejects it.

        `may_be_second` marks the copies as possibly redelivered, as another part of the queue may have the
        messages.
        """
        flags = PERSISTENT | RESENT if may_be_second else PERSISTENT
        return [(copy, [(queue, None)]) for queue, copy in self._copies(envelope, flags)]

    def _copies(self, envelope: Envelope, flags: int = PERSISTENT) -> Iterator[tuple[BoundQueue, Envelope]]:
        for queue, indices in self._index.plan(envelope):
            if queue.refuses:
                text = f"The durable subscription {queue.name!r} is full at {self._context.me.name}."
                hint = "Start a consumer, or unsubscribe if none is left."
                raise QueueFull(text, hint=hint)
            queue.expects(PRIORITY)
            piece = envelope if indices is None else envelope.cut(indices)
            copy = replace(
                piece,
                stream=_stream(envelope),
                to=PUTS + queue.name,
                flags=flags,
                # The shared timestamp of several masters would not fit the order of this queue.
                sent=self._context.clock.stamp(),
            )
            yield queue, copy


def _stream(envelope: Envelope) -> bytes:
    """Return the stream of a copy in a queue.

    A queue identifies messages by stream and number, but the numbers of each domain start from 1.
    """
    if not envelope.domain:
        return envelope.stream
    return blake2b(envelope.stream + envelope.domain.encode(), digest_size=16).digest()
