"""Read-only requests about queues: contents, next messages, and reasons for waiting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mesh.errors import NoQueue
from mesh.features.queues.model.declared.definition import plain
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.looking import queue_part_calls
from mesh.features.queues.node.looking.queue_part_calls import QueuePartCalls
from mesh.features.queues.node.moves.balancing import QueueBalancing
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.kernel.context.seams import NamedHere
from mesh.reasons.near import near
from mesh.reasons.reason import reason
from mesh.reasons.what import QUEUE, What
from mesh.values import messages as counted
from mesh.wire.calls import AskQueueInfo, AskQueuePeek, AskQueues, AskQueueWhy
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPES_A_MESSAGE
from mesh.wire.replies import Peeked, QueueRow, QueueRows, QueueWhy, Reason, WhyRow


class Looking(Component):
    """Component for the read-only requests of clients and other nodes.

    A client's request about a mesh queue is answered when all reachable nodes have replied or timed out,
    unless the request is for this node only. Other nodes get no reports about queues with scope "node".
    """

    def __init__(
        self,
        context: NodeContext,
        queues: Queues,
        queue_part_calls: QueuePartCalls,
        balancing: QueueBalancing,
    ) -> None:
        self._context = context
        self._queues = queues
        self._everywhere = queue_part_calls
        self._balancing = balancing
        self._known = queue_part_calls.last_known

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind != QUEUE:
            return
        queue = self._queues.find(what.text)
        if queue is None or (queue.part.terms.scope == "node" and not what.is_start):
            if found := near(what.text, (each.name for each in self._queues)):
                yield reason("NEAR_QUEUE", near=found)
            return
        part, rows = queue.part, list(self._balancing.reasons(queue))
        if queue.traffic.dropped:
            yield reason("QUEUE_DROPS", n=queue.traffic.dropped, bytes=part.backlog.bytes)
        elif queue.is_full:
            yield reason("QUEUE_FULL", n=counted(part.backlog.messages), bytes=part.backlog.bytes)
        for n, text, is_cause in rows:
            yield reason("NOBODY_TAKES" if is_cause else "QUEUE_WAITS", n=counted(n), why=text)
        if not rows:
            yield reason("QUEUE_EMPTY")

    def named_here(self) -> Mapping[str, NamedHere]:
        return {QUEUE: NamedHere(self._names, self._used_names, self._state)}

    def _names(self) -> Iterator[str]:
        return (queue.name for queue in self._queues)

    def _used_names(self) -> Iterator[str]:
        awake = list(self._queues.schedule.awake)
        return (queue.name for queue in awake if queue.part.backlog.messages or queue.part.takers)

    def _state(self, name: str) -> tuple[str, int] | None:
        """Return ("consumed", "waiting" or "empty", the number of messages) of a queue."""
        queue = self._queues.find(name)
        if queue is None:
            return None
        messages = queue.part.backlog.messages
        return ("consumed" if queue.part.takers else "waiting" if messages else "empty"), messages

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskQueueInfo, self._info),
            answer(AskQueues, self._list),
            answer(AskQueuePeek, self._peek),
            answer(AskQueueWhy, self._why),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskQueueInfo, self._info_here),
            answer(AskQueues, lambda asked: asked.reply(self._page(asked.ask, is_shared=True))),
            answer(AskQueuePeek, self._peek_here),
            answer(AskQueueWhy, self._why_here),
        )

    def _get(self, name: str) -> QueueSink:
        """Return the queue. Raises: NoQueue, with the nodes that may have it but cannot be asked."""
        try:
            return self._queues.get(name)
        except NoQueue as error:
            raise self._everywhere.none_of(error) from error

    def _info_here(self, asked: IncomingCall[AskQueueInfo]) -> None:
        row = row_of(self._queues.shared(asked.ask.name), self._context)
        asked.reply(QueueRows(queues=[row]))

    def _why_here(self, asked: IncomingCall[AskQueueWhy]) -> None:
        asked.reply(self._reasons(self._queues.shared(asked.ask.name)))

    def _info(self, asked: IncomingCall[AskQueueInfo]) -> None:
        queue, ask = self._get(asked.ask.name), asked.ask
        if ask.here or self._everywhere.is_alone(queue):
            asked.reply(queue_part_calls.row(row_of(queue, self._context), {}, ()))
            return
        self._everywhere.ask_all_nodes(
            ask,
            QueueRows,
            lambda told, missing: asked.reply(
                queue_part_calls.row(
                    row_of(queue, self._context), told, missing, self._known.away(queue.name)
                )
            ),
        )

    def _page(self, ask: AskQueues, is_shared: bool = False) -> QueueRows:
        """Return a page of the queues here; `is_shared` leaves out queues with scope "node"."""
        queues = {queue.name: queue for queue in self._queues}
        names = [name for name, each in queues.items() if not is_shared or each.part.terms.scope == "mesh"]
        rows, more = page(names, lambda name: row_of(queues[name], self._context), ask)
        return QueueRows(queues=rows, more=more)

    def _list(self, asked: IncomingCall[AskQueues]) -> None:
        ask = asked.ask
        if ask.here or self._everywhere.is_alone(None):
            asked.reply(queue_part_calls.rows(self._page(ask), {}, (), ask))
            return
        self._everywhere.ask_all_nodes(
            ask,
            QueueRows,
            lambda told, missing: asked.reply(
                queue_part_calls.rows(
                    self._page(ask), told, missing, ask, self._known.parts, self._known.away()
                )
            ),
        )

    def _peek(self, asked: IncomingCall[AskQueuePeek]) -> None:
        """Send the next ready messages, at most 256 KiB or one piece, in as many replies as necessary."""
        ask, queue = asked.ask, self._get(asked.ask.name)
        mine = list(self._next(queue, ask.count))
        if ask.here or self._everywhere.is_alone(queue):
            self._say_pieces(asked, mine)
            return
        self._everywhere.ask_all_nodes(
            ask,
            Peeked,
            lambda told, missing: self._say_pieces(
                asked, queue_part_calls.peeked(mine, told, ask.count), missing
            ),
        )

    def _peek_here(self, asked: IncomingCall[AskQueuePeek]) -> None:
        pieces = list(self._next(self._queues.shared(asked.ask.name), asked.ask.count))[:ENVELOPES_A_MESSAGE]
        self._say_pieces(asked, pieces)

    def _say_pieces(
        self,
        asked: IncomingCall[AskQueuePeek],
        pieces: Sequence[queue_part_calls.CountedEnvelope],
        missing: Sequence[str] = (),
    ) -> None:
        for at in range(0, len(pieces) or 1, ENVELOPES_A_MESSAGE):
            some = pieces[at : at + ENVELOPES_A_MESSAGE]
            tries = [n for _, column in some for n in column]
            more = at + ENVELOPES_A_MESSAGE < len(pieces)
            said = Peeked(tries=tries, more=more, missing=list(missing))
            asked.reply(said, [piece for piece, _ in some])

    def _next(self, queue: QueueSink, n: int) -> Iterator[tuple[Envelope, bytes]]:
        """Yield at most `n` next messages in memory, with their delivery counts.

        The pieces have at most `ENVELOPE_BYTES` in total, but there is at least one if a message is ready.
        """
        size = 0
        for queued in queue.part.order.ready_envelopes():
            runs = queued.first_ready(n)
            indices = queued.indices(runs)
            piece = queued.envelope if indices is None else queued.envelope.cut(indices)
            if size and size + len(piece.body) > ENVELOPE_BYTES:
                return
            size += len(piece.body)
            yield piece, queued.column(runs, queue.part.terms.max_attempts) or bytes(piece.count)
            n -= piece.count
            if not n:
                return

    def _why(self, asked: IncomingCall[AskQueueWhy]) -> None:
        ask, queue = asked.ask, self._get(asked.ask.name)
        mine = self._reasons(queue)
        if self._everywhere.is_alone(queue):
            asked.reply(mine)
            return
        self._everywhere.ask_all_nodes(
            ask,
            QueueWhy,
            lambda told, missing: asked.reply(
                queue_part_calls.why(mine.rows, told, missing, self._known.away(queue.name))
            ),
        )

    def _reasons(self, queue: QueueSink) -> QueueWhy:
        me = self._context.me.name
        rows = [
            WhyRow(node=me, messages=n, why=text, is_cause=is_cause)
            for n, text, is_cause in self._balancing.reasons(queue)
        ]
        return QueueWhy(rows=rows)


def row_of(queue: QueueSink, context: NodeContext) -> QueueRow:
    part, now = queue.part, context.clock.now
    vain, looks_on = part.search.in_vain()
    return QueueRow(
        name=queue.name,
        terms=plain(part.terms) | ({"when_full": "drop_oldest"} if queue.drops_oldest else {}),
        queries=[(query.kind, query.text, query.domain) for query in queue.queries],
        ready=part.ready,
        out=part.away,
        delayed=part.backlog.later.messages,
        going=part.moving.messages,
        bytes=part.backlog.bytes,
        consumers=len(part.takers),
        oldest=queue.oldest or 0.0,
        arrives=queue.traffic.arrives.value(now),
        leaves=queue.traffic.leaves.value(now),
        dead=part.failures.died,
        acked=part.deliveries.acked,
        redelivered=part.failures.redelivered,
        in_vain=vain,
        looks_on=looks_on,
        node=context.me.name,
    )
