"""Observes which definitions of spaces a node learns, and the tables of its spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mesh.features.spaces.model.locks import ALL_WAITERS, WAITERS
from mesh.features.spaces.model.space import OUTCOMES, size_of
from mesh.features.spaces.node.facts import SpaceDefinedFact
from mesh.features.spaces.node.holdings import Home
from mesh.features.spaces.node.parts import SpaceParts
from mesh.features.spaces.node.spaces import TAKEN
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact

Tell = Callable[..., None]  # kind of the event, and its fields


class SpaceWatch(Component):
    """The observer of the definitions that one process knows."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SpaceDefinedFact, self._on_defined),)

    def _on_defined(self, fact: SpaceDefinedFact) -> None:
        new = fact.new
        self._tell("defined", domain=fact.space, first=new.generation, to=new.node, stamp=new.version)


def out_of_bounds(parts: SpaceParts) -> Iterator[str]:
    """Yield the tables above a limit, and the counts of spaces that differ from their values."""
    for home in parts.holdings._homes.values():
        known = parts.spaces.find(home.name)
        if parts.spaces.is_home(home.name) and known and known.generation == home.state.head.generation:
            yield from _wrong_counts(home)
    for tally, own in parts.tallies._own.items():
        if any(len(each.rows) > OUTCOMES for each in own.outcomes.values()):
            yield f"the tally {tally} has too many outcomes of a session"
    if len(parts.voting._promises) > TAKEN:
        yield "it has too many promises"
    for space, table in parts.locks._tables.items():
        waiting = [len(lock.waiting) for lock in table.locks._locks.values()]
        if sum(waiting) != table.locks.waiting:
            yield f"{table.locks.waiting} wait for locks of {space}, not {sum(waiting)}"
        if max(waiting, default=0) > WAITERS or sum(waiting) > ALL_WAITERS:
            yield f"too many wait for locks of {space}"


def _wrong_counts(home: Home) -> Iterator[str]:
    head, values = home.state.head, home.state.values
    size = sum(size_of(key, value) for key, value in values.items())
    if (head.keys, head.size) != (len(values), size):
        yield f"{home.name} counts {head.keys} keys of {head.size} bytes, not {len(values)} of {size}"
    if any(value.version > head.version for value in values.values()):
        yield f"{home.name} has a version above the last one"
    if any(len(each.rows) > OUTCOMES for each in home.state.outcomes.values()):
        yield f"{home.name} has too many outcomes of a session"


def unfinished(parts: SpaceParts) -> Iterator[str]:
    """Yield the work that is under way at the end of the run."""
    yield from (f"a claim for {space} is under way" for space in parts.claiming._claims)
    for home in parts.holdings._homes.values():
        if home.waiting or home.is_writing or home.is_paused or home.on_idle:
            yield f"a write or a move of {home.name} is under way"
    for space, table in parts.locks._tables.items():
        if table.open or table.storing:
            yield f"a question about {space} is open"
