"""Deliveries of this node's queues to sessions that moved: the node that a session visits settles them."""

# Law 1: only the node that the session's newest certificate names gets a claim, and only for messages of a
#   consumer that the session had here.
# Law 2: a claim and a settlement are answered when they are on disk.
# Law 3: a consumer whose node is disconnected, or does not claim again after a login, keeps its messages for
#   the grace period. A node that asks through others is connected until SILENCE seconds after a question.
# Law 4: a claim is refused for now while a transaction under way holds deliveries of the consumer. Its node
#   asks again, so the claim has what the transaction has left.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from mesh.errors import LocalError, MeshError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer, grace
from mesh.features.queues.node.keeping.consumer_row import ConsumerRow
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.settlement import settle
from mesh.flow.outstanding_deliveries import ranges_of
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.session import feed_key
from mesh.routing.visits import Standing, compare
from mesh.wire.calls import AskHold, AskSettle
from mesh.wire.counts import check_held
from mesh.wire.replies import DeliveriesHeld, Settlements

SILENCE = 10.0  # s


@dataclass(slots=True, eq=False)
class Claimed:
    """A consumer here whose session is at another node."""

    queue: QueueSink
    taker: QueueConsumer
    node: bytes  # uuid of the node that settles for the session
    asked_at: float  # time of its last question through other nodes; 0: it is linked
    until: float = inf  # end of its grace period, while that node is disconnected

    @property
    def is_current(self) -> bool:
        """True until a newer registration of the consumer replaces this one."""
        return self.queue.part.takers.get(self.taker.key) is self.taker


class ClaimedDeliveries(Component):
    """Component that answers `hold` and `settle` of the nodes where sessions are now."""

    def __init__(
        self,
        context: NodeContext,
        queues: Queues,
        peers: Mapping[bytes, Peer],
        calls: RelayedCalls,
        is_landing: Callable[[bytes], bool],
    ) -> None:
        """`is_landing` returns whether a transaction under way holds deliveries of a consumer."""
        self._context = context
        self._calls = calls
        self._peers = peers
        self._queues = queues
        self._is_landing = is_landing
        self._all: dict[bytes, Claimed] = {}  # by the key of the consumer
        self._epoch = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(LoggedIn, lambda fact: self._on_login(fact.peer.node.uuid)),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            self._calls.answer(AskHold, DeliveriesHeld, self._on_hold),
            self._calls.answer(AskSettle, Settlements, self._on_settle),
        )

    # --- claims -----------------------------------------------------------------------------------------

    def _on_hold(self, asked: IncomingCall[AskHold], node: bytes) -> None:
        ask, certificate = asked.ask, asked.ask.certificate
        try:
            check_held(ask.held)
        except ValueError as error:
            raise LocalError(f"Invalid ranges: {error}.", code="MALFORMED") from error
        check_certificate(self._context, certificate, node)
        queue, key = self._queues.find(ask.queue), feed_key(certificate.stream, ask.subscription)
        if ask.held and self._is_landing(key):
            raise LocalError("A transaction of the session is under way here.", code="UNDER_WAY")
        row = self._row(queue, key, ask) if queue is not None else None
        if queue is None or row is None:
            asked.reply(_refused(ask))
            return
        if not ask.held:
            self._leave(key, ask.begun)
            asked.reply(DeliveriesHeld(epoch=0))
            return
        lease, size = ask.lease / 1000 if ask.lease else inf, _size(ask)
        self._epoch += 1
        taker = QueueConsumer(key, certificate.session, self._epoch, size, lease=lease)
        taker.is_paused = taker.is_elsewhere = True
        taker.grace = grace(True, lease)
        void = queue.add_consumer(taker, ask.held)
        self._all[key] = Claimed(queue, taker, node, self._context.clock.now if ask.visited else 0.0)
        opened = DeliveriesHeld(epoch=taker.epoch, lost=[n for run in void for n in run])
        now = ConsumerRow(certificate.session, size, certificate.attach)
        queue.rows.takes(queue.name, key, now, partial(_answer, asked, opened))

    def _row(self, queue: QueueSink, key: bytes, ask: AskHold) -> ConsumerRow | None:
        """Return the row of a consumer that the session has here. Raises: LocalError if it is not its own."""
        row = queue.rows.consumers.get(queue.name, {}).get(key)
        if row is None:
            return None
        if row.session != ask.certificate.session:
            self._context.counters.add_count("forged_visits")
            raise LocalError("The consumer belongs to another session.", code="FORGED_VISIT")
        if compare(ask.certificate.attach, row.attach) is Standing.OUTDATED:
            raise LocalError("The session has moved on to another node.", code="MOVED")
        return row

    def _leave(self, key: bytes, begun: int) -> None:
        claimed = self._all.pop(key, None)
        if claimed is not None and claimed.is_current:
            claimed.queue.close(claimed.taker, begun)
            claimed.queue.write_changed()  # before its row is deleted, for a crash in between
            claimed.queue.rows.takes_no_more(claimed.queue.name, key)

    def tick(self) -> None:
        now = self._context.clock.now
        for key in [key for key, claimed in self._all.items() if claimed.until <= now]:
            self._leave(key, self._all[key].taker.holding.given)
        for claimed in self._all.values():
            if claimed.until < inf:
                self._context.clock.wake(claimed.until)

    def on_second(self) -> None:
        """Forget replaced consumers, and begin the grace period of consumers with a disconnected node."""
        for key in [key for key, claimed in self._all.items() if not claimed.is_current]:
            del self._all[key]
        silent = self._context.clock.now - SILENCE
        for claimed in self._all.values():
            peer = self._peers.get(claimed.node)
            is_linked = peer is not None and peer.data is not None
            if not is_linked and claimed.asked_at <= max(silent, 0.0):
                self._begin_grace(claimed)

    def _on_login(self, node: bytes) -> None:
        """Begin the grace period: the node claims again what its consumers still have."""
        for claimed in self._all.values():
            if claimed.node == node:
                self._begin_grace(claimed)

    def _begin_grace(self, claimed: Claimed) -> None:
        if claimed.until == inf:
            now = self._context.clock.now
            claimed.until = now + claimed.taker.grace
            claimed.queue.away(claimed.taker, now)
            self._context.clock.wake(claimed.until)

    # --- settlements ------------------------------------------------------------------------------------

    def _on_settle(self, asked: IncomingCall[AskSettle], node: bytes) -> None:
        ask, done = asked.ask, list(ranges_of(asked.ask.done))
        claimed = self._all.get(feed_key(ask.certificate.stream, ask.subscription))
        is_known = claimed is not None and claimed.is_current and claimed.taker.epoch == ask.epoch
        if claimed is None or not is_known or claimed.node != node:
            claimed = None
        if not (done or ask.entries or (claimed is not None and claimed.until == inf)):
            raise LocalError("The claim has ended here.", code="UNKNOWN_CLAIM")
        if claimed is None:
            over = [*done, *((first, last) for first, last, *_ in ask.entries)]
            self._context.counters.add_count("settled_late", len(over))
            asked.reply(Settlements(over=[n for run in over for n in run]))
            return
        if ask.visited:
            claimed.asked_at = self._context.clock.now
        over = settle(self._context, claimed.queue, claimed.taker, done, ask.entries)
        answered = Settlements(over=[n for run in over for n in run])
        claimed.queue.rows.commit_if_any(partial(_answer, asked, answered))


def _size(ask: AskHold) -> int:
    return sum(b - a + 1 for _, ends in ask.held for a, b in zip(ends[::2], ends[1::2], strict=True))


def _refused(ask: AskHold) -> DeliveriesHeld:
    """Return the answer that grants nothing."""
    return DeliveriesHeld(epoch=0, lost=[1, _size(ask)] if ask.held else [])


def _answer(
    asked: IncomingCall[AskHold] | IncomingCall[AskSettle],
    value: DeliveriesHeld | Settlements,
    error: MeshError | None,
) -> None:
    if error is None:
        asked.reply(value)
    else:
        asked.fail(LocalError(error.what, code=error.code))
