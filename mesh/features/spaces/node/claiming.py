"""Creates spaces: a node claims the definition of a new one, and all nodes vote."""

# Law 1: a definition is in effect only when a majority of the known nodes has accepted it (definition.py).
# Law 2: a promise, and an accepted definition, is on disk before it is answered.
# Law 3: a claim that fails is repeated with a newer generation after a random pause, until DEADLINE.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from mesh.discovery.member import NodeLife
from mesh.errors import LocalError
from mesh.features.spaces.model.definition import (
    GENERATIONS,
    Definition,
    Promise,
    accepted,
    check_space,
    majority,
    packed,
    promised,
    to_propose,
    unpacked,
)
from mesh.features.spaces.node import rows
from mesh.features.spaces.node.spaces import SPACE, TAKEN, Spaces
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.wire.calls import AskSpaceClaim
from mesh.wire.limits import SPACES
from mesh.wire.replies import SpaceClaimed

DEADLINE = 4.0  # s until a claim is given up
PAUSE = 0.1, 0.5  # s between two attempts: at least, and at most more

Claimed = Callable[[LocalError | None], None]


@dataclass(slots=True)
class Claim:
    """The claim of this node for a space."""

    wanted: Definition
    deadline: float
    waiting: list[Claimed] = field(default_factory=list)
    again: float = inf  # time of the next attempt
    above: int = 0  # highest generation that a voter has promised


class Claiming(Component):
    """Component that claims the definitions of new spaces, and votes on claims of other nodes."""

    def __init__(
        self, context: NodeContext, disk: Disk, neighbours: Neighbours, questions: PeerCalls, spaces: Spaces
    ) -> None:
        self._context = context
        self._disk = disk
        self._neighbours = neighbours
        self._questions = questions
        self._spaces = spaces
        self._promises: dict[str, Promise] = {}
        self._claims: dict[str, Claim] = {}

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceClaim, self._on_claim),)

    def start(self, beginning: Beginning) -> None:
        for kind, space, _, row in rows.rows_of(beginning.rows(rows.TABLE)):
            if kind == rows.PROMISE:
                self._promises[space] = rows.read_promise(row)

    # --- votes ------------------------------------------------------------------------------------------

    def _on_claim(self, asked: IncomingCall[AskSpaceClaim]) -> None:
        ask = asked.ask
        check_space(ask.space)
        definition = unpacked(ask.definition) if ask.definition else None
        self._vote(ask.space, ask.generation, definition, asked.reply)

    def _vote(
        self, space: str, generation: int, definition: Definition | None, then: Callable[[SpaceClaimed], None]
    ) -> None:
        """Promise, or accept a definition, and call `then` once that is on disk (Law 2)."""
        old = self._promises.get(space) or self._known_promise(space)
        new = accepted(old, definition) if definition is not None else promised(old, generation)
        if space not in self._promises and len(self._promises) >= TAKEN:
            new = None
        stands = new or old
        reply = SpaceClaimed(
            granted=new is not None,
            generation=stands.generation,
            accepted=packed(old.accepted) if old.accepted is not None else b"",
        )
        if new is None:
            then(reply)
            return
        self._promises[space] = new
        self._disk.commit(
            [rows.put_promise(space, new)], lambda error: then(reply) if error is None else None
        )

    def _known_promise(self, space: str) -> Promise:
        """Return the promise of a node that only knows the definition in effect."""
        known = self._spaces.find(space)
        return Promise(known.generation, known) if known is not None else Promise()

    # --- claims -----------------------------------------------------------------------------------------

    def claim(self, space: str, wanted: Definition, then: Claimed) -> None:
        """Create a space, and call `then` when a definition is in effect, or with the error.

        The definition may be another one if the space was created elsewhere at the same time.
        """
        open_ = self._claims.get(space)
        if open_ is not None:
            open_.waiting.append(then)
            return
        claim = self._claims[space] = Claim(wanted, self._context.clock.now + DEADLINE, [then])
        self._questions.when_settled(lambda: self._try(space, claim))

    def _try(self, space: str, claim: Claim) -> None:
        """Ask all known nodes to promise a generation."""
        if self._spaces.find(space) is not None:
            self._end(space, None)
            return
        claim.again = inf
        peers, away = self._voters()
        need = majority(len(peers) + len(away) + 1)
        if len(peers) + 1 < need:
            self._end(space, self._too_few(space, away))
            return
        own = self._promises.get(space, Promise())
        generation = max(own.generation, claim.above) + 1
        if generation > GENERATIONS:
            self._end(space, LocalError(f"{space} was claimed too often.", code="NODES_AWAY"))
            return

        def on_promises(votes: list[SpaceClaimed]) -> None:
            if sum(vote.granted for vote in votes) >= need:
                found = [unpacked(vote.accepted) if vote.accepted else None for vote in votes]
                wanted = to_propose(replace(claim.wanted, generation=generation), found)
                self._ask(space, peers, generation, wanted, lambda votes: on_accepted(wanted, votes))
            else:
                self._later(space, claim, votes)

        def on_accepted(definition: Definition, votes: list[SpaceClaimed]) -> None:
            if sum(vote.granted for vote in votes) >= need:
                self._won(space, definition)
            else:
                self._later(space, claim, votes)

        self._ask(space, peers, generation, None, on_promises)

    def _ask(
        self,
        space: str,
        peers: Sequence[Peer],
        generation: int,
        definition: Definition | None,
        then: Callable[[list[SpaceClaimed]], None],
    ) -> None:
        """Ask this node and the peers for a vote, and call `then` with the votes."""
        ask = AskSpaceClaim(
            space=space,
            generation=generation,
            definition=packed(definition) if definition is not None else b"",
        )

        def on_own(own: SpaceClaimed) -> None:
            self._questions.ask_all(
                peers, ask, SpaceClaimed, lambda replies, _: then([own, *_votes(replies)]), is_patient=True
            )

        self._vote(space, generation, definition, on_own)

    def _voters(self) -> tuple[list[Peer], list[str]]:
        """Return the peers that can vote, and the names of known nodes that cannot be asked."""
        peers, away = list[Peer](), list[str]()
        for member in self._neighbours.membership.all():
            if member.uuid == self._context.me.uuid or member.state is NodeLife.LEFT:
                continue
            peer = self._neighbours.peers.get(member.uuid)
            if peer is None or member.state is NodeLife.DEAD:
                away.append(member.name)
            elif not peer.speaks or SPACES in peer.speaks:
                peers.append(peer)
        return peers, sorted(away)

    def _later(self, space: str, claim: Claim, votes: list[SpaceClaimed]) -> None:
        now = self._context.clock.now
        if now >= claim.deadline:
            what = f"{space} was not created, because too few nodes agreed in time."
            self._end(space, LocalError(what, hint="Try again.", code="NODES_AWAY"))
            return
        claim.above = max((vote.generation for vote in votes), default=0)
        claim.again = now + PAUSE[0] + PAUSE[1] * self._context.jitter()
        self._context.clock.wake(claim.again)

    def tick(self) -> None:
        now = self._context.clock.now
        for space, claim in list(self._claims.items()):
            if claim.again <= now:
                self._try(space, claim)
            elif claim.again < inf:
                self._context.clock.wake(claim.again)

    def _won(self, space: str, definition: Definition) -> None:
        if definition.home == self._context.me.uuid:
            self._context.event(SPACE, f"{space} was created; its home is this node")
        self._spaces.write_definition(space, definition, lambda: self._end(space, None))

    def _end(self, space: str, error: LocalError | None) -> None:
        for then in self._claims.pop(space).waiting:
            then(error)

    def _too_few(self, space: str, away: Sequence[str]) -> LocalError:
        what = f"{space} cannot be created: most of the known nodes must agree, and these are unreachable"
        hint = "Start them. See `mesh ls --all`; `mesh peer` forgets nodes that no longer exist."
        return LocalError(f"{what}: {', '.join(away[:8])}.", hint=hint, code="NODES_AWAY")


def _votes(replies: Replies[SpaceClaimed]) -> list[SpaceClaimed]:
    return [reply.value for reply in replies.values() if not reply.code]
