"""The votes by which each generation of a space gets one definition."""

# Law 1: the definition of a generation is chosen once, by a majority (single-decree Paxos). For a new or a
#        removed space all known nodes vote, afterwards the voters of the generation before.
# Law 2: a node that claims asks a majority first, and proposes the definition of the highest ballot that one
#        of them has accepted, so a generation never has two definitions.
# Law 3: a voter promises the next generation only if it has not received the home's heartbeats for SILENCE s,
#        or if the home itself claims. From then on it answers no heartbeat of the home, whose leash ends
#        before another home begins (mesh/flow/leash.py).

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from mesh.features.spaces.model.definition import Definition
from mesh.flow.rendezvous import ranked

FEW, MANY = 3, 5  # voters of a space


@dataclass(frozen=True, slots=True)
class Promise:
    """The vote of a node on the definition of a generation."""

    generation: int = 0
    ballot: int = 0  # the highest one promised
    accepted: Definition | None = None
    accepted_ballot: int = 0


def promised(old: Promise, generation: int, ballot: int) -> Promise | None:
    """Return the promise after a claim, or `None` after a newer or equal one."""
    old = _of_generation(old, generation)
    if old.generation > generation or ballot <= old.ballot:
        return None
    return Promise(generation, ballot, old.accepted, old.accepted_ballot)


def accepted(old: Promise, ballot: int, definition: Definition) -> Promise | None:
    """Return the promise with an accepted definition, or `None` after a newer promise."""
    old = _of_generation(old, definition.generation)
    if old.generation > definition.generation or ballot < old.ballot:
        return None
    return Promise(definition.generation, ballot, definition, ballot)


def _of_generation(old: Promise, generation: int) -> Promise:
    """Return the vote on a generation: a new one if the voter had no vote on it or on a later one."""
    return old if old.generation >= generation else Promise(generation)


def to_propose(wanted: Definition, found: Iterable[tuple[int, Definition | None]]) -> Definition:
    """Return the definition to propose after a majority has promised (Law 2).

    `found` has, for each vote, the accepted ballot and definition.
    """
    earlier = [(ballot, each) for ballot, each in found if each is not None]
    return max(earlier, key=lambda each: each[0])[1] if earlier else wanted


def is_live(definition: Definition | None) -> bool:
    """Return whether the definition is of a space that exists."""
    return definition is not None and not definition.is_removed


def chosen_voters(space: str, home: bytes, nodes: Collection[bytes]) -> tuple[bytes, ...]:
    """Return the voters of a space: FEW, from MANY nodes on MANY, the home among them.

    `nodes` are the reachable nodes with the feature. With fewer than FEW of them the home is alone.
    """
    others = ranked(space.encode(), dict.fromkeys(set(nodes) - {home}, 1.0))
    count = MANY if len(others) + 1 >= MANY else FEW
    return (home, *others[: count - 1]) if len(others) + 1 >= count else (home,)


def following(before: Definition | None, wanted: Definition) -> Definition:
    """Return a definition as the next one after the definition before."""
    generation = before.generation + 1 if before is not None else 1
    return msgspec.structs.replace(wanted, generation=generation)
