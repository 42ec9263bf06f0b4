"""What clients ask of queues: to declare one, to look at it, to empty it, to remove it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mesh.core.desk.asked import Inquiry, Right, Verb, answer
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.pages import page
from mesh.core.desk.part import Part
from mesh.core.queues.declaring import Declaring
from mesh.core.queues.here import QueueHere
from mesh.core.queues.queues import Queues
from mesh.core.queues.rows import Rows
from mesh.errors import LocalError, MeshError, QueueInUse
from mesh.queues.definition import plain, terms_of
from mesh.queues.searching import in_vain
from mesh.wire.calls import (
    AskQueueDeclare,
    AskQueueInfo,
    AskQueuePeek,
    AskQueuePurge,
    AskQueueRemove,
    AskQueues,
)
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPES_A_MESSAGE
from mesh.wire.replies import Peeked, Purged, QueueRow, QueueRows, Removed, ReplyValue


class Asked(Part):
    """The verbs of queues. What changes something is answered when it is on disk."""

    def __init__(self, desk: Desk, disk: Disk, queues: Queues, declaring: Declaring) -> None:
        self._desk = desk
        self._disk = disk
        self._queues = queues
        self._declaring = declaring

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskQueueDeclare, self._declare, Right.WRITE),
            answer(AskQueueRemove, self._remove, Right.WRITE),
            answer(AskQueuePurge, self._purge, Right.WRITE),
            answer(AskQueueInfo, lambda asked: asked.say(self._row(self._queues.get(asked.ask.name)))),
            answer(AskQueues, self._list),
            answer(AskQueuePeek, self._peek),
        )

    def _declare(self, asked: Inquiry[AskQueueDeclare]) -> None:
        name = asked.ask.name
        self._declaring.declare(name, terms_of(asked.ask.terms), asked.who.text)
        self._say(asked, lambda: self._row(self._queues.get(name)))

    def _remove(self, asked: Inquiry[AskQueueRemove]) -> None:
        queue = self._queues.get(asked.ask.name)
        part, count = queue.part, queue.part.messages
        if asked.ask.if_unused and (part.takers or count):
            what = f"{len(part.takers)} take from the queue {queue.name!r}, and {count:,} messages are in it."
            raise QueueInUse(what, hint="To remove it with all that is in it: if_unused=False, or --force.")
        self._declaring.remove(queue.name, asked.who.text)
        self._queues.declared(queue.name, self._declaring.get(queue.name))
        self._say(asked, lambda: Removed(removed=count), queue.rows)

    def _purge(self, asked: Inquiry[AskQueuePurge]) -> None:
        queue = self._queues.get(asked.ask.name)
        count = queue.part.purge()
        self._desk.event(
            "queue", f"{count:,} messages of {queue.name!r} were thrown away by {asked.who.text}"
        )
        self._queues.write(queue)
        self._queues.changed(queue)
        self._say(asked, lambda: Purged(purged=count), queue.rows)

    def _say(self, asked: Inquiry[Any], value: Callable[[], ReplyValue], rows: Rows | None = None) -> None:
        """When it is on disk, with what became of the messages in the queue of these rows. That goes first:
        a crash in between leaves a queue that is empty."""

        def written(error: MeshError | None) -> None:
            if isinstance(error, LocalError):
                asked.fail(error)
            elif error is not None:
                asked.fail(LocalError(error.what, hint=error.hint, code=error.code))
            else:
                asked.say(value())

        def next_one(error: MeshError | None) -> None:
            if error is not None:
                written(error)
            else:
                self._disk.commit_if_any(written)

        if rows is not None:
            rows.commit_if_any(next_one)
        else:
            next_one(None)

    def _row(self, queue: QueueHere) -> QueueRow:
        part, now = queue.part, self._desk.now
        vain, looks_on = in_vain(part)
        return QueueRow(
            name=queue.name,
            terms=plain(part.terms),
            ready=part.ready,
            out=part.away,
            delayed=part.later.messages,
            bytes=part.bytes,
            consumers=len(part.takers),
            oldest=queue.oldest or 0.0,
            arrives=queue.arrives.value(now),
            leaves=queue.leaves.value(now),
            dead=part.died,
            acked=part.acked,
            redelivered=part.redelivered,
            in_vain=vain,
            looks_on=looks_on,
            node=self._desk.me.name,
            moving=part.going,
        )

    def _list(self, asked: Inquiry[AskQueues]) -> None:
        queues = {queue.name: queue for queue in self._queues}
        rows, more = page(queues, lambda name: self._row(queues[name]), asked.ask)
        asked.say(QueueRows(queues=rows, more=more))

    def _peek(self, asked: Inquiry[AskQueuePeek]) -> None:
        """The next messages that are ready, in as many replies as they need: 1 MiB in all, about."""
        pieces = list(self._next(self._queues.get(asked.ask.name), asked.ask.count))
        for at in range(0, len(pieces) or 1, ENVELOPES_A_MESSAGE):
            some = pieces[at : at + ENVELOPES_A_MESSAGE]
            tries = [n for _, column in some for n in column]
            more = at + ENVELOPES_A_MESSAGE < len(pieces)
            asked.say(Peeked(tries=tries, more=more), [piece for piece, _ in some])

    def _next(self, queue: QueueHere, n: int) -> Iterator[tuple[Envelope, bytes]]:
        """The next n messages, and how often each was given to somebody."""
        size = 0
        for lot in queue.part.next():
            runs = lot.first(n)
            indices = lot.indices(runs)
            piece = lot.envelope if indices is None else lot.envelope.cut(indices)
            if size and size + len(piece.body) > ENVELOPE_BYTES:
                return
            size += len(piece.body)
            yield piece, lot.column(runs) or bytes(piece.count)
            n -= piece.count
            if not n:
                return
