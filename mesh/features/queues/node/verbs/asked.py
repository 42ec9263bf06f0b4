"""Calls that change queues: declare, purge and remove."""

# Law: with `if_unused` a queue is removed only if it is known to be empty and without consumers at all nodes.
#      The state of a node that is unreachable or does not answer is unknown.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mesh.errors import BadName, LocalError, MeshError, QueueInUse
from mesh.features.queues.model.declared.definition import terms_of
from mesh.features.queues.node.definitions.declaring import Declaring
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.rows import Rows
from mesh.features.queues.node.looking.looking import row_of
from mesh.features.queues.node.looking.queue_part_calls import (
    NodesSaid,
    QueuePartCalls,
    check_unused,
    purged,
    row,
)
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.names import SUBS
from mesh.printable import count as counted
from mesh.printable import typed
from mesh.wire.calls import AskQueueDeclare, AskQueueInfo, AskQueuePurge, AskQueueRemove
from mesh.wire.replies import Purged, QueueRows, Removed, ReplyValue


class ChangingVerbs(Component):
    """Component for the calls that change queues, which are answered after the change is on disk."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        queues: Queues,
        declaring: Declaring,
        everywhere: QueuePartCalls,
    ) -> None:
        self._context = context
        self._disk = disk
        self._queues = queues
        self._declaring = declaring
        self._everywhere = everywhere

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskQueueDeclare, self._declare, Right.WRITE),
            answer(AskQueueRemove, self._remove, Right.WRITE),
            answer(AskQueuePurge, self._purge_all, Right.WRITE),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskQueuePurge, lambda asked: self._purge(asked, self._queues.shared(asked.ask.name))),)

    def _declare(self, asked: IncomingCall[AskQueueDeclare]) -> None:
        name = asked.ask.name
        is_new = self._declaring.terms_of(name) is None
        self._declaring.declare_queue(name, terms_of(asked.ask.terms), asked.who.text)

        def told() -> None:
            self.when_written(asked, lambda: row(row_of(self._queues.get(name), self._context), {}, ()))

        if is_new:
            self._declaring.spread(name, told)
        else:
            told()

    def _remove(self, asked: IncomingCall[AskQueueRemove]) -> None:
        queue = self._queues.get(asked.ask.name)
        if queue.name.startswith(SUBS):
            name = queue.name.removeprefix(SUBS)
            what = f"The queue {queue.name!r} belongs to the durable subscription {name!r}."
            hint = f"Remove the subscription: unsubscribe({name!r}), or `mesh unsub {typed(name)}`."
            raise BadName(what, hint=hint)
        if queue.rows.settlements.awaited[queue.name]:
            what = f"A prepared transaction puts messages into the queue {queue.name!r}."
            raise QueueInUse(what, hint="Commit it or roll it back: `mesh tx ls`.")
        if not asked.ask.if_unused:
            self._remove_now(asked, queue)
        elif queue.part.terms.scope == "node":
            check_unused(row(row_of(queue, self._context), {}, ()), ())
            self._remove_now(asked, queue)
        else:
            self._remove_if_unused(asked)

    def _remove_if_unused(self, asked: IncomingCall[AskQueueRemove]) -> None:
        """Ask all nodes for the state of their parts, and remove the queue if all are known to be unused."""
        name = asked.ask.name

        def came(told: NodesSaid[QueueRows], missing: list[str]) -> None:
            try:
                queue = self._queues.get(name)  # may have been removed meanwhile
                unknown = [*missing, *self._everywhere.last_known.unknown()]
                check_unused(row(row_of(queue, self._context), told, missing), unknown)
                self._remove_now(asked, queue)
            except LocalError as error:
                asked.fail(error)

        self._everywhere.ask_all_nodes(AskQueueInfo(name=name), QueueRows, came)

    def _remove_now(self, asked: IncomingCall[AskQueueRemove], queue: QueueSink) -> None:
        count = queue.part.backlog.messages
        self._declaring.remove_queue(queue.name, asked.doer)
        self._queues.declared(queue.name, self._declaring.terms_of(queue.name))
        self.when_written(asked, lambda: Removed(removed=count), queue.rows)

    def _purge_all(self, asked: IncomingCall[AskQueuePurge]) -> None:
        ask, queue = asked.ask, self._queues.get(asked.ask.name)

        def then(mine: Purged) -> None:
            self._everywhere.ask_all_nodes(
                ask,
                Purged,
                lambda told, missing: asked.reply(
                    purged(mine.purged, told, missing, self._everywhere.last_known.away(queue.name))
                ),
            )

        self._purge(asked, queue, asked.reply if ask.here or self._everywhere.is_alone(queue) else then)

    def _purge(
        self,
        asked: IncomingCall[AskQueuePurge],
        queue: QueueSink,
        then: Callable[[Purged], None] | None = None,
    ) -> None:
        """Discard the ready and delayed messages here, and answer with their count, or pass it to `then`."""
        count, who = queue.part.backlog.purge(), asked.who
        by = who.node.name if isinstance(who, Peer) else asked.doer
        if count or not isinstance(who, Peer):  # clients also get an event for 0 messages
            self._context.event("queue", f"{queue.name!r}: {by} purged {counted(count, 'message')}")
        queue.write_changed()
        self._queues.schedule.schedule_queue(queue)
        self._stored(asked, lambda: (then or asked.reply)(Purged(purged=count)), queue.rows)

    def when_written(
        self, asked: IncomingCall[Any], value: Callable[[], ReplyValue], rows: Rows | None = None
    ) -> None:
        """Answer with `value()` after the changes are on disk; see `_stored`."""

        def say() -> None:
            try:
                asked.reply(value())
            except LocalError as gone:  # the queue was removed meanwhile
                asked.fail(gone)

        self._stored(asked, say, rows)

    def _stored(self, asked: IncomingCall[Any], then: Callable[[], None], rows: Rows | None = None) -> None:
        """Call `then` after the changes are on disk, or answer with the error.

        The store of `rows` is committed first, so that a crash in between leaves an empty queue.
        """

        def written(error: MeshError | None) -> None:
            if isinstance(error, LocalError):
                asked.fail(error)
            elif error is not None:
                asked.fail(LocalError(error.what, hint=error.hint, code=error.code))
            else:
                then()

        def next_one(error: MeshError | None) -> None:
            if error is not None:
                written(error)
            else:
                self._disk.commit_if_any(written)

        if rows is not None:
            rows.commit_if_any(next_one)
        else:
            next_one(None)
