"""Breadth-first search over all states of a model, for a state that violates an invariant.

States are hashable values. The search keeps their hashes only, because a scenario has millions of states.
"""

# Law 1: two states with one hash count as one state. Integers of a state are at least -1, because -1 and -2
# have the same hash.
# Law 2: the search is breadth first, so the trace to a violation is a shortest one.

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

TO_REST = "all faults end, and the nodes act until no step is left"  # last line of a trace
S = TypeVar("S")


class Violation(NamedTuple):
    """A violated invariant, in place of the state that a step would lead to."""

    invariant: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


class Model(Protocol[S]):
    """A model: its first state, and the steps from each state."""

    @property
    def first(self) -> S: ...

    def steps(self, state: S) -> Iterable[tuple[str, S | Violation]]:
        """Yield each possible step, always in the same order, with its text and the state after it."""
        ...

    def violation(self, state: S) -> Violation | None:
        """Return the violation of an invariant by this state."""
        ...

    def violation_at_rest(self, state: S) -> Violation | None:
        """Return the violation once all faults end and no step is left."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a search: the number of states, and the share of states that run to quiescence."""

    states: int = 4_000_000
    every: int = 1  # every n-th state runs to quiescence


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a search. With neither a violation nor `is_complete`, the bound of states ended it."""

    states: int
    steps: int
    depth: int  # steps from the first state to the last one
    at_rest: int  # states that ran to quiescence
    seconds: float  # of CPU time
    violation: Violation | None = None
    trace: tuple[str, ...] = ()  # the steps, and perhaps TO_REST
    is_complete: bool = False


def explore(model: Model[S], bounds: Bounds, has_trace: bool = False) -> Outcome:
    """Visit every state within the bounds, or the states up to the first violation."""
    return Search(model, bounds, has_trace).run()


class Search(Generic[S]):
    """A search: the hashes of the states seen, and the states that wait for their steps to be taken."""

    def __init__(self, model: Model[S], bounds: Bounds, has_trace: bool) -> None:
        self._model = model
        self._bounds = bounds
        self._seen = {hash(model.first)}
        self._parents: dict[int, tuple[int, str]] | None = {} if has_trace else None
        self._waiting: deque[tuple[S, int]] = deque([(model.first, 0)])
        self._last_steps: tuple[str, ...] = ()
        self._steps = 0
        self._at_rest = 0

    def run(self) -> Outcome:
        began = time.process_time()
        depth, found, waiting = 0, None, self._waiting
        while waiting and not found and len(self._seen) <= self._bounds.states:
            state, depth = waiting.popleft()
            found = self._take_steps(state, depth)
        return Outcome(
            states=len(self._seen),
            steps=self._steps,
            depth=depth + bool(found),
            at_rest=self._at_rest,
            seconds=time.process_time() - began,
            violation=found[0] if found else None,
            trace=self._trace(found[1]) if found else (),
            is_complete=not found and not waiting,
        )

    def _take_steps(self, state: S, depth: int) -> tuple[Violation, int] | None:
        """Take all steps from a state; return the first violation, and the hash of the state with it."""
        seen, parents, append = self._seen, self._parents, self._waiting.append
        violation, depth = self._model.violation, depth + 1
        for text, after in self._model.steps(state):
            self._steps += 1
            key = hash(after)
            if key in seen:
                continue
            seen.add(key)
            if parents is not None:
                parents[key] = hash(state), text
            if isinstance(after, Violation):
                return after, key
            if found := violation(after) or self._violation_at_rest(after):
                return found, key
            append((after, depth))
        return None

    def _violation_at_rest(self, state: S) -> Violation | None:
        """Run every n-th new state to quiescence."""
        if len(self._seen) % self._bounds.every:
            return None
        self._at_rest += 1
        if found := self._model.violation_at_rest(state):
            self._last_steps = (TO_REST,)
        return found

    def _trace(self, key: int) -> tuple[str, ...]:
        steps = []
        while self._parents and key in self._parents:
            key, text = self._parents[key]
            steps.append(text)
        return (*reversed(steps), *self._last_steps) if steps else ()
