"""Incoming moves of queued messages from other nodes, and the answer to each piece."""

# Law 1: a persistent piece is answered "taken" after one commit has stored it with its number. A volatile
#        queue answers when all messages of the piece are settled. Until then the source keeps the piece,
#        unless it drains and has the piece in memory only.
# Law 2: an answer is sent on the connection on which the piece arrived. If that connection is closed, the
#        source sends the piece again.
# Law 3: each pair of source and queue has one commit in progress at a time. Meanwhile, pieces beyond a limit
#        are refused.

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from mesh.errors import MeshError, StoreFull
from mesh.features.queues.model.moves.transfer import PieceVerdict
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.transfers.arrived_pieces import (
    AHEAD,
    ArrivedPiece,
    OutcomesByConnection,
    PieceOutcomes,
    is_readable,
    queued_here,
    refuse_pieces,
)
from mesh.features.queues.node.transfers.sources import TransferMessage, TransferSource, TransferSources
from mesh.features.queues.wire import MovingEntry, Transfer
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import GivenUp
from mesh.kernel.peers.peer import Peer
from mesh.names import PUTS, SUBS
from mesh.wire.envelope import PERSISTENT, Envelope


class Arriving(Component):
    """Component for the moves that end on this node, by queue and source."""

    def __init__(self, context: NodeContext, queues: Queues) -> None:
        self._context = context
        self._queues = queues
        self._sources = TransferSources(context, queues.stores)
        self._messages = 0
        self._is_early = False  # pieces arrived before the node serves

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Transfer, self._on_transfer),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(GivenUp, lambda fact: self._given_up(fact.uuid)),)

    def figures(self) -> dict[str, int | float]:
        return {"queue_moved_in": self._messages}

    def start(self, beginning: Beginning) -> None:
        self._sources.start(beginning)

    def on_restored(self) -> None:
        for name, uuid, _ in self._sources:
            if self._queues.find(name) is None:
                self._sources.drop(name, uuid)

    def tick(self) -> None:
        if self._is_early and self._context.serves:
            self._is_early = False
            for name, uuid, source in self._sources:
                if source.waiting:
                    self._process_waiting(name, uuid, source)

    # --- received pieces ----------------------------------------------------------------------------------

    def _on_transfer(self, conn: Conn, peer: Peer, command: Transfer, envelopes: list[Envelope]) -> None:
        if conn is not peer.data:
            return
        name, uuid = command.queue, peer.node.uuid
        source = self._sources.source_of(name, uuid) if self._queues.find(name) is not None else None
        if source is not None and source.has_room():
            source.waiting.append((conn, command, envelopes))
            self._is_early = self._is_early or not self._context.serves
            self._process_waiting(name, uuid, source)
        else:
            refuse_pieces(self._context.out, [(conn, command, envelopes)])

    def _process_waiting(self, name: str, uuid: bytes, source: TransferSource) -> None:
        """Process the waiting pieces, unless a commit is in progress or the node does not serve yet."""
        while source.waiting and not source.is_busy and self._context.serves:
            messages = [*source.waiting]
            source.waiting.clear()
            self._accept_pieces(name, uuid, source, messages)
        self._sources.tidy(name, uuid)

    def _accept_pieces(
        self, name: str, uuid: bytes, source: TransferSource, messages: list[TransferMessage]
    ) -> None:
        queue, came = self._queues.find(name), list[ArrivedPiece]()
        for conn, command, envelopes in messages:
            if conn.closed:
                continue  # the source sends it again
            outcomes = PieceOutcomes(conn)
            for entry, envelope in zip(command.entries, envelopes, strict=True):
                one = self._judged(source, queue, command.low, entry, envelope, outcomes)
                if one is not None:
                    one.is_parting = command.parting
                    came.append(one)
            outcomes.send_outcomes(self._context.out, name)
            if queue is not None and command.parting:
                self._part(queue, uuid, {number for number, *_ in command.entries})
        if queue is not None and came:
            self._store(queue, uuid, source, came)

    def _judged(
        self,
        source: TransferSource,
        queue: QueueSink | None,
        low: int,
        entry: MovingEntry,
        envelope: Envelope,
        outcomes: PieceOutcomes,
    ) -> ArrivedPiece | None:
        """Return the piece if it is new and accepted, or `None`.

        The outcome of any other piece is added to `outcomes`, or follows when the first copy is stored.
        """
        number, is_again, moves, tries = entry
        verdict = source.incoming.classify(number, low, is_again)
        is_doubtful = verdict is PieceVerdict.PERHAPS
        if verdict is PieceVerdict.TAKEN:
            outcomes.taken.append(number)
        elif verdict is PieceVerdict.COMING:
            source.asked[number] = outcomes.conn
        elif verdict is PieceVerdict.REUSED or source.incoming.is_long or not self._fits(queue, envelope):
            outcomes.add_refusal(number, is_doubtful)
        elif queue is not None:
            source.incoming.accept_number(number)
            source.asked[number] = outcomes.conn
            shift, latest = outcomes.conn.clock.shift, self._context.clock.believed + AHEAD
            queued = queued_here(envelope, self._context.me.uuid, shift, latest, moves, tries)
            if is_doubtful:
                queued.may_have_been_given(queued.open())
            queue.expect(queued.stored, +1)
            return ArrivedPiece(number, queued, is_doubtful)
        return None

    def _fits(self, queue: QueueSink | None, e: Envelope) -> bool:
        """Return whether the queue accepts the envelope.

        The envelope must be valid, and there must be room. This node must be one of the nodes of the queue,
        and not be drained.
        """
        if queue is None or queue.is_removed or queue.is_full or self._queues.schedule.is_leaving:
            return False
        if self._queues.has_no_room(queue, e):
            return False
        nodes = queue.part.terms.nodes
        to, is_bound = PUTS + queue.name, queue.name.startswith(SUBS)  # the domain of a bound queue is free
        if (nodes and self._context.me.name not in nodes) or e.to != to or not (e.domain == to or is_bound):
            return False
        return not e.flags & ~PERSISTENT and is_readable(e)

    # --- storing ------------------------------------------------------------------------------------------

    def _store(self, queue: QueueSink, uuid: bytes, source: TransferSource, came: list[ArrivedPiece]) -> None:
        envelopes = [one.queued for one in came if one.queued.envelope.persistent]
        arrived = partial(self._arrived, queue, uuid, source, came)
        if envelopes:
            source.is_busy = True
            queue.rows.arrive(queue.name, uuid, source.incoming.pack(), envelopes, arrived)
            source.is_stored = True
        else:
            arrived(None)

    def _arrived(
        self,
        queue: QueueSink,
        uuid: bytes,
        source: TransferSource,
        came: list[ArrivedPiece],
        error: MeshError | None,
    ) -> None:
        """Queue pieces after they are stored, or refuse them if the store is full.

        After any other error the node stops without an answer, as the pieces may be stored.
        """
        source.is_busy = False
        for one in came:
            queue.expect(one.queued.stored, -1)
        if error is None:
            self._store_pieces(queue, uuid, source, came)
        elif isinstance(error, StoreFull):
            self._not_stored(queue, source, came)
        if self._sources.find_source(queue.name, uuid) is source:
            self._process_waiting(queue.name, uuid, source)

    def _store_pieces(
        self, queue: QueueSink, uuid: bytes, source: TransferSource, came: list[ArrivedPiece]
    ) -> None:
        outcomes = OutcomesByConnection()
        for one in came:
            queued, number = one.queued, one.number
            self._messages += queued.left
            queue.traffic.moved_in += queued.left
            is_kept = queue.rows.is_volatile and queued.stored.position and not one.is_parting
            if is_kept and not queue.is_removed:
                queue.part.backlog.pledges.add(queued, uuid, number)
            else:
                source.incoming.written(number)
                outcomes[source.asked.pop(number)].taken.append(number)
            queue.arrive(queued)
        outcomes.send_outcomes(self._context.out, queue.name)

    def _not_stored(self, queue: QueueSink, source: TransferSource, came: list[ArrivedPiece]) -> None:
        if queue.part.backlog.watch is not None:
            queue.part.backlog.watch.has_no_room("where a move comes")
        queue.rows.not_arrived(one.queued for one in came if one.queued.stored.position)
        outcomes = OutcomesByConnection()
        for one in came:
            source.incoming.withdraw_number(one.number)
            outcomes[source.asked.pop(one.number)].add_refusal(one.number, one.is_doubtful)
        outcomes.send_outcomes(self._context.out, queue.name)

    def _part(self, queue: QueueSink, uuid: bytes, numbers: Collection[int]) -> None:
        """Answer the unsettled pieces `numbers`, which their source no longer keeps."""
        queue.part.backlog.pledges.redeem_moves(uuid, numbers)
        self.redeemed(queue)

    def redeemed(self, queue: QueueSink) -> None:
        """Answer the settled pieces that their source has kept until now."""
        outcomes = OutcomesByConnection()
        for uuid, number in queue.part.backlog.pledges.take_redeemed():
            source = self._sources.find_source(queue.name, uuid)
            if source is not None:
                source.incoming.written(number)
                if (conn := source.asked.pop(number, None)) is not None:
                    outcomes[conn].taken.append(number)
        outcomes.send_outcomes(self._context.out, queue.name)

    # --- removed queues and nodes -------------------------------------------------------------------------

    def on_queue_removed(self, queue: QueueSink) -> None:
        """Answer the settled and waiting pieces of a removed queue, and forget its sources."""
        self.redeemed(queue)
        for name, uuid, source in self._sources:
            if name == queue.name:
                refuse_pieces(self._context.out, source.waiting)
                self._sources.drop(name, uuid)

    def _given_up(self, uuid: bytes) -> None:
        """Forget the idle sources of a node that the operator has given up."""
        for name, source_uuid, source in self._sources:
            if source_uuid == uuid and source.is_idle:
                self._sources.drop(name, uuid)
