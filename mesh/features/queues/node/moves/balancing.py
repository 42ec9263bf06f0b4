"""Distributes new messages of a queue among the nodes with consumers, and redistributes waiting ones."""

# Law 1: new messages are distributed once, before they are delivered here. While remote consumers are unknown
#   or a transfer is full, the messages wait, and consumers here may receive them.
# Law 2: messages go only to nodes with matching consumers, except with the terms `strict` and `nodes`, and
#   while this node is drained: then all messages of a queue go to one other node, as long as it accepts them.
# Law 3: no state is kept for a queue without waiting or new messages, except for one with consumers here
#   whose next messages need not stay here.
# Law 4: new messages of a group stay here while other messages of the group wait here that will move, unless
#   all wait in the same line.

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from math import inf
from typing import Protocol

from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.looking.reasons import WaitReason, reasons
from mesh.features.queues.model.moves.dealing import DealtPiece
from mesh.features.queues.model.moves.distribution import NodeUuid
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.moves.places import Places, taken_here
from mesh.features.queues.node.moves.redistribution import EVERY, Redistribution, takers_of
from mesh.features.queues.node.moves.spread import TOGETHER, QueueSpread, by_group, in_line
from mesh.features.queues.node.moves.stocks import Stocks
from mesh.features.queues.node.transfers.moving import PieceMoved
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedOut, PeerJoined
from mesh.kernel.presence.facts import ServersChanged
from mesh.kernel.presence.presence import Presence
from mesh.kernel.routes.nodes import Nodes
from mesh.names import QUEUE

SOON = 0.02  # s until a scan after a change
TURN = 4  # scans per turn; the others run SOON after
WAITING = 10_000  # envelopes of a queue that wait for transfers
IDLE = 20.0  # s until unused state is dropped
NONE = Counter[str]()


class Moves(Protocol):
    """The component that transfers messages to other nodes; see Moving."""

    def on_move(self, then: PieceMoved) -> None: ...

    def begin_transfers(self, queue: QueueSink, target: NodeUuid, pieces: Iterable[DealtPiece]) -> int: ...

    def busy(self, name: str) -> Collection[NodeUuid]: ...


class QueueBalancing(Component):
    """Component that distributes and redistributes queued messages; `moving` transfers them."""

    def __init__(
        self,
        context: NodeContext,
        presence: Presence,
        nodes: Nodes,
        queues: Queues,
        stocks: Stocks,
        moving: Moves,
    ) -> None:
        self._context = context
        self._presence = presence
        self._queues = queues
        self._places = Places(context, nodes, queues, stocks)
        self._name_of = stocks.name_of
        self._moving = moving
        moving.on_move(self._on_moved)
        self._spreads: dict[QueueSink, QueueSpread] = {}
        self._redistribution = Redistribution(context, self._places)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(ServersChanged, self._served),
            on_fact(PeerJoined, lambda _: self._on_peer_joined()),
            on_fact(LoggedOut, lambda fact: self._on_node_lost(fact.peer.node.uuid)),
        )

    # --- distribution of new messages ---------------------------------------------------------------------

    def distribute_new(self, queue: QueueSink) -> None:
        """Assign the new messages of a queue to nodes, or keep them until remote consumers are known.

        Nothing is done if all new messages stay here.
        """
        if not self._places.concerns(queue) or self._places.stays(queue):
            queue.is_behind = False
            return
        spread = self._spread(queue)
        if spread.is_known:
            queue.is_behind = queue.is_behind and self._places.may_go(queue)
            self._distribute(queue, spread, queue.fresh, is_new=True)
        else:
            spread.fresh += queue.fresh[: WAITING - spread.count]

    def _spread(self, queue: QueueSink) -> QueueSpread:
        spread = self._spreads.get(queue)
        if spread is None:
            spread = self._spreads[queue] = QueueSpread(self._context.me.uuid)
            self._presence.when_known((QUEUE, queue.name), lambda: self._known(queue, spread))
        spread.used = self._context.clock.now
        return spread

    def _known(self, queue: QueueSink, spread: QueueSpread) -> None:
        """Distribute the waiting messages after all reachable nodes have reported or timed out."""
        spread.is_known = True
        fresh, spread.fresh = spread.fresh, []
        if self._spreads.get(queue) is spread:
            self._distribute(queue, spread, fresh, is_new=True)
            self.schedule_scan(queue)

    def _distribute(
        self, queue: QueueSink, spread: QueueSpread, envelopes: Sequence[QueuedEnvelope], is_new: bool = False
    ) -> None:
        """Assign envelopes to the nodes that receive them, and begin transfers.

        `is_new` means that older messages may wait before `envelopes`.
        """
        closed = spread.refusals.closed_nodes(self._context.clock.now)
        takers = {n: each for n, each in takers_of(self._places.others(queue)).items() if n not in closed}
        if here := taken_here(queue):
            takers[self._context.me.uuid] = here
        homes, mode = self._places.homes(queue, closed), queue.part.terms.distribution
        is_guest, groups = self._places.is_guest(queue), queue.part.backlog.groups
        # Without this condition, older messages may never move, and new ones would wait behind them forever.
        is_followed = is_guest or (mode != "strict" and queue.part.terms.redistribution is not None)
        new = by_group(envelopes) if is_new and is_followed and groups else NONE
        for queued in envelopes:
            # Messages of a group stay while consumers here have earlier ones of the group.
            stays = spread.count >= WAITING or (is_guest and groups.is_out(queued.group))
            shares = {} if stays else spread.distributing.shares(mode, queued, takers, homes)
            if queued.group in new:
                shares = in_line(spread, groups, queued, shares, new)
            for node, runs in shares.items():
                spread.line(node).append((queued, runs))
        spread.begin_waiting(partial(self._moving.begin_transfers, queue))

    def _ways_out(self, queue: QueueSink) -> Collection[NodeUuid]:
        """Return the nodes to which messages move while this node is being drained; empty if they stay."""
        if not self._places.concerns(queue):
            return ()
        spread = self._spreads.get(queue)
        closed = spread.refusals.closed_nodes(self._context.clock.now) if spread is not None else ()
        return self._places.homes(queue, closed) or ()

    def stays(self, queue: QueueSink) -> bool:
        """Return whether messages stay for consumers here although this node is being drained."""
        return not self._ways_out(queue)

    # --- redistribution of waiting messages ---------------------------------------------------------------

    def schedule_scan(self, queue: QueueSink) -> None:
        """Schedule a scan if ready messages of the queue may have to move."""
        now = self._context.clock.now
        if not queue.part.ready:
            if queue in self._spreads:
                spread = self._spreads[queue]
                spread.since = spread.due = inf
                spread.nothing_ready(queue.traffic.finished)
            elif queue.part.is_consumed and self._places.concerns(queue) and not self._places.stays(queue):
                self._spread(queue)  # the next messages are distributed immediately
            return
        if not self._places.concerns(queue):
            return
        spread, here = self._spread(queue), taken_here(queue)
        spread.ready_since = min(spread.ready_since, now)
        if not here:
            spread.since = min(spread.since, now)
        elif here.takes_all:
            spread.since = inf
        is_behind = queue.is_behind and self._places.may_go(queue)
        is_wanted = any(stock.wants for stock in self._places.meant(queue).values())
        if is_behind or is_wanted or self._places.is_guest(queue):
            self._is_due(queue, spread, spread.looked + EVERY)

    def _is_due(self, queue: QueueSink, spread: QueueSpread, at: float) -> None:
        """Schedule a scan at the time `at`, or earlier if the delay of stranded messages ends earlier.

        Nothing is scheduled until remote consumers are known.
        """
        delay = queue.part.terms.redistribution
        if not spread.is_known:
            return
        if delay is not None and spread.looked < spread.since + delay:
            at = min(at, spread.since + delay)
        spread.due = min(spread.due, max(at, self._context.clock.now))
        if spread.due <= self._context.clock.now:
            self._context.out.ending[self._look_at_due] = None
        else:
            self._context.clock.wake(spread.due)

    def _served(self, fact: ServersChanged) -> None:
        """Handle a change of the consumers, or of their demand, at another node."""
        queue = self._queues.find(fact.name) if fact.kind == QUEUE else None
        spread = self._spreads.get(queue) if queue is not None else None
        if queue is None or spread is None or fact.uuid == self._context.me.uuid:
            return
        stock = self._places.others(queue).get(fact.uuid)
        is_over = stock is None and fact.change < 0 and self._places.homes(queue, ()) is None
        if is_over or (stock is not None and stock.is_leaving):
            spread.give_up(fact.uuid)
        if queue.part.ready:
            self._is_due(queue, spread, spread.looked + SOON)

    def _on_peer_joined(self) -> None:
        """Check the waiting messages, as a new node may have consumers for them."""
        for queue in self._queues:
            if queue.part.ready and queue not in self._spreads:
                self.schedule_scan(queue)

    def _on_node_lost(self, node: NodeUuid) -> None:
        for spread in self._spreads.values():
            spread.give_up(node)

    def _on_moved(self, queue: QueueSink, node: NodeUuid, taken: int, refused: int) -> None:
        spread = self._spreads.get(queue)
        if spread is None:
            return
        if refused:
            spread.refusals.close_node(node, self._context.clock.now)
            spread.give_up(node)
        elif taken:
            spread.refusals.open_node(node)
        spread.full.discard(node)
        spread.begin_waiting(partial(self._moving.begin_transfers, queue))
        if queue.part.ready:
            self._is_due(queue, spread, spread.looked + SOON)

    def _look_at_due(self) -> None:
        now = self._context.clock.now
        due = [queue for queue, spread in self._spreads.items() if spread.due <= now]
        for queue in due[:TURN]:
            spread = self._spreads[queue] = self._spreads.pop(queue)  # behind the queues that are due
            self._scan(queue, spread)
        if len(due) > TURN:
            self._context.clock.wake(now + SOON)

    def _scan(self, queue: QueueSink, spread: QueueSpread) -> None:
        spread.looked, spread.due = self._context.clock.now, inf
        if not queue.part.ready:
            return
        is_guest = self._places.is_guest(queue)
        if queue.is_behind or is_guest:
            queue.reading.load_more(_nothing)
        if not spread.waiting and is_guest:
            self._distribute(queue, spread, [*islice(queue.part.order.ready_envelopes(), TOGETHER)])
        if not self._queues.schedule.is_leaving:
            self._redistribute(queue, spread)
        self.schedule_scan(queue)

    def _redistribute(self, queue: QueueSink, spread: QueueSpread) -> None:
        busy = self._moving.busy(queue.name)
        for node, pieces in self._redistribution.next_moves(queue, spread, busy):
            if (watch := queue.part.backlog.watch) is not None:
                watch.redistributes(pieces)
            self._moving.begin_transfers(queue, node, pieces)

    def reasons(self, queue: QueueSink) -> Iterator[WaitReason]:
        """Yield the reasons why messages in the queue are not settled."""
        now, spread = self._context.clock.now, self._spreads.get(queue)
        name_of = self._name_of
        others = {
            name_of(n): stock for n, stock in self._places.others(queue).items() if not stock.is_leaving
        }
        closed = spread.refusals.closed_nodes(now) if spread is not None else ()
        ways_out = [*map(name_of, self._ways_out(queue))] if self._queues.schedule.is_leaving else None
        drained = [name_of(node) for node, stock in self._places.meant(queue).items() if stock.is_leaving]
        yield from reasons(queue.part, others, [*map(name_of, closed)], now, name_of, ways_out, drained)

    # --- timers -------------------------------------------------------------------------------------------

    def tick(self) -> None:
        self._look_at_due()
        for spread in self._spreads.values():
            if spread.due < inf:
                self._context.clock.wake(spread.due)

    def on_second(self) -> None:
        """Drop the state of unused queues, and keep watching the others."""
        for queue, spread in list(self._spreads.items()):
            if queue.part.ready or spread.count or (queue.part.is_consumed and not self._places.stays(queue)):
                self._places.others(queue)
            elif spread.used < self._context.clock.now - IDLE:
                del self._spreads[queue]

    def on_queue_removed(self, queue: QueueSink) -> None:
        self._spreads.pop(queue, None)


def _nothing() -> None:
    pass
