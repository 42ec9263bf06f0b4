"""Reports the state of queues here to the nodes that watch them, and reads the reports of other nodes."""

# Law 1: the first and last consumer, changed selectors, and the end of demand are reported immediately.
#   New or doubled demand is reported within REST, other changed figures once in `timing.queues`.
# Law 2: a peer's report is validated before it counts. A node without the transfer feature has none.
# Law 3: a queue without consumers reports nothing, except that the node is being drained. Only requested
#   queues are watched.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf

from mesh.errors import LocalError, RemoteError
from mesh.features.queues.model.moves.queue_report import (
    QueueReport,
    is_news,
    is_only_wish,
    is_wanted_more,
    is_worth_telling,
    stock_of,
)
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.presence import Presence
from mesh.names import QUEUE

REST = 0.05  # s between two reports of demand
MUTE: Mapping[bytes, QueueReport] = {}


class Stocks(Component):
    """Component with the reported state of queues, here and at other nodes.

    `peers` has the other nodes by uuid. `can_move(uuid)` returns whether messages can move there now.
    """

    def __init__(
        self,
        context: NodeContext,
        presence: Presence,
        queues: Queues,
        peers: Mapping[bytes, Peer],
        can_move: Callable[[bytes], bool],
    ) -> None:
        self.can_move = can_move
        self._context = context
        self._presence = presence
        self._queues = queues
        self._peers = peers
        self._told: dict[QueueSink, tuple[QueueReport, float]] = {}  # last report and its time
        self._due: dict[QueueSink, float] = {}  # time of the next report

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(LoggedIn, lambda _: self._say_all()),)

    # --- reports of this node -----------------------------------------------------------------------------

    def report_change(self, queue: QueueSink) -> None:
        """Report a queue to the nodes that watch it, if its state has changed enough.

        By Law 1 the report is sent immediately or later. Nothing is reported while no other node is known.
        """
        if not self._peers:
            return
        old, at = self._told.get(queue, (None, -inf))
        new = self._stock(queue)
        if is_news(old, new):
            self._tell_at(queue, at + REST if is_only_wish(old, new) else self._context.clock.now)
        elif old is not None and new is not None and is_worth_telling(old, new):
            rest = REST if is_wanted_more(old, new) else self._context.settings.queue_reports
            self._tell_at(queue, at + rest)

    def _tell_at(self, queue: QueueSink, at: float) -> None:
        """Report the queue at the time `at`, or at an earlier time that is already scheduled."""
        if at <= self._context.clock.now:
            self._announce_stock(queue, self._stock(queue))
            return
        self._due[queue] = min(at, self._due.get(queue, inf))
        self._context.clock.wake(self._due[queue])

    def _stock(self, queue: QueueSink) -> QueueReport | None:
        """Return the state of a queue to report, or `None` if there is nothing to report."""
        part, is_leaving = queue.part, self._queues.schedule.is_leaving
        takers = [taker for taker in part.consumers.eligible() if taker.away == inf]
        if not (takers or is_leaving) or queue.is_removed or part.terms.scope == "node":
            return None
        return stock_of(
            takers,
            part.ready,
            queue.coming,
            queue.traffic.pace.value(self._context.clock.now),
            is_volatile=queue.rows.is_volatile,
            is_leaving=is_leaving,
        )

    def _announce_stock(self, queue: QueueSink, stock: QueueReport | None) -> None:
        name = (QUEUE, queue.name)
        self._due.pop(queue, None)
        if stock is None:
            self._told.pop(queue, None)
            self._presence.serve(name, 0)
            return
        try:
            self._presence.check_room(name)
        except LocalError:
            self._context.counters.add_count("queues_untold")
            return
        self._told[queue] = stock, self._context.clock.now
        self._presence.serve(name, len(queue.part.consumers.eligible()) or 1, stock.pack())

    def on_queue_removed(self, queue: QueueSink) -> None:
        self._announce_stock(queue, None)

    def _say_all(self) -> None:
        for queue in self._queues:
            if queue.part.is_consumed or self._queues.schedule.is_leaving:
                self.report_change(queue)

    def tick(self) -> None:
        for queue in [queue for queue, at in self._due.items() if at <= self._context.clock.now]:
            old, new = self._told.get(queue), self._stock(queue)
            if new is None or (old is not None and is_worth_telling(old[0], new)):
                self._announce_stock(queue, new)
            else:
                del self._due[queue]
        for at in self._due.values():
            self._context.clock.wake(at)

    # --- reports of other nodes ---------------------------------------------------------------------------

    def others(self, name: str) -> Mapping[bytes, QueueReport]:
        """Return the reported state of a queue at other nodes, by uuid, and watch it for a minute.

        Only nodes that can receive messages now count, and invalid reports are left out.
        """
        notes = self._presence.notes((QUEUE, name))
        if not notes:
            return MUTE
        stocks = ((uuid, _read(note)) for uuid, note in notes.items() if self.can_move(uuid))
        return {uuid: stock for uuid, stock in stocks if stock is not None}

    @property
    def has_peers(self) -> bool:
        """Whether other nodes are known."""
        return bool(self._peers)

    def name_of(self, uuid: bytes) -> str:
        """Return the name of another node, or its uuid in hexadecimal digits if the node is unknown."""
        return self._peers[uuid].node.name if uuid in self._peers else uuid.hex()


@lru_cache(1000)
def _read(note: bytes) -> QueueReport | None:
    try:
        return QueueReport.unpack(note)
    except RemoteError:
        return None
