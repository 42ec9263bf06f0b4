"""Definitions of spaces: names, rows, and votes, in every order of two claims at three nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from mesh.errors import BadKey, BadName, LocalError
from mesh.features.spaces.model.definition import (
    Definition,
    Promise,
    accepted,
    check_space,
    check_space_key,
    majority,
    packed,
    promised,
    to_propose,
    unpacked,
)

NODES = range(3)
CLAIMANTS = (0, 1)
GENERATIONS = 2


def definition(home: int, generation: int = 1) -> Definition:
    return Definition(bytes([home]) * 16, f"n{home}", generation, 10, 1000)


class Claim(NamedTuple):
    """A claim under way: its phase, generation, definition, and the nodes that granted it.

    `found` is the newest definition that one of them had accepted.
    """

    phase: str = ""
    generation: int = 0
    definition: Definition | None = None
    granted: frozenset[int] = frozenset()
    found: Definition | None = None


class State(NamedTuple):
    promises: tuple[Promise, ...] = (Promise(),) * 3
    claims: tuple[Claim, ...] = (Claim(),) * 2
    won: frozenset[bytes] = frozenset()  # homes of definitions in effect


def steps(state: State) -> Iterator[State]:
    """Yield each state after one message, or after a claimant begins anew, as after a crash."""
    for c in CLAIMANTS:
        claim = state.claims[c]
        top = max(promise.generation for promise in state.promises)
        if top < GENERATIONS:
            yield with_claim(state, c, Claim("promise", top + 1))
        for node in NODES if claim.phase else ():
            if node not in claim.granted:
                yield from voted(state, c, node)


def voted(state: State, c: int, node: int) -> Iterator[State]:
    claim, old = state.claims[c], state.promises[node]
    if claim.phase == "promise":
        new = promised(old, claim.generation)
    else:
        assert claim.definition is not None
        new = accepted(old, claim.definition)
    if new is None:
        return
    promises = list(state.promises)
    promises[node] = new
    known = [each for each in (claim.found, old.accepted) if each is not None]
    found = max(known, key=lambda each: each.generation, default=None)
    after = claim._replace(granted=claim.granted | {node}, found=found)
    state = with_claim(state._replace(promises=tuple(promises)), c, after)
    yield state
    if len(after.granted) >= majority(len(NODES)):
        if claim.phase == "promise":
            wanted = to_propose(definition(c, claim.generation), [found])
            yield with_claim(state, c, Claim("accept", claim.generation, wanted))
        elif claim.definition is not None:
            won = state.won | {claim.definition.home}
            yield with_claim(state._replace(won=won), c, Claim("", claim.generation))


def with_claim(state: State, c: int, claim: Claim) -> State:
    claims = list(state.claims)
    claims[c] = claim
    return state._replace(claims=tuple(claims))


def test_law_2_a_space_never_has_two_homes_in_any_order_of_two_claims() -> None:
    seen, open_ = {State()}, [State()]
    while open_:
        state = open_.pop()
        assert len(state.won) <= 1, state
        for after in steps(state):
            if after not in seen:
                seen.add(after)
                open_.append(after)
    assert {len(state.won) for state in seen} == {0, 1}
    assert {home for state in seen for home in state.won} == {definition(c).home for c in CLAIMANTS}


@pytest.mark.parametrize("broken", ["promise", "accept", "propose"])
def test_each_rule_of_the_votes_is_needed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {
        "promise": ("promised", lambda old, generation: Promise(generation, old.accepted)),
        "accept": ("accepted", lambda old, new: Promise(new.generation, new)),
        "propose": ("to_propose", lambda wanted, found: wanted),
    }
    name, rule = rules[broken]
    monkeypatch.setitem(globals(), name, rule)
    with pytest.raises(AssertionError):
        test_law_2_a_space_never_has_two_homes_in_any_order_of_two_claims()


def test_a_definition_survives_its_row_and_a_damaged_row_is_refused() -> None:
    assert unpacked(packed(definition(1))) == definition(1)
    for row in (
        b"",
        b"x",
        packed(definition(1, 0)),
        packed(Definition(b"", "n", 1, 1, 1)),
        packed(Definition(bytes(16), "a b", 1, 1, 1)),
    ):
        with pytest.raises(LocalError):
            unpacked(row)


@pytest.mark.parametrize("name", ["map/prices", "counter/a.b", "map/a/b"])
def test_a_name_has_a_kind(name: str) -> None:
    assert check_space(name) == name


@pytest.mark.parametrize(
    "name", ["", "map", "map/", "lock/x", "prices", "map/+", "map/" + "x" * 230, "map/#"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(BadName):
        check_space(name)


def test_a_key_has_at_most_512_bytes() -> None:
    assert check_space_key("é" * 256)
    for key in ("é" * 257, "", "a\nb"):
        with pytest.raises(BadKey):
            check_space_key(key)
