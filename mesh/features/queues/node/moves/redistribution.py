"""Decides which messages move because they have waited too long at this node."""

# Law 1: messages move only to nodes that want them now, and to none that is being drained, is busy with an
#   earlier move, or refused one a moment ago.
# Law 2: after a scan without a match, the next scan begins where that scan ended. After a match, the next
#   scan begins at the front.

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import inf

from mesh.features.queues.model.moves.dealing import DealtPiece, ReadyScan
from mesh.features.queues.model.moves.distribution import NodeUuid
from mesh.features.queues.model.moves.policies import Policies
from mesh.features.queues.model.moves.queue_report import Matching, QueueReport, matching
from mesh.features.queues.model.moves.redistribution import Mine
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.moves.places import Places, room_here, taken_here
from mesh.features.queues.node.moves.spread import QueueSpread
from mesh.kernel.context.node_context import NodeContext
from mesh.names import QUEUE

EVERY = 0.25  # s between two scans while other nodes want messages


class Redistribution:
    """The choice of waiting messages that move, by the policy of their queue."""

    def __init__(self, context: NodeContext, places: Places) -> None:
        self._context = context
        self._places = places
        self._policies = Policies(lambda text: context.event(QUEUE, text, level="warning"))

    def next_moves(
        self, queue: QueueSink, spread: QueueSpread, moving: Collection[NodeUuid]
    ) -> Iterator[tuple[NodeUuid, list[DealtPiece]]]:
        """Yield the messages to move to each node now; the caller begins each move before the next one.

        `moving` has the nodes with a transfer in progress. More messages of the queue are read from disk if
        the policy wants to move any.
        """
        others, now = self._places.meant(queue), self._context.clock.now
        busy = _busy(spread, others, moving, now)
        wants = {n: each.wants for n, each in others.items() if n not in busy and not each.is_leaving}
        most = sum(wants.values())
        if not most:
            return
        part = queue.part
        look = ReadyScan(part, taken_here(queue), spread.place, most)
        if look.stranded:
            spread.since = min(spread.since, now)
        elif look.is_whole:
            spread.since = inf
        mine = Mine(
            part.ready,
            queue.traffic.pace.value(now),
            look.stranded,
            spread.since,
            room_here(queue),
            spread.ready_since,
            queue.traffic.finished - spread.finished,
        )
        wanted = self._policies.moves(part.terms, mine, others, busy, now)
        dealt = look.deal(wanted, takers_of(others), now, wants)
        for node, pieces in dealt.items():
            yield node, pieces
            if others[node].is_volatile:
                spread.sent[node] = now
        if wanted:
            spread.place = {} if dealt else look.next_start()
            queue.reading.load_more(lambda: None)


def _busy(
    spread: QueueSpread, others: Mapping[NodeUuid, QueueReport], moving: Collection[NodeUuid], now: float
) -> Collection[NodeUuid]:
    """Return the nodes to which no further messages are redistributed now.

    A node with a volatile queue confirms a move only when the moved messages are settled. The reports of the
    node count the messages earlier, so a move makes such a node busy for `EVERY` only.
    """
    spread.sent = {node: at for node, at in spread.sent.items() if now - at < EVERY}
    waits = {node for node in moving if node in others and not others[node].is_volatile}
    return {*waits, *spread.sent, *spread.waiting, *spread.refusals.closed_nodes(now)}


def takers_of(stocks: Mapping[NodeUuid, QueueReport]) -> dict[NodeUuid, Matching]:
    return {node: matching(stock) for node, stock in stocks.items()}
