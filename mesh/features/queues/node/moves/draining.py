"""Drains a node: moves the messages of its mesh queues to other nodes before the node is stopped."""

# Law 1: a drain is on disk before its request is answered, and lasts until it is canceled: a restart in the
#   middle continues it. A node without messages ends its drain when it starts. As a part of a drain of the
#   node with its clients, it is not on disk, and ends with that drain or a restart.
# Law 2: a drain uses normal moves. Meanwhile, moves from other nodes are refused.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from typing import Any

from mesh.errors import LocalError
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.rows import MOVED
from mesh.features.queues.node.moves.balancing import QueueBalancing
from mesh.features.queues.node.moves.stocks import Stocks
from mesh.features.queues.node.transfers.moving import Moving
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, LeavingChanged, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.leaving import Fate, Left, Step
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES
from mesh.kernel.routes.nodes import Nodes
from mesh.names import QUEUE
from mesh.operations import Delete, Put
from mesh.printable import count as counted
from mesh.wire.calls import AskQueueDrain
from mesh.wire.replies import Drain, QueueReason, ReplyValue

ROW = b"\0\0drain"  # key that no queue and no store uses
SHOWN = 20  # queues


class Draining(Component):
    """Component that drains the queues of this node on request, even across restarts."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        nodes: Nodes,
        queues: Queues,
        stocks: Stocks,
        balancing: QueueBalancing,
        moving: Moving,
        when_written: Callable[[IncomingCall[Any], Callable[[], ReplyValue]], None],
    ) -> None:
        self._context = context
        self._disk = disk
        self._nodes = nodes
        self._queues = queues
        self._stocks = stocks
        self._balancing = balancing
        self._when_written = when_written  # answers a request after the next commit
        self._gone = 0
        self._moving = moving
        moving.on_move(self._moved)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskQueueDrain, self._drain, Right.RUN),)

    def figures(self) -> dict[str, int | float]:
        return {"queues_drained": int(self._queues.schedule.is_leaving)}

    # --- beginning and end --------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        self._queues.schedule.set_leaving(ROW in beginning.rows(MOVED))

    def on_restored(self) -> None:
        if not self._queues.schedule.is_leaving:
            return
        left = sum(queue.part.backlog.messages for queue in self._shared())
        if left:
            self._report_event(f"drain continues: {counted(left, 'message')} left")
        else:
            self._turn(False)
            self._report_event("drain is finished: no message was left")

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(LeavingChanged, lambda _: self._on_leaving()),)

    def _on_leaving(self) -> None:
        """Begin or end with a drain of the whole node, and schedule the queues for each of its steps."""
        if self._context.leaving.is_on != self._queues.schedule.is_leaving:
            self._gone = 0
            self._turn(self._context.leaving.is_on, is_stored=False)
        for queue in self._queues:
            queue.schedule()

    def remains(self) -> Iterator[Left]:
        waiting, stays = Counter[str](), 0
        for queue in self._queues:
            messages = queue.part.backlog.messages - queue.part.held
            if messages and queue.part.terms.scope == "mesh":
                waiting[next((why for _, why, _ in self._balancing.reasons(queue)), "")] += messages
            else:
                stays += messages
        for why, messages in waiting.items():
            yield Left(Step.QUEUES, "messages of queues", messages, why=why)
        if stays:
            yield Left(Step.QUEUES, "messages of queues of this node alone", stays, Fate.STAYS)

    def _drain(self, asked: IncomingCall[AskQueueDrain]) -> None:
        do, who = asked.ask.do, asked.doer
        if do == "cancel" and self._context.leaving.is_on:
            what = f"{self._context.me.name} is being drained with its clients."
            hint = f"`mesh drain --cancel --url {self._context.me.name}` ends the whole drain."
            raise LocalError(what, hint=hint, code="NODE_DRAINING")
        if do == "begin" and not self._queues.schedule.is_leaving:
            self._check()
            self._gone = 0
            self._turn(True)
            self._report_event(f"drain was started by {who}")
        elif do == "cancel" and self._queues.schedule.is_leaving:
            self._turn(False)
            self._report_event(f"drain was ended by {who}")
        self._when_written(asked, self._how_far)

    def _check(self) -> None:
        """Check that another node can be asked. Raises: LocalError."""
        if not self._nodes.askable():
            what = f"{self._context.me.name} can reach no other node that could accept its queue messages."
            hint = "See `mesh ls`. To stop the only node, run `mesh down`; its messages stay on its disk."
            raise LocalError(what, hint=hint, code="NO_OTHER_NODE")

    def _turn(self, is_on: bool, is_stored: bool = True) -> None:
        self._queues.schedule.set_leaving(is_on)
        if is_stored or not is_on:
            self._disk.later(MOVED, ROW, Put(MOVED, ROW, b"") if is_on else Delete(MOVED, ROW))
        for queue in self._queues:
            self._stocks.report_change(queue)
            queue.schedule()
        self._moving.resend_pieces()

    def _report_event(self, what: str) -> None:
        self._context.event(QUEUE, f"queues of {self._context.me.name}: {what}", level="warning")

    # --- progress -----------------------------------------------------------------------------------------

    def _moved(self, queue: QueueSink, target: bytes, taken: int, refused: int) -> None:
        self._gone += taken

    def _shared(self) -> Iterator[QueueSink]:
        return (queue for queue in self._queues if queue.part.terms.scope == "mesh")

    def _how_far(self) -> Drain:
        busy = [queue for queue in self._queues if queue.part.backlog.messages]
        shared = [queue for queue in busy if queue.part.terms.scope == "mesh"]
        own = [queue for queue in busy if queue.part.terms.scope == "node"]
        longest = nlargest(SHOWN, shared, key=lambda queue: queue.part.backlog.messages)
        return Drain(
            drains=self._queues.schedule.is_leaving,
            left=sum(queue.part.backlog.messages for queue in shared),
            rows=[
                QueueReason(queue=queue.name, messages=n, why=why)
                for queue in longest
                for n, why, _ in self._balancing.reasons(queue)
            ],
            gone=self._gone,
            stay=sum(queue.part.backlog.messages for queue in own),
            own=sorted(queue.name for queue in own)[:NAMES],
        )

    def on_second(self) -> None:
        """Schedule queues with local consumers, which during a drain receive messages that cannot move."""
        if self._queues.schedule.is_leaving:
            for queue in self._queues:
                if queue.part.ready and queue.part.is_consumed:
                    queue.schedule()
