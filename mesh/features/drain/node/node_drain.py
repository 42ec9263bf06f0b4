"""Drains a node with its clients: begins, advances, cancels and reports the drain."""

# Law 1: the steps follow `next_step`. A drain ends when it is canceled or the node stops; it is not stored.
# Law 2: a node that can reach no other node that stays refuses to be drained.
# Law 3: a request to drain a node that is drained but not empty tries again with the clients that stayed.
# Law 4: a canceled drain opens this node at once. What has moved stays where it is.

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import LocalError
from mesh.features.drain.node.owed_log import OwedLog
from mesh.features.drain.node.redirecting import Redirecting
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import LeavingChanged
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.leaving import Fate, Left, Step, next_step
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.states.gossiping import Gossiping
from mesh.wire.calls import AskDrain
from mesh.wire.replies import LeftRow, NodeDrained

PAUSE = 0.2  # s between two looks at what is left
ROWS = 256  # in an answer
KIND = "drain"  # of events


class NodeDrain(Component):
    """Component with the verb `drain`."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, gossiping: Gossiping, redirecting: Redirecting
    ) -> None:
        self._context = context
        self._leaving = context.leaving
        self._redirecting = redirecting
        self._neighbours = neighbours
        self._gossiping = gossiping
        self._next = 0.0

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskDrain, self._on_ask, Right.RUN),)

    def figures(self) -> dict[str, int | float]:
        return {"drain_step": int(self._leaving.step)}

    def _on_ask(self, asked: IncomingCall[AskDrain]) -> None:
        do, name = asked.ask.do, self._context.me.name
        if do == "begin" and not self._leaving.is_on:
            self._check()
            self._enter(Step.CLOSED)
            self._context.event(KIND, f"drain of {name} was started by {asked.doer}", level="warning")
        elif do == "begin" and self._leaving.step is Step.DONE and not self._is_free():
            self._redirecting.forget_turns()
            self._enter(Step.CLIENTS)
        elif do == "cancel":
            self._enter(Step.STAYING)
            self._redirecting.forget_turns()
            self._context.event(KIND, f"drain of {name} was ended by {asked.doer}", level="warning")
        asked.reply(self._progress())

    def _check(self) -> None:
        """Check that another node can be reached and stays. Raises: LocalError."""
        names = [peer.node.name for peer in self._neighbours.living_peers()]
        if any(not self._gossiping.is_leaving(name) for name in names):
            return
        me = self._context.me.name
        what = f"{me} can reach no other node that could accept its clients and messages."
        hint = "See `mesh ls`. To stop the only node, run `mesh down`; its messages stay on its disk."
        if names:
            what = f"All nodes that {me} can reach are being drained: {', '.join(sorted(names)[:8])}."
            hint = f"Wait until one has restarted, or run `mesh drain --cancel --url {min(names)}`."
        raise LocalError(what, hint=hint, code="NO_OTHER_NODE")

    def _enter(self, step: Step) -> None:
        self._leaving.enter_step(step, self._context.clock.now)
        self._context.facts.publish_fact(LeavingChanged())
        self._gossiping.hurry()
        self._next = self._context.clock.now + PAUSE
        self._context.clock.wake(self._next)

    def tick(self) -> None:
        if not self._leaving.is_on:
            return
        self._redirecting.redirect_clients()
        now = self._context.clock.now
        if now < self._next:
            return
        moving = {left.step for left in self._context.face.remains() if left.fate is Fate.MOVES}
        step = next_step(self._leaving.step, self._leaving.since, now, moving)
        if step is not self._leaving.step:
            self._enter(step)
            if step is Step.DONE:
                self._report_end()
        if step is not Step.DONE:
            self._next = now + PAUSE
            self._context.clock.wake(self._next)

    def _report_end(self) -> None:
        what = (
            "nothing is left" if self._is_free() else "something is left; see `mesh drain --clients --look`"
        )
        self._context.event(KIND, f"drain of {self._context.me.name} is finished: {what}", level="warning")

    def _is_free(self) -> bool:
        """Return whether nothing is left, except messages that wait for other nodes."""
        return all(left.fate is Fate.WAITS for left in self._context.face.remains())

    def _progress(self) -> NodeDrained:
        left = sorted(self._context.face.remains(), key=lambda each: each.step)[:ROWS]
        step = self._leaving.step
        return NodeDrained(
            drains=self._leaving.is_on,
            step=step.name.lower(),
            is_complete=step is Step.DONE and self._is_free(),
            left=[_row(each) for each in left],
        )


def _row(left: Left) -> LeftRow:
    return LeftRow(
        step=left.step.name.lower(),
        what=left.what,
        count=left.amount,
        fate=str(left.fate),
        node=left.node,
        why=left.why,
    )


class DrainParts(FeatureParts):
    """The components that drain a node with its clients."""

    def __init__(self, k: Parts) -> None:
        redirecting = Redirecting(k.context, k.nodes, k.sessions, k.room)
        drain = NodeDrain(k.context, k.neighbours, k.gossiping, redirecting)
        owed = OwedLog(k.context, k.disk, k.nodes, k.peers, k.sessions, k.inboxes)
        super().__init__(owed, redirecting, drain)
