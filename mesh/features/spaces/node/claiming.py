"""Claims of this node for the next definition of a space, on which other nodes vote."""

# Law 1: a definition is in effect only when a majority of the nodes that vote has accepted it (votes.py).
# Law 2: a claim that fails is repeated with a higher ballot after a random pause, until DEADLINE.

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from mesh.discovery.member import NodeLife
from mesh.errors import LocalError
from mesh.features.spaces.model.definition import GENERATIONS, Definition, packed, unpacked
from mesh.features.spaces.model.votes import chosen_voters, following, is_live, to_propose
from mesh.features.spaces.node.facts import ClaimWonFact
from mesh.features.spaces.node.spaces import SPACE, Spaces
from mesh.features.spaces.node.voting import Voting
from mesh.flow.leash import is_majority
from mesh.kernel.context.component import Component
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
Votes = dict[bytes, SpaceClaimed]  # by uuid


@dataclass(slots=True)
class Claim:
    """The claim of this node for a space."""

    wanted: Definition
    deadline: float
    waiting: list[Claimed]
    generation: int  # of `wanted`
    stopped: Collection[bytes]  # nodes that an operator states to be stopped for good
    again: float = inf  # time of the next attempt
    ballot: int = 0  # the highest one that a voter has promised
    waits: dict[str, float] = field(default_factory=dict)  # voter -> s until it votes without the home


@dataclass(frozen=True, slots=True)
class Electors:
    """The nodes that vote on the next definition of a space."""

    peers: list[Peer]
    away: list[str]  # names of those that cannot be asked
    has_me: bool
    must_agree: bool = False  # all of them, as others are lost

    def is_enough(self, votes: int) -> bool:
        total = len(self.peers) + len(self.away) + self.has_me
        return votes == total if self.must_agree else is_majority(votes, total)


class Claiming(Component):
    """Component that claims new definitions of spaces."""

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
        self._claims: dict[str, Claim] = {}

    def is_open(self, space: str) -> bool:
        """Return whether this node has a claim under way for the space."""
        return space in self._claims

    def voters(self, space: str, home: bytes) -> tuple[bytes, ...]:
        """Return the voters of a space with that home, from the reachable nodes."""
        peers = [peer for peer in self._neighbours.living_peers() if SPACES in peer.speaks]
        uuids = [peer.node.uuid for peer in peers]
        return chosen_voters(space, home, [self._context.me.uuid, *uuids])

    def claim(self, space: str, wanted: Definition, then: Claimed, stopped: Collection[bytes] = ()) -> None:
        """Bring the next definition of a space into effect, and call `then` when one is, or with the error.

        The definition in effect may be another one, if several nodes claim at the same time.
        """
        open_ = self._claims.get(space)
        if open_ is not None:
            open_.waiting.append(then)
            return
        wanted = following(self._spaces.last(space), wanted)
        claim = Claim(wanted, self._context.clock.now + DEADLINE, [then], wanted.generation, stopped)
        self._claims[space] = claim
        self._questions.when_settled(lambda: self._try(space, claim))

    # --- attempts ---------------------------------------------------------------------------------------

    def _try(self, space: str, claim: Claim) -> None:
        """Ask the nodes that vote to promise, and then to accept."""
        before = self._spaces.last(space)
        if before is not None and before.generation >= claim.generation:
            self._end(space, None)
            return
        claim.again, claim.waits = inf, {}
        electors = self._electors(before, claim)
        if not electors.is_enough(len(electors.peers) + electors.has_me):
            self._end(space, self._too_few(space, electors.away))
            return
        ballot = max(self._voting.promise(space).ballot, claim.ballot) + 1
        if claim.generation > GENERATIONS:
            self._end(space, LocalError(f"{space} was claimed too often.", code="NODES_AWAY"))
            return
        ask = AskSpaceClaim(
            space=space,
            generation=claim.generation,
            ballot=ballot,
            before=packed(before) if before is not None else b"",
        )

        def on_promises(votes: Votes) -> None:
            granted = [vote for vote in votes.values() if vote.granted]
            if electors.is_enough(len(granted)):
                found = [(v.accepted_ballot, unpacked(v.accepted) if v.accepted else None) for v in granted]
                wanted = to_propose(claim.wanted, found)
                then, sent = replace(ask, definition=packed(wanted)), self._context.clock.now
                self._ask(electors, claim, then, lambda votes: on_accepted(wanted, votes, sent))
            else:
                self._later(space, claim, votes)

        def on_accepted(definition: Definition, votes: Votes, sent: float) -> None:
            granted = tuple(uuid for uuid, vote in votes.items() if vote.granted)
            if electors.is_enough(len(granted)):
                self._won(ClaimWonFact(space, definition, granted, sent))
            else:
                self._later(space, claim, votes)

        self._ask(electors, claim, ask, on_promises)

    def _ask(
        self, electors: Electors, claim: Claim, ask: AskSpaceClaim, then: Callable[[Votes], None]
    ) -> None:
        """Ask all nodes that vote, this one first if it does, and call `then` with the votes."""
        me = self._context.me.uuid

        def on_replies(own: Votes, replies: Replies[SpaceClaimed]) -> None:
            votes = own | {uuid: reply.value for uuid, reply in replies.items() if not reply.code}
            claim.waits |= {self.name_of(uuid): vote.wait for uuid, vote in votes.items() if vote.wait}
            then(votes)

        def on_own(own: Votes) -> None:
            peers = electors.peers
            self._questions.ask_all(
                peers, ask, SpaceClaimed, lambda replies, _: on_replies(own, replies), is_patient=True
            )

        if electors.has_me:
            self._voting.vote(ask, me, lambda vote: on_own({me: vote}))
        else:
            on_own({})

    def _electors(self, before: Definition | None, claim: Claim) -> Electors:
        """Return the nodes that vote: the voters of the definition before, or all for a new space.

        Voters that an operator states to be stopped are left out. Then all others must agree: one of them
        knows of a definition that was accepted, unless only stopped ones accepted it.
        """
        if before is None or not is_live(before):
            return self._everyone()
        me = self._context.me.uuid
        left = [each for each in before.electors if each == me or each not in claim.stopped]
        if not left:
            return self._everyone(but=claim.stopped)
        voters, everyone = [each for each in left if each != me], self._everyone()
        peers = [peer for peer in everyone.peers if peer.node.uuid in voters]
        asked = {peer.node.uuid for peer in peers}
        away = sorted(self.name_of(each) for each in voters if each not in asked)
        return Electors(peers, away, me in left, must_agree=len(left) < len(before.electors))

    def _everyone(self, but: Collection[bytes] = ()) -> Electors:
        """Return all known nodes that can vote, this one included."""
        peers, away = list[Peer](), list[str]()
        for member in self._neighbours.membership.all():
            if member.uuid == self._context.me.uuid or member.uuid in but or member.state is NodeLife.LEFT:
                continue
            peer = self._neighbours.peers.get(member.uuid)
            if peer is None or member.state is NodeLife.DEAD:
                away.append(member.name)
            elif not peer.speaks or SPACES in peer.speaks:
                peers.append(peer)
        return Electors(peers, sorted(away), has_me=True)

    def name_of(self, uuid: bytes) -> str:
        """Return the name of a known node, or its uuid."""
        if uuid == self._context.me.uuid:
            return self._context.me.name
        found = self._neighbours.membership.member_of(uuid)
        return found.name if found is not None else uuid.hex()

    def _later(self, space: str, claim: Claim, votes: Votes) -> None:
        for vote in votes.values():
            if vote.current:
                self._spaces.learn(space, unpacked(vote.current))
        now = self._context.clock.now
        if now >= claim.deadline:
            self._end(space, _not_claimed(space, self._spaces.find(space), claim))
            return
        claim.ballot = max((vote.ballot for vote in votes.values()), default=0)
        claim.again = now + PAUSE[0] + PAUSE[1] * self._context.jitter()
        self._context.clock.wake(claim.again)

    def tick(self) -> None:
        now = self._context.clock.now
        for space, claim in list(self._claims.items()):
            if claim.again <= now:
                self._try(space, claim)
            elif claim.again < inf:
                self._context.clock.wake(claim.again)

    def _won(self, won: ClaimWonFact) -> None:
        space, new = won.space, won.definition
        text = f"its home is {new.node}" if is_live(new) else "it was removed"
        self._context.event(SPACE, f"{space} has generation {new.generation}: {text}")
        self._spaces.write_definition(space, new, lambda: self._end(space, None))
        self._context.facts.publish_fact(won)

    def _end(self, space: str, error: LocalError | None) -> None:
        for then in self._claims.pop(space).waiting:
            then(error)

    def _too_few(self, space: str, away: Sequence[str]) -> LocalError:
        known = self._spaces.find(space)
        who = "most of the known nodes" if known is None else "most of its voters"
        what = f"{space} cannot get a home: {who} must agree, and these are unreachable"
        hint = "Start them. See `mesh ls --all`; `mesh peer` forgets nodes that no longer exist."
        if known is not None:
            hint = "Start them. If they are lost for good, see docs/maps.md."
        return LocalError(f"{what}: {', '.join(away[:8])}.", hint=hint, code="NODES_AWAY")


def _not_claimed(space: str, known: Definition | None, claim: Claim) -> LocalError:
    if claim.waits and known is not None:
        heard = ", ".join(sorted(claim.waits))
        what = f"{space} was not moved: {heard} received heartbeats of its home {known.node} until now."
        hint = (
            f"Wait {max(claim.waits.values()):.0f} s after it has stopped; a live home moves without --force."
        )
        return LocalError(what, hint=hint, code="HOME_ALIVE")
    what = f"{space} got no home, because too few nodes agreed in time."
    return LocalError(what, hint="Try again.", code="NODES_AWAY")
