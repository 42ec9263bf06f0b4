"""Progress, for all models: a state in which only faults can happen is an end."""

from __future__ import annotations

from collections.abc import Iterable

from tools.models.search import Violation

FAULTS = ("crash", "cut", "restore", "clock", "tick")  # first words of steps that a protocol cannot count on


def stuck(steps: Iterable[tuple[str, object]]) -> Violation | None:
    """Return a violation if none of `steps`, from a state that is no end, is more than a fault."""
    if all(text.startswith(FAULTS) for text, _ in steps):
        return Violation("P1", "only faults can happen")
    return None
