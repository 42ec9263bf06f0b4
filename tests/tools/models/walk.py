"""Walks through a model, for tests of single steps."""

from typing import TypeVar

from tools.models.search import Model, Violation

S = TypeVar("S")


def after(model: Model[S], *texts: str) -> S:
    """Return the state after steps with these texts."""
    state = model.first
    for text in texts:
        found = dict(model.steps(state))[text]
        assert not isinstance(found, Violation)
        state = found
    return state
