"""The weights of nodes for load balancing: one set for the whole mesh."""

# Law: of two sets the one with the higher timestamp counts, at every node. Clearing applies an empty set.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mesh.discovery.state import NodeState, Summary
from mesh.errors import LocalError, MeshError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.kernel.states.facts import StateReceived
from mesh.kernel.states.gossiping import Gossiping
from mesh.kernel.states.own_state import WEIGHTS
from mesh.operations import Delete
from mesh.reasons.reason import reason
from mesh.reasons.what import ADDRESS, TOPIC, What
from mesh.shared.row import SharedRow
from mesh.snapshots.moment import iso
from mesh.weightset import (
    NONE,
    YEAR,
    Learnt,
    WeightSet,
    bad,
    check_times,
    checked,
    learnt,
    packed,
    weight_set,
)
from mesh.wire.calls import AskWeights
from mesh.wire.codec import unpack
from mesh.wire.limits import SHARED
from mesh.wire.replies import Applied, Reason, ReplyValue, WeightsRead, WeightsTold

ROW = b"set"  # only row in the table of earlier releases
SHOWN = 16  # node names in an answer


class Weights(Component):
    """Component for the set of weights, which is a shared row.

    A node of an earlier release has no shared rows. Such a node is asked for its set when its state has a
    higher timestamp, and this node signs the row.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        neighbours: Neighbours,
        gossiping: Gossiping,
        shared: Shared,
        strategy: str,
    ) -> None:
        """`strategy` is the name of this node's balancer."""
        self._context = context
        self._disk = disk
        self._gossiping = gossiping
        self._strategy = strategy
        self._neighbours = neighbours
        self._shared = shared
        self._set = NONE
        self._are_over = True  # expiry was reported, if there was a set
        shared.add(RowKind(WEIGHTS, self._check, self._on_row_changed, YEAR))

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(StateReceived, lambda fact: self._on_state(fact.known.state)),)

    @property
    def stamp(self) -> int:
        """The timestamp of this node's set; 0 if there is none."""
        return self._set.stamp

    def weight_of(self, node: str) -> float:
        """Return the weight in force of a node, 0.25 to 4; 1 if it has none."""
        known = self._set.weights.get(node)
        return known.weight if known is not None and self._context.clock.wall < self._set.expires else 1.0

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind in (ADDRESS, TOPIC) and what.is_start and self.stamp and self._are_over:
            yield reason("WEIGHTS_EXPIRED")

    def start(self, beginning: Beginning) -> None:
        """Convert weights that were stored by an earlier release to a row."""
        stored = beginning.rows(WEIGHTS).get(ROW)
        if stored is None:
            return
        self._disk.later(WEIGHTS, ROW, Delete(WEIGHTS, ROW))
        try:
            old = weight_set(unpack(stored))
            if old.stamp > self.stamp:
                self._shared.write_row(WEIGHTS, "", old.stamp, packed(old))
        except MeshError as error:  # other nodes have it too
            self._context.out.log_line("warning", f"the stored weights are damaged: {error}")

    # --- the row ------------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        new = weight_set(unpack(row.value))
        check_times(new, self._context.clock.wall)
        if row.name or new.stamp != row.stamp:
            raise bad("The row of the weights has a name, or another timestamp than the weights.")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        new, old = weight_set(unpack(row.value)), self._set
        self._set, self._are_over = new, self._context.clock.wall >= new.expires
        if by is not None and new.stamp > old.stamp:
            done = "applied" if new.weights else "cleared"
            self._report_weights(f"were {done} by {new.by}, according to {by.node.name}", by)

    def _write_weights(self, new: WeightSet, by: Peer | None = None) -> None:
        self._shared.write_row(WEIGHTS, "", new.stamp, packed(new), by)

    # --- for clients ------------------------------------------------------------------------------------

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskWeights, self._called),)

    def _called(self, asked: IncomingCall[AskWeights]) -> None:
        if asked.ask != AskWeights():
            asked.check_keys()
        asked.reply(self.called(asked.ask, asked.who.text))

    def called(self, ask: AskWeights, by: str) -> ReplyValue:
        """Execute the call: apply `set`, or an empty set with `clear`, or else return the current set.

        Raises: LocalError for invalid or expired weights, and for weights of another mesh.
        """
        if ask.set is not None:
            self._apply(learnt(ask.set), by)
            return Applied(stamp=self.stamp, unknown=self._strangers()[:SHOWN])
        if ask.clear:
            self._write_weights(
                WeightSet(
                    self._shared.stamp(WEIGHTS, ""),
                    self._context.clock.wall,
                    self._context.clock.wall,
                    by,
                    {},
                )
            )
            self._report_weights(f"were cleared by {by}")
            return Applied(stamp=self.stamp)
        return self._read()

    def _read(self) -> WeightsRead:
        it = self._set
        return WeightsRead(
            stamp=it.stamp,
            made=it.made,
            expires=it.expires,
            by=it.by,
            weights={node: (each.weight, each.reason) for node, each in it.weights.items()},
            expired=self._context.clock.wall >= it.expires,
            behind=sorted(self._gossiping.behind(it.stamp))[:SHOWN],
            strategy=self._strategy,
        )

    def _apply(self, said: Learnt, by: str) -> None:
        mine, theirs = self._context.settings.cluster, said.cluster or self._context.settings.cluster
        if mine != theirs:
            text = f"The weights were learned in the mesh {theirs!r:.80}, but this mesh is {mine!r}."
            raise LocalError(text, hint="To apply them anyway: --force.", code="CLUSTER")
        new = checked(WeightSet(self._shared.stamp(WEIGHTS, ""), said.made, said.expires, by, said.weights))
        check_times(new, self._context.clock.wall)
        if new.expires <= self._context.clock.wall:
            raise bad(f"The weights expired at {iso(new.expires)}.", "Run `mesh weights learn` again.")
        self._write_weights(new)
        self._report_weights(f"were applied by {by}, until {iso(new.expires)}")

    def _strangers(self) -> list[str]:
        is_met = self._neighbours.membership.by_name
        return sorted(
            name for name in self._set.weights if name != self._context.me.name and not is_met(name)
        )

    # --- among nodes of earlier releases ----------------------------------------------------------------

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskWeights, self._on_weights_asked),)

    def _on_weights_asked(self, asked: IncomingCall[AskWeights]) -> None:
        asked.reply(WeightsTold(set=self._set if self.stamp else None))

    def _on_state(self, state: NodeState) -> None:
        """Ask a node of an earlier release if it announces a newer set."""
        peer = self._neighbours.peers.get(state.uuid)
        if state.weights <= self.stamp or peer is None or SHARED in peer.speaks:
            return
        if self._shared.may_ask(peer, Summary(WEIGHTS, state.weights, b"")):
            self._shared.ask_peer(peer, WEIGHTS, AskWeights(), WeightsTold, partial(self._on_weights, peer))

    def _on_weights(self, peer: Peer, told: WeightsTold) -> None:
        new = weight_set(told.set)
        check_times(new, self._context.clock.wall)
        if new.stamp > self.stamp:
            self._write_weights(new, peer)

    # --- time -----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Report once that the weights have expired."""
        if not self._are_over and self._context.clock.wall >= self._set.expires:
            self._are_over = True
            self._report_weights(f"expired at {iso(self._set.expires)}")

    def _report_weights(self, what: str, peer: Peer | None = None) -> None:
        n = len(self._set.weights)
        of = f" of {n:,} node{'s' if n > 1 else ''}" if n else ""
        self._context.event(WEIGHTS, f"the weights{of} {what}", peer.node if peer is not None else None)
