"""The leash of a home, and how H1 becomes home: heartbeats, claims, hand-overs and forced moves."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.flow.leash import is_majority, leash_left, may_grant_claim
from tools.models.bits import bit
from tools.models.transactions.home.state import (
    H0,
    H1,
    NO_TOKEN,
    NOBODY,
    NODES,
    Beat,
    Claim,
    Handover,
    Home,
    Limits,
    State,
    V,
    Voter,
    is_linked,
    serves,
    with_home,
    with_voter,
)
from tools.models.transactions.rules import next_generation, quiet_time, version_after_force

Step = tuple[str, State]


def heartbeats(limits: Limits, state: State, h: int) -> Iterator[Step]:
    """Yield the sending of a heartbeat, the answers of voters, and the leash from a majority of them."""
    home, voter = state.homes[h], state.voters[h]
    is_home = voter.is_up and home.serves and not home.is_moved
    if is_home and not home.beat and voter.promised <= home.generation:
        heard = with_voter(state, h, voter._replace(silence=limits.silence))
        yield f"H{h} sends a heartbeat", with_home(heard, h, home._replace(beat=Beat(0, bit(h))))
    if not home.beat:
        return
    age, answers = home.beat
    for i in NODES if answers == bit(h) else ():
        other = state.voters[i]
        if i != h and other.is_up and is_linked(state, h, i) and other.promised <= home.generation:
            after = with_voter(state, i, Voter(True, home.generation, limits.silence))
            beat = Beat(age, answers | bit(i))
            yield f"{i} answers the heartbeat of H{h}", with_home(after, h, home._replace(beat=beat))
    if is_majority(answers.bit_count(), len(NODES)):
        left = max(home.leash, leash_left(limits.leash, age))
        yield f"H{h} has its leash", with_home(state, h, home._replace(leash=left, beat=None))


def moves(limits: Limits, state: State) -> Iterator[Step]:
    """Yield the steps by which the home moves to H1."""
    can_hand_over = limits.hands_over and not state.handover and is_linked(state, H0, H1)
    if can_hand_over and serves(limits, state, H0):
        home = state.homes[H0]
        handover = Handover(home.generation, home.owner, home.token, home.version)
        yield "H0 hands over", marked(state)._replace(handover=handover)
    if state.homes[H1].serves or not state.voters[H1].is_up:
        return
    if limits.has_voters:
        yield from _claim(limits, state)
        if state.claim:
            yield from _votes(limits, state, state.claim)
    else:
        yield from _without_voters(limits, state)


def _claim(limits: Limits, state: State) -> Iterator[Step]:
    voter, handover = state.voters[H1], state.handover
    if state.claim or voter.promised >= limits.generations:
        return
    generation = next_generation(voter.promised)
    is_handed_over = handover is not None and next_generation(handover.generation) == generation
    if may_grant_claim(generation, voter.promised, voter.silence, is_handed_over):
        claim = Claim(generation, bit(H1), is_handed_over)
        after = with_voter(state, H1, voter._replace(promised=generation))
        yield f"H1 claims generation {generation}", after._replace(claim=claim)


def _votes(limits: Limits, state: State, claim: Claim) -> Iterator[Step]:
    """Yield the votes of H0 and V for the claim of H1, and its end."""
    generation, votes, is_handed_over = claim
    for i in (H0, V):
        voter = state.voters[i]
        may_vote = may_grant_claim(generation, voter.promised, voter.silence, is_handed_over)
        if may_vote and voter.is_up and is_linked(state, H1, i) and not votes & bit(i):
            after = with_voter(state, i, voter._replace(promised=generation))
            after = after._replace(claim=claim._replace(votes=votes | bit(i)))
            if i == H0:
                after = with_home(after, H0, state.homes[H0]._replace(serves=False))
            yield f"{i} votes for H1", after
    if is_majority(votes.bit_count(), len(NODES)) and state.voters[H1].promised == generation:
        yield "H1 is home", _settled(limits, state, generation, is_handed_over)


def _without_voters(limits: Limits, state: State) -> Iterator[Step]:
    """Yield the end of a hand-over, and the forced move of an operator."""
    generation = next_generation(state.homes[H0].generation)
    if state.handover and state.homes[H1].generation < generation:
        yield "H1 takes over", _settled(limits, state, generation, True)
    may_force = not state.voters[H0].is_up if limits.is_stopped else state.is_cut
    if may_force and not state.homes[H1].generation:
        yield "operator forces H1", _settled(limits, state, generation, False)


def _settled(limits: Limits, state: State, generation: int, is_handed_over: bool) -> State:
    """Return the state after H1 has become home. A hand-over brings the owner of the lock and the key."""
    owner, token = NOBODY, NO_TOKEN
    handover = state.handover if is_handed_over else None
    if handover:
        owner, token, version = handover.owner, handover.token, handover.version
    else:
        version = version_after_force(generation, state.copy)
    home = Home(
        generation,
        owner=owner,
        token=token,
        version=version,
        serves=True,
        lease=limits.lease if owner != NOBODY else 0,
        leash=state.homes[H1].leash,
        quiet=quiet_time(limits.lease, is_handed_over),
        beat=state.homes[H1].beat,
    )
    return with_home(state, H1, home)._replace(claim=None, handover=None)


# --- places for planted mistakes ----------------------------------------------------------------------------


def marked(state: State) -> State:
    """Return the state after H0 has marked its home as handed over. The hand-over is sent later."""
    return with_home(state, H0, state.homes[H0]._replace(is_moved=True, serves=False))
