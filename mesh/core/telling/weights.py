"""How much does each node count when one of several is chosen? The mesh has one set of weights."""

# Law: of two sets the one with the higher stamp counts, at every node. To clear is to apply an empty one.

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from discovery.gossip import Known
from mesh.core.desk.asked import Asked, Verb, answer
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Beginning, Part
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.states.facts import StateHeard
from mesh.core.states.gossiping import Gossiping
from mesh.core.ways.questions import Questions, Replies
from mesh.errors import LocalError, MeshError
from mesh.operations import Delete, Put
from mesh.snapshots.moment import iso
from mesh.weightset import NONE, Learnt, WeightSet, bad, check_times, checked, learnt, packed, weight_set
from mesh.wire.calls import AskWeights
from mesh.wire.codec import unpack
from mesh.wire.replies import Applied, Result, WeightsRead, WeightsTold

WEIGHTS, ROW = "weights", b"set"  # event and table; and the only row of that
WITHIN = 5.0  # s that a node may take to tell its weights
OWN = 1 << 16  # two nodes never make the same stamp: the last bits are those of the node
SHOWN = 16  # names of nodes that do not have them yet


class Weights(Part):
    """Which set a node has stands in its state; who hears of a higher stamp asks that node for the set."""

    def __init__(
        self,
        desk: Desk,
        disk: Disk,
        neighbours: Neighbours,
        questions: Questions,
        gossiping: Gossiping,
        strategy: str,
    ) -> None:
        """`strategy`: the name of this node's balancer."""
        self._desk = desk
        self._disk = disk
        self._gossiping = gossiping
        self._strategy = strategy
        self._neighbours = neighbours
        self._questions = questions
        self._set = NONE
        self._are_over = True  # and that was told, if there ever were any
        self._is_asking = False
        self._failed = b""  # who did not help when it was asked last
        self._doubted: set[bytes] = set()  # whose sets were refused, which was told

    def hears(self) -> Sequence[Hearing]:
        return (hear(StateHeard, lambda fact: self._heard(fact.known)),)

    @property
    def stamp(self) -> int:
        """Of the set that this node has; 0: none yet."""
        return self._set.stamp

    def _have(self, weights: WeightSet) -> None:
        self._set, self._gossiping.weights = weights, weights.stamp

    def of(self, node: str) -> float:
        """The weight in force of the node of that name, 0.25 to 4; 1 where nothing is known of it."""
        known = self._set.weights.get(node)
        return known.weight if known is not None and self._desk.wall < self._set.expires else 1.0

    def start(self, beginning: Beginning) -> None:
        row = beginning.rows(WEIGHTS).get(ROW)
        if row is None:
            return
        try:
            self._have(weight_set(unpack(row)))
            self._are_over = self._desk.wall >= self._set.expires
        except MeshError as error:  # others have them, too
            self._desk.note("warning", f"the weights that were stored cannot be read: {error}")
            self._disk.later(WEIGHTS, ROW, Delete(WEIGHTS, ROW))

    # --- for clients ------------------------------------------------------------------------------------

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskWeights, self._called),)

    def _called(self, asked: Asked[AskWeights]) -> None:
        if asked.ask != AskWeights():
            asked.check_keys()
        asked.say(self.called(asked.ask, asked.who.text))

    def called(self, ask: AskWeights, by: str) -> Result:
        """Without arguments it reads; `set` applies a set, `clear` an empty one."""
        if ask.set is not None:
            self._apply(learnt(ask.set), by)
            return Applied(stamp=self.stamp, unknown=self._strangers()[:SHOWN])
        if ask.clear:
            self._take(WeightSet(self._next_stamp(), self._desk.wall, self._desk.wall, by, {}))
            self._tell(f"were cleared by {by}")
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
            expired=self._desk.wall >= it.expires,
            behind=sorted(self._gossiping.behind(it.stamp))[:SHOWN],
            strategy=self._strategy,
        )

    def _apply(self, said: Learnt, by: str) -> None:
        mine, theirs = self._desk.settings.cluster, said.cluster or self._desk.settings.cluster
        if mine != theirs:
            text = f"these weights were learnt in the mesh {theirs!r:.80}, and this is {mine!r}."
            raise LocalError(text, hint="If they are right here all the same: --force", code="CLUSTER")
        new = checked(WeightSet(self._next_stamp(), said.made, said.expires, by, said.weights))
        check_times(new, self._desk.wall)
        if new.expires <= self._desk.wall:
            raise bad(f"these weights have expired, at {iso(new.expires)}.", "Learn newer ones.")
        self._take(new)
        self._tell(f"were applied by {by}, until {iso(new.expires)}")

    def _strangers(self) -> list[str]:
        """Those of whom something is said and whom nobody has met."""
        is_met = self._neighbours.membership.by_name
        return sorted(name for name in self._set.weights if name != self._desk.me.name and not is_met(name))

    def _next_stamp(self) -> int:
        """Higher than what is in force, also when the clock of whoever applied that is far ahead of ours."""
        stamp = max(self._desk.stamp(), self.stamp + 1)
        return stamp + (int.from_bytes(self._desk.me.uuid[-2:]) - stamp) % OWN

    def _take(self, new: WeightSet) -> None:
        self._have(new)
        self._are_over = self._desk.wall >= new.expires
        self._disk.later(WEIGHTS, ROW, Put(WEIGHTS, ROW, packed(new)))

    # --- among nodes --------------------------------------------------------------------------------------

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskWeights, self._asked),)

    def _asked(self, asked: Asked[AskWeights]) -> None:
        asked.say(WeightsTold(set=self._set if self.stamp else None))

    def _heard(self, known: Known) -> None:
        """A node says how it is. If it has a newer set, ask it; one at a time, for there is a next state."""
        uuid = known.state.uuid
        peer = self._neighbours.peers.get(uuid)
        if (
            known.state.weights <= self.stamp
            or self._is_asking
            or peer is None
            or peer.reach.question is not None
        ):
            return
        if uuid == self._failed:  # another may help
            self._failed = b""
            return
        self._is_asking = True
        ask = self._neighbours.liveness.ask
        self._questions.ask_all([peer], AskWeights(), WeightsTold, partial(self._came, peer), WITHIN, ask)

    def _came(self, peer: Peer, replies: Replies[WeightsTold], _: list[str]) -> None:
        """The set of a node, if it has told one."""
        self._is_asking = False
        self._failed = peer.node.uuid
        for reply in replies.values():
            try:
                new = weight_set(reply.value.set)
                check_times(new, self._desk.wall)
            except LocalError as error:
                self._doubt(peer, error)
                return
            if new.stamp > self.stamp:
                self._failed = b""
                self._take(new)
                done = "applied" if new.weights else "cleared"
                self._tell(f"were {done} by {new.by}, as {peer.node.name} says", peer)

    def _doubt(self, peer: Peer, error: LocalError) -> None:
        if peer.node.uuid not in self._doubted:
            self._doubted.add(peer.node.uuid)
            self._desk.event(WEIGHTS, f"{peer.node.name} told none: {error}", peer.node, level="warning")

    # --- time -----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Tell once that they count no more."""
        if not self._are_over and self._desk.wall >= self._set.expires:
            self._are_over = True
            self._tell(f"have expired, at {iso(self._set.expires)}")

    def _tell(self, what: str, peer: Peer | None = None) -> None:
        n = len(self._set.weights)
        of = f" of {n:,} node{'s' if n > 1 else ''}" if n else ""
        self._desk.event(WEIGHTS, f"the weights{of} {what}", peer.node if peer is not None else None)
