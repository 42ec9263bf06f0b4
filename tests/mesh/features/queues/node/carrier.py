"""A replacement for the transfers between nodes: without a wire, and with limits that a test sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from mesh.features.queues.model.envelopes.counts import count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.dealing import DealtPiece
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.parts import QueueParts
from mesh.features.queues.node.transfers.moving import PieceMoved
from mesh.routing.stored_envelope import StoredEnvelope
from tests.simulation import SimNode

TRIP = 0.005  # s


class Carrier:
    """Replacement for the transfers of a node. At most `room` messages are in transit per queue and node."""

    room = 1_000

    def __init__(self, node: SimNode, others: Sequence[SimNode]) -> None:
        self._node, self._net = node, node.net
        self._others = {other.uuid: other for other in others}
        self._going = Counter[tuple[str, bytes]]()
        self._number = 0
        self.sent = Counter[str]()  # messages, by the name of the node
        self.begins = 0  # calls of `begin_transfers`
        self.refuses: set[str] = set()
        balancing = node.core.parts[QueueParts].balancing
        balancing._moving, self._ended = self, balancing._on_moved

    def on_move(self, then: PieceMoved) -> None:
        """Ignore the receiver of reports, which is known already."""

    def busy(self, name: str) -> Collection[bytes]:
        return [node for (queue, node), n in self._going.items() if queue == name and n]

    def begin_transfers(self, queue: QueueSink, target: bytes, pieces: Iterable[DealtPiece]) -> int:
        self.begins += 1
        gone, key = 0, (queue.name, target)
        for queued, runs in pieces:
            if self._going[key] + count(runs) > self.room:
                break
            assert all(queued.ready.covers(*run) for run in runs)
            self._number += 1
            queue.part.moving.start_transfer(queued, runs, target, self._number)
            self._going[key] += count(runs)
            gone += count(runs)
            self._later(queue, queued, target, self._number)
        self.sent[self._others[target].name] += gone
        return gone

    def _later(self, queue: QueueSink, queued: QueuedEnvelope, target: bytes, number: int) -> None:
        self._net.after(TRIP, lambda: self._arrives(queue, queued, target, number))

    def _arrives(self, queue: QueueSink, queued: QueuedEnvelope, target: bytes, number: int) -> None:
        other = self._others[target]
        (runs,) = [runs for runs, *way in queued.going if way == [target, number]]
        self._going[queue.name, target] -= count(runs)
        there = other.core.parts[QueueParts].queues.find(queue.name)
        if there is None or other.name in self.refuses:
            queue.came_back(queued, queue.part.moving.record_refused_transfer(queued, target, number, True))
            self._ended(queue, target, 0, count(runs))
        else:
            indices = queued.indices(runs)
            moved = QueuedEnvelope(
                StoredEnvelope(queued.envelope if indices is None else queued.envelope.cut(indices))
            )
            moved.moves = queued.moves + 1
            there.part.add(moved, self._net.now, other.wall)
            there.schedule()
            other._carry_out_all()
            queue.part.moving.finish_moved(queued, target, number)
            self._ended(queue, target, count(runs), 0)
        queue.schedule()
        self._node._carry_out_all()
