"""Reduces a failing scenario: leaves out steps as long as the same promise is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.simulator.scenario import told
from tools.simulator.script import Script, with_steps
from tools.simulator.steps import Step

TRIES = 400
WORK = ("publish", "get", "erase", "send", "put", "info")
Fails = Callable[[tuple[Step, ...]], bool]


def reduced(script: Script, invariant: str, tries: int = TRIES) -> Script:
    """Return the shortest script found that still breaks `invariant`, after at most `tries` runs.

    Work is left out first, then faults and other steps, then work again.
    """

    def fails(steps: tuple[Step, ...]) -> bool:
        return any(v.invariant == invariant for v in told(with_steps(script, steps)).violations)

    budget = Budget(fails, tries)
    faults = [step for step in script.steps if step.kind not in WORK]
    work = [step for step in script.steps if step.kind in WORK]
    work = _fewest(work, lambda kept: budget.fails(_merged(faults, kept)))
    faults = _fewest(faults, lambda kept: budget.fails(_merged(kept, work)))
    work = _fewest(work, lambda kept: budget.fails(_merged(faults, kept)))
    return with_steps(script, _merged(faults, work))


class Budget:
    """The number of runs that are left for the reduction."""

    def __init__(self, fails: Fails, tries: int) -> None:
        self._fails, self.left = fails, tries

    def fails(self, steps: tuple[Step, ...]) -> bool:
        self.left -= 1
        return self.left >= 0 and self._fails(steps)


def _merged(one: Sequence[Step], other: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(sorted([*one, *other], key=lambda step: step.at))


def _fewest(steps: list[Step], fails: Callable[[list[Step]], bool]) -> list[Step]:
    """Leave out halves, quarters, … and at last single steps (delta debugging)."""
    size = max(1, len(steps) // 2)
    while steps:
        start, shrank = 0, False
        while start < len(steps):
            rest = steps[:start] + steps[start + size :]
            if fails(rest):
                steps, shrank = rest, True
            else:
                start += size
        if size == 1 and not shrank:
            return steps
        size = max(1, size // 2)
    return steps
