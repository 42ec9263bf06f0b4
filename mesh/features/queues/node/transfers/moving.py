"""Outgoing moves of queued messages to other nodes, and their outcomes."""

# Law 1: a piece is sent after its move is on disk, and refused messages become ready after the refusal is on
#        disk.
# Law 2: a piece is sent once on a connection; a piece of a volatile queue is sent again when this node
#        starts or ends a drain. Answers from older connections are ignored. Without an answer a move ends
#        only when the queue is removed or the operator gives up the target.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from mesh.errors import MeshError
from mesh.features.queues.model.envelopes.counts import Runs, count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.transfer import first_of_boot
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.transfers.leaving import LeavingPiece, QueueTransfer, TransferOutcome
from mesh.features.queues.wire import Transfer, Transferred
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import GivenUp, LoggedIn
from mesh.kernel.peers.peer import Peer
from mesh.printable import count as counted
from mesh.wire.envelope_batches import batches
from mesh.wire.frames import body_frames
from mesh.wire.limits import TRANSFERS

MOST = 1_000  # nodes in `transfers_to`

# Queue, target, and the counts of accepted and refused messages.
PieceMoved = Callable[[QueueSink, bytes, int, int], None]
TransferTold = Callable[[int, int], None]  # counts of accepted and refused messages


class Moving(Component):
    """Component for the moves that began on this node, by target and queue."""

    def __init__(self, context: NodeContext, peers: Mapping[bytes, Peer], queues: Queues) -> None:
        self._context = context
        self._peers = peers
        self._queues = queues
        self._ways: dict[bytes, dict[str, QueueTransfer]] = {}
        self._first = 1  # lowest unused number of a piece
        self._stuck: list[Callable[[], None]] = []  # commits to retry
        self.transfers_to: dict[str, int] = {}  # accepted messages, by node, latest last
        self._taken = self._refused = 0
        self._hearers: list[PieceMoved] = []

    def features(self) -> Sequence[str]:
        return (TRANSFERS,)

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            on_command(Transferred, lambda conn, peer, command, _: self._on_transferred(conn, peer, command)),
        )

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._send_again(fact.peer)),
            on_fact(GivenUp, lambda fact: self._given_up(fact.uuid)),
        )

    def requires_login(self, peer: Peer) -> bool:
        return peer.node.uuid in self._ways and self._context.serves

    def figures(self) -> dict[str, int | float]:
        return {
            "queue_moving": sum(queue.part.moving.messages for queue in self._leaving()),
            "queue_moved_out": self._taken,
            "queue_moves_refused": self._refused,
        }

    def _leaving(self) -> Iterator[QueueSink]:
        for name in {name for ways in self._ways.values() for name in ways}:
            if (queue := self._queues.find(name)) is not None:
                yield queue

    def start(self, beginning: Beginning) -> None:
        self._first = first_of_boot(self._context.me.boot)

    def on_restored(self) -> None:
        for queue in self._queues:
            for queued in queue.part.moving.leaving:
                for runs, target, number in queued.going:
                    self._transfer_to(queue, target).restored(number, LeavingPiece(queued, runs))

    # --- beginning ----------------------------------------------------------------------------------------

    def busy(self, name: str) -> set[bytes]:
        """Return the targets of the open moves of a queue."""
        return {uuid for uuid, ways in self._ways.items() if name in ways}

    def on_move(self, then: PieceMoved) -> None:
        """Call `then(queue, target, accepted, refused)` when outcomes of moves are on disk.

        The last two arguments count messages.
        """
        self._hearers.append(then)

    def can_take(self, target: bytes) -> bool:
        """Return whether the node is connected and supports transfers."""
        peer = self._peers.get(target)
        return peer is not None and _hears(peer)

    def begin_transfers(
        self,
        queue: QueueSink,
        target: bytes,
        pieces: Iterable[tuple[QueuedEnvelope, Runs]],
        told: TransferTold | None = None,
    ) -> int:
        """Move the ready messages of `pieces` to `target` up to the limits, and return their count.

        The count is 0 if the queue was removed or the target cannot receive transfers. `told` is called once
        for each piece that moves, after its outcome is on disk, unless the queue is removed before.
        """
        if queue.is_removed or not self.can_take(target):
            return 0
        way, numbers, messages = self._transfer_to(queue, target), list[int](), 0
        for queued, runs in pieces:
            if way.is_full:
                break
            here = queued.ready.common_all(runs)
            if here:
                numbers.append(way.begin_piece(LeavingPiece(queued, here, told)))
                queue.giving.goes_out(queued, here)
                messages += queue.part.moving.start_transfer(queued, here, target, numbers[-1])
        if numbers:
            queue.write_changed()
            queue.rows.commit_if_any(partial(self._begun, way, numbers))
        self._let_go(way)
        return messages

    def _transfer_to(self, queue: QueueSink, target: bytes) -> QueueTransfer:
        ways = self._ways.setdefault(target, {})
        if queue.name not in ways:
            ways[queue.name] = QueueTransfer(queue, target, self._first)
        return ways[queue.name]

    def _let_go(self, way: QueueTransfer) -> None:
        """Remove a transfer that has no open pieces, and do not use its numbers again."""
        self._first = max(self._first, way.out.next_number)
        if not way.out and self._is_open(way):
            del self._ways[way.target][way.queue.name]
            if not self._ways[way.target]:
                del self._ways[way.target]

    def _is_open(self, way: QueueTransfer) -> bool:
        return self._ways.get(way.target, {}).get(way.queue.name) is way

    def _begun(self, way: QueueTransfer, numbers: list[int], error: MeshError | None) -> None:
        """Send the pieces whose move is on disk, or end them as refused after an error."""
        if not self._is_open(way):  # the queue was removed meanwhile
            return
        way.unwritten.difference_update(numbers)
        if error is not None:
            if (watch := way.queue.part.backlog.watch) is not None:
                watch.has_no_room("where a move begins")
            self._record_outcomes(way, dict.fromkeys(numbers, TransferOutcome.REFUSED))
        elif (peer := self._peers.get(way.target)) is not None:
            self._send(way, peer, numbers)

    # --- sending ------------------------------------------------------------------------------------------

    def _send_again(self, peer: Peer) -> None:
        """Send all open pieces on a new connection, as pieces sent on the last one may be lost."""
        for way in self._ways.get(peer.node.uuid, {}).values():
            self._send(way, peer, way.answerable())

    def _send(self, way: QueueTransfer, peer: Peer, numbers: Iterable[int]) -> None:
        if not _hears(peer):
            return  # sent at the next login
        pieces = [(way.out.going[n].leaves(peer.node.boot), n) for n in numbers if n in way.out.going]
        for is_parting in (False, True):
            some = [piece for piece in pieces if self._is_parting(way, piece[1]) is is_parting]
            for batch in batches(some):
                entries = tuple(way.entry(number) for _, number in batch)
                envelopes = [envelope for envelope, _ in batch]
                frames = tuple(map(body_frames, envelopes))
                command = Transfer(way.queue.name, way.out.low, frames, entries, is_parting)
                self._context.out.send(peer.data, command, envelopes)

    def _is_parting(self, way: QueueTransfer, number: int) -> bool:
        """Return whether the target becomes the only holder of a piece, because this node is being drained.

        Only pieces of volatile queues are affected, and only if no other node keeps the messages.
        """
        queue = way.queue
        is_alone = self._queues.schedule.is_leaving and queue.rows.is_volatile
        return is_alone and way.out.going[number].queued not in queue.part.backlog.pledges.open

    def resend_pieces(self) -> None:
        """Resend the open pieces of volatile queues after a drain began or ended."""
        for uuid, ways in self._ways.items():
            peer = self._peers.get(uuid)
            for way in ways.values():
                if peer is not None and way.queue.rows.is_volatile:
                    self._send(way, peer, way.answerable())

    # --- answers ------------------------------------------------------------------------------------------

    def _on_transferred(self, conn: object, peer: Peer, command: Transferred) -> None:
        way = self._ways.get(peer.node.uuid, {}).get(command.queue)
        if conn is peer.data and way is not None:
            self._record_outcomes(way, way.outcomes_of(command))

    def _record_outcomes(self, way: QueueTransfer, fates: Mapping[int, TransferOutcome]) -> None:
        """Record the outcomes of pieces, and finish them when the outcomes are on disk."""
        moving, ended = way.queue.part.moving, list[tuple[int, LeavingPiece, Runs]]()
        for number, fate in fates.items():
            piece = way.take_answered(number)
            if piece is None:
                continue
            if fate is TransferOutcome.TAKEN:
                moving.finish_moved(piece.queued, way.target, number)
                ended.append((number, piece, []))
            else:
                is_sure = fate is TransferOutcome.REFUSED
                runs = moving.record_refused_transfer(piece.queued, way.target, number, is_sure)
                ended.append((number, piece, runs))
        if ended:
            way.queue.write_changed()
            self._finish(way, ended)

    def _finish(self, way: QueueTransfer, ended: list[tuple[int, LeavingPiece, Runs]]) -> None:
        def written(error: MeshError | None) -> None:
            if error is not None:
                self._stuck.append(lambda: self._finish(way, ended))
            else:
                self._finished(way, ended)

        way.queue.rows.commit_if_any(written)

    def _finished(self, way: QueueTransfer, ended: list[tuple[int, LeavingPiece, Runs]]) -> None:
        taken = refused = 0
        for number, piece, back in ended:
            way.out.close_number(number)
            n, n_back = count(piece.runs), count(back)
            taken, refused = taken + n - n_back, refused + n_back
            if back:
                way.queue.came_back(piece.queued, back)
            if piece.told is not None:
                piece.told(n - n_back, n_back)
        self._let_go(way)
        peer = self._peers.get(way.target)
        self._taken += taken
        name = peer.node.name if peer is not None else way.target.hex()
        self.transfers_to[name] = self.transfers_to.pop(name, 0) + taken
        if len(self.transfers_to) > MOST:
            del self.transfers_to[next(iter(self.transfers_to))]
        self._refused += refused
        way.queue.traffic.moved_out += taken
        way.queue.schedule()
        for then in self._hearers:
            then(way.queue, way.target, taken, refused)

    def on_second(self) -> None:
        stuck, self._stuck = self._stuck, []
        for each in stuck:
            each()

    # --- removed queues and nodes -------------------------------------------------------------------------

    def on_queue_removed(self, queue: QueueSink) -> None:
        for uuid in self.busy(queue.name):
            way = self._ways[uuid].pop(queue.name)
            self._first = max(self._first, way.out.next_number)
            if not self._ways[uuid]:
                del self._ways[uuid]

    def _given_up(self, uuid: bytes) -> None:
        """End the moves to a node that the operator has given up.

        The node may have delivered the messages, so their outcome is unsure. Moves that are not on disk yet
        are left out.
        """
        for way in list(self._ways.get(uuid, {}).values()):
            numbers = way.answerable()
            n = sum(count(way.out.going[number].runs) for number in numbers)
            text = f"{way.queue.name!r}: {counted(n, 'message')} in transit to a removed node"
            self._context.event("queue", f"{text}: ready again, marked as redelivered")
            self._record_outcomes(way, dict.fromkeys(numbers, TransferOutcome.UNSURE))


def _hears(peer: Peer) -> bool:
    conn = peer.data
    return conn is not None and conn.is_open and not conn.closed and TRANSFERS in conn.speaks
