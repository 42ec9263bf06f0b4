"""Moves messages to another node on a client's request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mesh.errors import BadArgument, LocalError, NotAvailable, UnknownNode
from mesh.features.queues.model.envelopes.counts import Runs, count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.transfers.moving import Moving
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, LoggedOut
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.printable import count as counted
from mesh.printable import typed
from mesh.wire.calls import AskQueueMove
from mesh.wire.replies import MovedOn

BEGINS = 2.0  # s in which a request may begin transfers
WAITS = 5.0  # s after which a request is answered anyway
PINGS = 2  # missed pings that mark a node as unresponsive
LOOKS = 0.1  # s between two checks for a finished read


@dataclass(eq=False)
class ManualMove:
    """A client's request to move messages, until it is answered; `wake()` schedules its next step."""

    asked: IncomingCall[AskQueueMove]
    queue: QueueSink
    peer: Peer
    left: int  # messages not yet begun
    begun: float
    wake: Callable[[], None]
    going: int = 0
    taken: int = 0
    refused: int = 0

    def record_outcome(self, taken: int, refused: int) -> None:
        self.going -= taken + refused
        self.taken += taken
        self.refused += refused
        self.wake()


class ManualMoves(Component):
    """Component for the client requests to move messages, until they are answered."""

    def __init__(
        self, context: NodeContext, nodes: Nodes, neighbours: Neighbours, queues: Queues, moving: Moving
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._neighbours = neighbours
        self._queues = queues
        self._moving = moving
        self._jobs: dict[ManualMove, None] = {}

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskQueueMove, self._move, Right.WRITE),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._later()),
            on_fact(LoggedOut, lambda fact: self._on_peer_lost(fact.peer)),
        )

    def requires_login(self, peer: Peer) -> bool:
        return any(job.peer is peer for job in self._jobs)

    def _move(self, asked: IncomingCall[AskQueueMove]) -> None:
        queue, ask = self._queues.get(asked.ask.name), asked.ask
        peer = self._target(queue, ask.to)
        if not queue.part.ready:
            raise _nothing_ready(queue, self._context.me.name)
        self._jobs[ManualMove(asked, queue, peer, ask.count, self._context.clock.now, self._later)] = None
        self._neighbours.review_login(peer)
        self._later()

    def _target(self, queue: QueueSink, name: str) -> Peer:
        """Return the node `name`. Raises: LocalError if no messages of the queue can move to this node."""
        if name == self._context.me.name:
            what = f"{name} cannot move messages of {queue.name!r} to itself."
            hint = f"Choose another node: `mesh ls`. To move messages to {name}, ask the node that has them."
            raise BadArgument(what, hint=hint)
        peer = self._nodes.named(name)
        if peer is None:
            raise UnknownNode(
                f"{self._context.me.name} does not know the node {name!r}.", hint="See `mesh ls`."
            )
        if not self._nodes.is_alive(name):
            what = f"{self._context.me.name} cannot reach {name}."
            raise LocalError(what, hint=f"See `mesh why node {name}`.", code="NODE_AWAY")
        nodes = queue.part.terms.nodes
        if nodes and name not in nodes:
            what = f"The queue {queue.name!r} is declared for {', '.join(nodes)}, not for {name}."
            others = any(node != self._context.me.name for node in nodes)
            hint = "Choose one of these nodes." if others else "Its messages stay at this node."
            raise BadArgument(what, hint=hint)
        return peer

    def _later(self) -> None:
        if self._jobs:
            self._context.out.ending[self._continue_moves] = None

    def _continue_moves(self) -> None:
        for job in list(self._jobs):
            try:
                self._work(job)
            except LocalError as error:
                del self._jobs[job]
                job.asked.fail(error)

    def _work(self, job: ManualMove) -> None:
        now, data = self._context.clock.now, job.peer.data
        if data is not None and data.is_open and not self._moving.can_take(job.peer.node.uuid):
            who = job.peer.node.name
            what = f"{who} does not support moves of queue messages from other nodes."
            raise NotAvailable(what, hint=f"Upgrade {who}, if it runs an earlier release.")
        is_reading = self._begin(job) if self._may_begin(job) else False
        is_over = job.going == 0 and (data is not None) and not is_reading
        if is_over or now >= job.begun + WAITS:
            self._answer_move(job)
        else:
            self._context.clock.wake(now + LOOKS)

    def _may_begin(self, job: ManualMove) -> bool:
        is_in_time = self._context.clock.now < job.begun + BEGINS
        return is_in_time and job.left > 0 and not job.refused and not job.queue.is_removed

    def _begin(self, job: ManualMove) -> bool:
        """Begin transfers, and return whether more messages are to be read from disk first."""
        part = job.queue.part
        n = self._moving.begin_transfers(
            job.queue, job.peer.node.uuid, next_ones(part, job.left), job.record_outcome
        )
        job.left -= n
        job.going += n
        if job.left and not any(part.order.ready_envelopes()) and part.order.on_disk:
            job.queue.reading.load_more(self._later)
            return True
        return False

    def _answer_move(self, job: ManualMove) -> None:
        del self._jobs[job]
        if self._is_away(job):
            who = job.peer.node.name
            what = f"{who} is not connected" if job.peer.data is None else f"{who} does not answer"
            what += f"; {who} accepted {counted(job.taken, 'message')}" if job.taken else ""
            what += f"; still in transit: {counted(job.going, 'message')}." if job.going else "."
            hint = f"See `mesh why node {who}`."
            if job.going:
                hint = "Messages in transit have an outcome when the node is reachable again."
            job.asked.fail(LocalError(what, hint=hint, code="NODE_AWAY"))
            return
        rest = not (job.refused or job.going or job.queue.is_removed) and job.queue.part.ready > 0
        job.asked.reply(MovedOn(taken=job.taken, refused=job.refused, going=job.going, rest=rest))

    def _is_away(self, job: ManualMove) -> bool:
        """Return whether the request fails because the target is disconnected or unresponsive.

        A target with a queue in memory answers only when the messages are settled, so only missed pings mark
        a connected target as unresponsive.
        """
        data, settings = job.peer.data, self._context.settings
        if data is None:
            return bool(job.going or not job.taken)
        ping = settings.of_link("ping", job.peer.node.name)
        return job.going > 0 and self._context.clock.now - data.heard > PINGS * ping

    def _on_peer_lost(self, peer: Peer) -> None:
        """Answer the requests with messages in transit to a disconnected node.

        The messages stay in transit until the node returns.
        """
        for job in [job for job in self._jobs if job.peer is peer and job.going]:
            self._answer_move(job)

    def tick(self) -> None:
        self._later()


def _nothing_ready(queue: QueueSink, node: str) -> LocalError:
    part = queue.part
    delayed, moving = part.backlog.later.messages, part.moving.messages
    where = f"{part.away:,} outstanding, {delayed:,} delayed, {moving:,} in transit"
    what = f"The queue {queue.name!r} has no ready messages at {node}: {where}."
    hint = f"See `mesh queue info {typed(queue.name)}` for its parts at other nodes."
    return LocalError(what, hint=hint, code="NOTHING_READY")


def next_ones(part: LocalQueue, n: int) -> Iterator[tuple[QueuedEnvelope, Runs]]:
    """Yield the next ready messages in memory, at most `n`, by envelope."""
    for queued in part.order.ready_envelopes():
        if n <= 0:
            return
        runs = queued.first_ready(n)
        n -= count(runs)
        yield queued, runs
