"""The leashes of the spaces of this node: heartbeats to their voters, and the time that the answers give."""

# Law: the home of a space acts only while it is on its leash (mesh/flow/leash.py). A home without other
#      voters needs none.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import inf

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import Definition
from mesh.features.spaces.node.facts import ClaimWonFact, SpaceDefinedFact
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.node.voting import Voting
from mesh.flow.leash import BEAT, LEASH, answered_since, leash_left
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.wire.calls import AskSpaceBeat
from mesh.wire.limits import SPACES
from mesh.wire.replies import SpaceBeaten

SOON = 0.25  # s until the next heartbeat after a refused one

Beats = list[tuple[str, int]]  # spaces and their generations


class Leashes(Component):
    """Component that keeps the spaces of this node on their leashes."""

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        questions: PeerCalls,
        spaces: Spaces,
        voting: Voting,
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._questions = questions
        self._spaces = spaces
        self._voting = voting
        self._answered: dict[str, dict[bytes, float]] = {}  # space -> voter -> when its last beat was sent
        self._refused: set[str] = set()
        self._next = 0.0  # time of the next heartbeat
        self._is_beating = False

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SpaceDefinedFact, self._on_defined),
            on_fact(ClaimWonFact, self._on_won),
            on_fact(LoggedIn, lambda _: self._hurry()),
        )

    def figures(self) -> dict[str, int | float]:
        left = [self.left(name, each) for name, each in self._spaces.own() if each.electors != (each.home,)]
        return {"leash_left": max(0.0, min(left, default=LEASH))}

    def left(self, space: str, known: Definition) -> float:
        """Return for how long this node may act as the home; 0 or less: no longer; inf: without limit."""
        if known.home != self._context.me.uuid:
            return -inf
        if self._voting.promise(space).generation > known.generation:
            return -inf
        if known.electors == (known.home,):
            return inf
        since = answered_since(self._answered.get(space, {}).values(), len(known.electors))
        return leash_left(LEASH, self._context.clock.now - since)

    def check(self, space: str, known: Definition) -> None:
        """Check that this node may act as the home. Raises: LocalError NO_LEASH."""
        if self.left(space, known) <= 0:
            me = self._context.me.name
            what = f"The voters of {space} do not confirm that {me} is its home."
            raise LocalError(
                what, hint=f"Try again. See `mesh why {space.replace('/', ' ', 1)}`.", code="NO_LEASH"
            )

    def lost(self) -> list[str]:
        """Return the spaces of this node whose voters have promised another claim that led to nothing."""
        found = [(space, self._spaces.find(space)) for space in sorted(self._refused)]
        return [space for space, known in found if known is not None and self.left(space, known) <= 0]

    # --- heartbeats -------------------------------------------------------------------------------------

    def _on_defined(self, fact: SpaceDefinedFact) -> None:
        self._answered.pop(fact.space, None)
        self._refused.discard(fact.space)
        self._hurry()

    def _on_won(self, fact: ClaimWonFact) -> None:
        """Count the votes for this node like answers to a heartbeat."""
        if fact.definition.home == self._context.me.uuid:
            for voter in fact.voters:
                self._count(fact.space, fact.definition.generation, voter, fact.sent)

    def _hurry(self) -> None:
        """Send the next heartbeat at once, as a voter became reachable, or this node a home."""
        if next(iter(self._spaces.own()), None) is not None:
            self._next = 0.0
            self._context.clock.wake(self._context.clock.now)

    def tick(self) -> None:
        now = self._context.clock.now
        if now >= self._next:
            self._next = now + BEAT
            beats = self._beats()
            self._is_beating = bool(beats)
            for voter in sorted(beats):
                self._send(voter, beats[voter])
        if self._is_beating:
            self._context.clock.wake(self._next)

    def _beats(self) -> dict[bytes, Beats]:
        """Return the heartbeats for each voter, this node included."""
        found = defaultdict[bytes, Beats](list)
        for space, known in self._spaces.own():
            for voter in known.electors if known.electors != (known.home,) else ():
                found[voter].append((space, known.generation))
        return found

    def _send(self, voter: bytes, beats: Beats) -> None:
        sent, me = self._context.clock.now, self._context.me.uuid
        if voter == me:
            for space, generation in beats:
                if self._voting.hear(space, generation, me):
                    self._count(space, generation, me, sent)
            return
        peer = self._neighbours.peers.get(voter)
        if peer is None or not peer.alive or SPACES not in peer.speaks:
            return
        ask = AskSpaceBeat(spaces=beats)
        self._questions.ask_all([peer], ask, SpaceBeaten, self._on_beaten(voter, beats, sent), within=LEASH)

    def _on_beaten(
        self, voter: bytes, beats: Beats, sent: float
    ) -> Callable[[Replies[SpaceBeaten], list[str]], None]:
        def on_replies(replies: Replies[SpaceBeaten], _: list[str]) -> None:
            for reply in replies.values():
                if reply.code:
                    return
                for space, generation in beats:
                    if space not in reply.value.refused:
                        self._count(space, generation, voter, sent)
                    elif self._spaces.is_home(space):
                        self._on_refused(space)

        return on_replies

    def _on_refused(self, space: str) -> None:
        """Ask again soon, as the voter may learn the definition in a moment."""
        self._refused.add(space)
        self._next = min(self._next, self._context.clock.now + SOON)
        self._context.clock.wake(self._next)

    def _count(self, space: str, generation: int, voter: bytes, sent: float) -> None:
        """Count the answer of a voter, if the space still has that generation."""
        known = self._spaces.find(space)
        if known is not None and known.generation == generation and voter in known.electors:
            self._answered.setdefault(space, {})[voter] = sent
