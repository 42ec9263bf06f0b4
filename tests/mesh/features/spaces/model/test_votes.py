"""Votes on definitions: every order of the claims of two nodes for two generations, at three voters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from mesh.features.spaces.model.definition import Definition
from mesh.features.spaces.model.votes import Promise, accepted, chosen_voters, promised, to_propose
from mesh.flow.leash import is_majority

NODES = range(3)
CLAIMANTS = (0, 1)
BALLOTS = 2
REAL = promised


def definition(home: int, generation: int = 1) -> Definition:
    return Definition(bytes([home + 1]) * 16, f"n{home}", generation, 10, 1000)


class Claim(NamedTuple):
    """A claim under way: its phase, generation, ballot, definition, and the nodes that granted it.

    `found` is the definition of the highest ballot that one of them had accepted.
    """

    phase: str = ""
    generation: int = 0
    ballot: int = 0
    definition: Definition | None = None
    granted: frozenset[int] = frozenset()
    found: tuple[int, Definition | None] = (0, None)


class State(NamedTuple):
    promises: tuple[Promise, ...] = (Promise(),) * 3
    claims: tuple[Claim, ...] = (Claim(),) * 2
    won: frozenset[tuple[int, bytes]] = frozenset()  # generations and homes of definitions in effect
    generations: int = 1


FIRST = definition(0)
NEW, MOVING = (  # a new space; one whose second generation is claimed, perhaps with a late claim of the first
    State(),
    State(
        (Promise(1, 1, FIRST, 1), Promise(1, 1, FIRST, 1), Promise()),
        won=frozenset({(1, FIRST.home)}),
        generations=2,
    ),
)


def steps(state: State) -> Iterator[State]:
    """Yield each state after one message, or after a claimant begins anew, as after a crash.

    A claimant claims the first generation, or the one after a definition in effect. It may not know the
    definition in effect.
    """
    known = max((generation for generation, _ in state.won), default=0)
    for c in CLAIMANTS:
        claim = state.claims[c]
        for generation in range(1, min(known + 1, state.generations) + 1):
            ballots = [each.ballot for each in state.promises if each.generation == generation]
            top = max(ballots, default=0)
            if top < BALLOTS:
                yield with_claim(state, c, Claim("promise", generation, top + 1))
        for node in NODES if claim.phase else ():
            if node not in claim.granted:
                yield from voted(state, c, node)


def voted(state: State, c: int, node: int) -> Iterator[State]:
    claim, old = state.claims[c], state.promises[node]
    if claim.phase == "promise":
        new = promised(old, claim.generation, claim.ballot)
    else:
        assert claim.definition is not None
        new = accepted(old, claim.ballot, claim.definition)
    if new is None:
        return
    promises = list(state.promises)
    promises[node] = new
    said = (new.accepted_ballot, new.accepted) if claim.phase == "promise" else (0, None)
    found = max(claim.found, said, key=lambda each: each[0])
    after = claim._replace(granted=claim.granted | {node}, found=found)
    state = with_claim(state._replace(promises=tuple(promises)), c, after)
    yield state
    if is_majority(len(after.granted), len(NODES)):
        generation = claim.generation
        if claim.phase == "promise":
            wanted = to_propose(definition(c, generation), [found])
            yield with_claim(state, c, Claim("accept", generation, claim.ballot, wanted))
        elif claim.definition is not None:
            won = state.won | {(generation, claim.definition.home)}
            yield with_claim(state._replace(won=won), c, Claim())


def with_claim(state: State, c: int, claim: Claim) -> State:
    claims = list(state.claims)
    claims[c] = claim
    return state._replace(claims=tuple(claims))


@pytest.mark.parametrize("first", [NEW, MOVING], ids=["new", "moving"])
def test_law_2_a_generation_never_has_two_homes_in_any_order_of_two_claims(first: State) -> None:
    seen, open_ = {first}, [first]
    while open_:
        state = open_.pop()
        generations = [generation for generation, _ in state.won]
        assert len(generations) == len(set(generations)), state
        for after in steps(state):
            if after not in seen:
                seen.add(after)
                open_.append(after)
    homes = {home for state in seen for generation, home in state.won if generation == first.generations}
    assert homes == {definition(c).home for c in CLAIMANTS}


@pytest.mark.parametrize("broken", ["promise", "accept", "propose", "generation"])
def test_each_rule_of_the_votes_is_needed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {
        "promise": ("promised", lambda old, g, ballot: Promise(g, ballot, old.accepted, old.accepted_ballot)),
        "accept": ("accepted", lambda old, ballot, new: Promise(new.generation, ballot, new, ballot)),
        "propose": ("to_propose", lambda wanted, found: wanted),
        "generation": ("promised", forgetful),
    }
    name, rule = rules[broken]
    monkeypatch.setitem(globals(), name, rule)
    with pytest.raises(AssertionError):
        test_law_2_a_generation_never_has_two_homes_in_any_order_of_two_claims(
            MOVING if broken == "generation" else NEW
        )


def forgetful(old: Promise, generation: int, ballot: int) -> Promise | None:
    """Promise an older generation again, after a vote on a later one."""
    return REAL(old if old.generation == generation else Promise(), generation, ballot)


def test_a_space_has_one_three_or_five_voters_with_its_home() -> None:
    uuids = [bytes([n]) * 16 for n in range(7)]
    sizes = [len(chosen_voters("map/m", uuids[0], uuids[:n])) for n in range(1, 8)]
    assert sizes == [1, 1, 3, 3, 5, 5, 5]
    found = chosen_voters("map/m", uuids[3], uuids)
    assert found[0] == uuids[3] and len(set(found)) == 5
    assert found == chosen_voters("map/m", uuids[3], uuids[::-1])
