"""The votes of this node on the definitions of spaces, and its answers to the heartbeats of homes."""

# Law 1: a promise, and an accepted definition, is on disk before it is answered.
# Law 2: after a promise for the next generation, the heartbeats of the home are refused (votes.py).

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from mesh.errors import MeshError
from mesh.features.spaces.model.definition import Definition, check_space, packed, unpacked
from mesh.features.spaces.model.votes import Promise, accepted, is_live, promised
from mesh.features.spaces.node import rows
from mesh.features.spaces.node.spaces import TAKEN, Spaces
from mesh.flow.leash import SILENCE, may_grant_claim, silence_left
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.wire.calls import AskSpaceBeat, AskSpaceClaim
from mesh.wire.replies import SpaceBeaten, SpaceClaimed


class Voting(Component):
    """Component that votes on claims, and lets homes act."""

    def __init__(self, context: NodeContext, disk: Disk, neighbours: Neighbours, spaces: Spaces) -> None:
        self._context = context
        self._disk = disk
        self._neighbours = neighbours
        self._spaces = spaces
        self._promises: dict[str, Promise] = {}
        self._heard: dict[str, float] = {}  # time of the last answered heartbeat
        self._began = 0.0

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceClaim, self._on_claim), answer(AskSpaceBeat, self._on_beat))

    def start(self, beginning: Beginning) -> None:
        self._began = self._context.clock.now
        for kind, space, _, row in rows.rows_of(beginning.rows(rows.TABLE)):
            if kind == rows.PROMISE:
                self._promises[space] = rows.read_promise(row)

    def promise(self, space: str) -> Promise:
        """Return the vote of this node on the next definition of a space."""
        return self._promises.get(space, Promise())

    def since_beat(self, space: str) -> float:
        """Return the time since the last answered heartbeat of a space, in s."""
        return self._context.clock.now - self._heard.get(space, -inf)

    def quiet_for(self, space: str) -> float:
        """Return the time since the last heartbeat of a space, or since the start of this node, in s."""
        return self._context.clock.now - max(self._heard.get(space, -inf), self._began)

    # --- claims -----------------------------------------------------------------------------------------

    def _on_claim(self, asked: IncomingCall[AskSpaceClaim]) -> None:
        check_space(asked.ask.space)
        self.vote(asked.ask, asked.who.node.uuid, asked.reply)

    def vote(self, ask: AskSpaceClaim, claimant: bytes, then: Callable[[SpaceClaimed], None]) -> None:
        """Promise, or accept a definition, and call `then` once that is on disk (Law 1)."""
        before = unpacked(ask.before) if ask.before else None
        if before is not None:
            self._spaces.learn(ask.space, before)
        known, old = self._spaces.last(ask.space), self.promise(ask.space)
        if known is not None and known.generation >= ask.generation:
            then(SpaceClaimed(current=packed(known)))
            return
        wait = self._wait(ask, known, claimant)
        new = self._promised(ask, old) if not wait else None
        if new is None:
            then(_vote(old, is_granted=False, wait=wait))
            return
        self._promises[ask.space] = new
        self._heard[ask.space] = self._context.clock.now

        def landed(error: MeshError | None) -> None:
            if error is None:
                then(_vote(new, is_granted=True))

        self._disk.commit([rows.put_promise(ask.space, new)], landed)

    def _wait(self, ask: AskSpaceClaim, known: Definition | None, claimant: bytes) -> float:
        """Return the time until this node votes for a claim without the home, in s."""
        if known is None or not is_live(known) or self.promise(ask.space).generation >= ask.generation:
            return 0.0
        left = self._silence_left(ask.space, known)
        is_free = may_grant_claim(ask.generation, known.generation, left, claimant == known.home)
        return 0.0 if is_free else max(left, 0.001)

    def _silence_left(self, space: str, known: Definition) -> float:
        if known.electors == (known.home,):  # there are no heartbeats
            is_here = known.home == self._context.me.uuid
            return SILENCE if is_here or self._neighbours.directory.is_alive(known.home) else 0.0
        return silence_left(self._heard.get(space, -inf), self._began, self._context.clock.now)

    def _promised(self, ask: AskSpaceClaim, old: Promise) -> Promise | None:
        if ask.space not in self._promises and len(self._promises) >= TAKEN:
            return None
        if not ask.definition:
            return promised(old, ask.generation, ask.ballot)
        definition = unpacked(ask.definition)
        return accepted(old, ask.ballot, definition) if definition.generation == ask.generation else None

    # --- heartbeats -------------------------------------------------------------------------------------

    def _on_beat(self, asked: IncomingCall[AskSpaceBeat]) -> None:
        home = asked.who.node.uuid
        refused = [space for space, generation in asked.ask.spaces if not self.hear(space, generation, home)]
        asked.reply(SpaceBeaten(refused=refused))

    def hear(self, space: str, generation: int, home: bytes) -> bool:
        """Record the heartbeat of a home, and return whether this node lets it act (Law 2)."""
        promise, known = self.promise(space), self._spaces.last(space)
        if promise.generation > generation:
            return False
        if promise.generation == generation and (known is None or known.generation < generation):
            known = promise.accepted  # in effect, as its home acts
        if known is None:
            return False
        if generation < known.generation or (generation == known.generation and home != known.home):
            return False
        self._heard[space] = self._context.clock.now
        return True


def _vote(promise: Promise, is_granted: bool, wait: float = 0.0) -> SpaceClaimed:
    return SpaceClaimed(
        granted=is_granted,
        ballot=promise.ballot,
        accepted=packed(promise.accepted) if promise.accepted is not None else b"",
        accepted_ballot=promise.accepted_ballot,
        wait=wait,
    )
